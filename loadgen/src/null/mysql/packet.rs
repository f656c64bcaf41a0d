//! Cuts a client's bytes into packets, wherever the reads end (MySQL's internals manual, "MySQL Packets").

use crate::null::session::Over;

/// A packet's length and its number.
const HEADER_BYTES: usize = 4;
/// A packet of this length goes on in the next one.
const LENGTH_MAX: usize = 0xff_ffff;
/// The longest request, as a server's `max_allowed_packet` is by default.
const REQUEST_BYTES_MAX: usize = 64 << 20;

/// What a client sends at a time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Packet<'a> {
    /// The number of its last packet on the wire.
    pub(super) number: u8,
    pub(super) body: &'a [u8],
}

/// Where a connection stands within its stream of packets.
#[derive(Debug, Default)]
pub(super) struct Packets {
    header: [u8; HEADER_BYTES],
    header_bytes: usize,
    /// How much of a packet is still to come, after a header that is complete.
    missing: Option<usize>,
    /// What has come of a request that was cut, and whether it goes on in a next packet.
    collected: Vec<u8>,
    goes_on: bool,
    /// The number that the next packet has to have.
    pub(super) expected: u8,
}

impl Packets {
    /// Takes the next request from the front of `input`; none when the input is used up.
    ///
    /// # Errors
    /// A number out of turn, or a request that is too long.
    #[inline]
    pub(super) fn next<'a, 'b: 'a>(
        &'a mut self,
        input: &mut &'b [u8],
    ) -> Result<Option<Packet<'a>>, Over> {
        if self.header_bytes == 0 && !self.goes_on {
            if let Some((&header, after)) = input.split_first_chunk() {
                let length = length(header);
                if length < LENGTH_MAX && after.len() >= length {
                    self.count(header[3])?;
                    let (body, rest) = after.split_at(length);
                    *input = rest;
                    let number = header[3];
                    return Ok(Some(Packet { number, body }));
                }
            }
            self.collected.clear();
        }
        self.collect(input)
    }

    /// Completes a request that came in pieces.
    #[cold]
    fn collect<'a>(&'a mut self, input: &mut &[u8]) -> Result<Option<Packet<'a>>, Over> {
        while self.take_header(input)? {
            let missing = self.missing.unwrap_or(0);
            let (front, rest) = input.split_at(input.len().min(missing));
            self.collected.extend_from_slice(front);
            *input = rest;
            if front.len() < missing {
                self.missing = Some(missing - front.len());
                return Ok(None);
            }
            self.missing = None;
            self.header_bytes = 0;
            if !self.goes_on {
                return Ok(Some(Packet {
                    number: self.header[3],
                    body: &self.collected,
                }));
            }
        }
        Ok(None)
    }

    /// Completes a header; false where the input ends before.
    fn take_header(&mut self, input: &mut &[u8]) -> Result<bool, Over> {
        if self.missing.is_some() {
            return Ok(true);
        }
        let taken = input.len().min(HEADER_BYTES - self.header_bytes);
        let (front, rest) = input.split_at(taken);
        self.header[self.header_bytes..][..taken].copy_from_slice(front);
        self.header_bytes += taken;
        *input = rest;
        if self.header_bytes < HEADER_BYTES {
            return Ok(false);
        }
        self.count(self.header[3])?;
        let length = length(self.header);
        if self.collected.len() + length > REQUEST_BYTES_MAX {
            return Err(Over::Broken("a request is longer than 64 MiB"));
        }
        self.missing = Some(length);
        self.goes_on = length == LENGTH_MAX;
        Ok(true)
    }

    fn count(&mut self, number: u8) -> Result<(), Over> {
        if number != self.expected {
            return Err(Over::Broken("a packet's number is out of turn"));
        }
        self.expected = number.wrapping_add(1);
        Ok(())
    }
}

fn length(header: [u8; HEADER_BYTES]) -> usize {
    u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All requests of a stream that is cut into reads of that size.
    fn read(stream: &[u8], size: usize) -> Result<Vec<(u8, Vec<u8>)>, Over> {
        let (mut packets, mut requests) = (Packets::default(), Vec::new());
        for mut input in stream.chunks(size) {
            while let Some(Packet { number, body }) = packets.next(&mut input)? {
                requests.push((number, body.to_vec()));
            }
            assert!(input.is_empty());
        }
        Ok(requests)
    }

    #[test]
    fn requests_are_found_wherever_the_reads_end() {
        let stream = b"\x03\0\0\0abc\0\0\0\x01\x01\0\0\x02d";
        let expected = vec![(0, b"abc".to_vec()), (1, vec![]), (2, b"d".to_vec())];
        for size in 1..=stream.len() {
            assert_eq!(read(stream, size), Ok(expected.clone()), "{size}");
        }
    }

    #[test]
    fn a_packet_of_the_greatest_length_goes_on_in_the_next() {
        let long = [&b"\xff\xff\xff\0"[..], &vec![b'x'; LENGTH_MAX]].concat();
        for (next, bytes) in [(&b"\x02\0\0\x01yz"[..], 2), (b"\0\0\0\x01", 0)] {
            let stream = [&long[..], next].concat();
            for size in [1 << 16, stream.len()] {
                let requests = read(&stream, size).unwrap();
                assert_eq!((requests.len(), requests[0].0), (1, 1));
                assert_eq!(requests[0].1.len(), LENGTH_MAX + bytes);
            }
        }
    }

    #[test]
    fn numbers_out_of_turn_and_endless_requests_are_refused() {
        let turn = Err(Over::Broken("a packet's number is out of turn"));
        assert_eq!(read(b"\x01\0\0\x01a", 9), turn);
        assert_eq!(read(b"\x01\0\0\x01a", 1), turn);
        let mut packets = Packets::default();
        let body = vec![0; LENGTH_MAX];
        let outcome = (0..=255).try_for_each(|number| {
            packets.next(&mut &[0xff, 0xff, 0xff, number][..])?;
            packets.next(&mut &body[..]).map(|_| ())
        });
        assert_eq!(
            outcome,
            Err(Over::Broken("a request is longer than 64 MiB"))
        );
        assert!(packets.collected.len() <= REQUEST_BYTES_MAX);
    }
}
