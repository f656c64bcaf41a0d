//! Cuts the server's bytes into messages, wherever the reads happen to end.
//!
//! A message that lies whole in what was read is handed out where it lies. One that is cut is
//! collected if somebody wants it, else only counted off: rows are never copied on the hot path.

use crate::session::error::SessionError;

/// The most bytes of a message that came in pieces and is wanted.
const COLLECTED_BYTES_MAX: usize = 64 << 20;
/// A message's type and length.
const HEADER_BYTES: usize = 5;

/// A complete message.
#[derive(Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The message's type.
    pub tag: u8,
    /// What follows the length. Empty for a message that came in pieces and was not wanted.
    pub body: &'a [u8],
}

/// Where the reader stands within the stream of messages.
#[derive(Debug)]
pub struct Framing {
    header: [u8; HEADER_BYTES],
    /// How much of the header is there, while it is incomplete.
    header_bytes: usize,
    /// How much of the body is still to come, after a header that is complete.
    missing: usize,
    in_body: bool,
    collect: bool,
    collected: Vec<u8>,
}

impl Default for Framing {
    fn default() -> Self {
        Self::new()
    }
}

impl Framing {
    /// A reader at the beginning of the stream.
    #[must_use]
    pub fn new() -> Self {
        Self {
            header: [0; HEADER_BYTES],
            header_bytes: 0,
            missing: 0,
            in_body: false,
            collect: false,
            collected: Vec::with_capacity(256),
        }
    }

    /// Whether the bytes so far end between two messages.
    #[cfg(test)]
    fn at_boundary(&self) -> bool {
        !self.in_body && self.header_bytes == 0
    }

    /// Takes the next message from the front of `input`; `None` when the input is used up.
    /// `wanted` tells by the type whether a message is wanted even if it is cut.
    ///
    /// # Errors
    /// A length that cannot be.
    #[inline]
    pub fn next<'a, 'b: 'a>(
        &'a mut self,
        input: &mut &'b [u8],
        wanted: impl Fn(u8) -> bool,
    ) -> Result<Option<Message<'a>>, SessionError> {
        if !self.in_body {
            if self.header_bytes == 0 && input.len() >= HEADER_BYTES {
                let tag = input[0];
                let length = body_bytes(tag, [input[1], input[2], input[3], input[4]])?;
                let after = &input[HEADER_BYTES..];
                if after.len() >= length {
                    let (body, rest) = after.split_at(length);
                    *input = rest;
                    return Ok(Some(Message { tag, body }));
                }
            }
            if !self.take_header(input, wanted)? {
                return Ok(None);
            }
        }
        Ok(self.take_body(input))
    }

    /// Completes the header from the input; false if the input ends before.
    #[cold]
    fn take_header(
        &mut self,
        input: &mut &[u8],
        wanted: impl Fn(u8) -> bool,
    ) -> Result<bool, SessionError> {
        let taken = input.len().min(HEADER_BYTES - self.header_bytes);
        let (front, rest) = input.split_at(taken);
        self.header[self.header_bytes..][..taken].copy_from_slice(front);
        self.header_bytes += taken;
        *input = rest;
        if self.header_bytes < HEADER_BYTES {
            return Ok(false);
        }
        let [tag, length @ ..] = self.header;
        self.missing = body_bytes(tag, length)?;
        self.header_bytes = 0;
        self.in_body = true;
        self.collected.clear();
        self.collect = wanted(tag);
        if self.collect && self.missing > COLLECTED_BYTES_MAX {
            return Err(impossible(tag, self.missing));
        }
        Ok(true)
    }

    /// Completes a body that came in pieces.
    #[cold]
    fn take_body<'a>(&'a mut self, input: &mut &[u8]) -> Option<Message<'a>> {
        let taken = input.len().min(self.missing);
        let (front, rest) = input.split_at(taken);
        if self.collect {
            self.collected.extend_from_slice(front);
        }
        self.missing -= taken;
        *input = rest;
        if self.missing > 0 {
            return None;
        }
        self.in_body = false;
        Some(Message {
            tag: self.header[0],
            body: &self.collected,
        })
    }
}

/// The length of a message's body from its header; the length on the wire counts itself.
#[inline]
fn body_bytes(tag: u8, length: [u8; 4]) -> Result<usize, SessionError> {
    let length = i32::from_be_bytes(length);
    match usize::try_from(length) {
        Ok(length) if length >= 4 => Ok(length - 4),
        _ => Err(impossible(tag, length)),
    }
}

#[cold]
fn impossible(tag: u8, length: impl std::fmt::Display) -> SessionError {
    let tag = tag.escape_ascii();
    SessionError::Protocol(format!("a message `{tag}` of {length} bytes cannot be"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A message on the wire.
    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
        [&[tag], &length[..], body].concat()
    }

    /// What a reader makes of chunks, with unwanted cut bodies as `None`.
    fn read(chunks: &[&[u8]], wanted: impl Fn(u8) -> bool) -> Vec<(u8, Vec<u8>)> {
        let mut framing = Framing::new();
        let mut messages = Vec::new();
        for chunk in chunks {
            let mut input = *chunk;
            while let Some(message) = framing.next(&mut input, &wanted).expect("valid") {
                messages.push((message.tag, message.body.to_vec()));
            }
            assert!(input.is_empty());
        }
        assert!(framing.at_boundary());
        messages
    }

    #[test]
    fn a_stream_cut_at_any_two_places_gives_the_same_messages() {
        let stream = [
            message(b'1', b""),
            message(b'D', b"row"),
            message(b'Z', b"I"),
        ]
        .concat();
        let whole = read(&[&stream], |_| true);
        assert_eq!(whole.len(), 3);
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                let chunks = [&stream[..first], &stream[first..second], &stream[second..]];
                assert_eq!(read(&chunks, |_| true), whole);
            }
        }
    }

    #[test]
    fn a_cut_message_that_nobody_wants_is_counted_off() {
        let stream = [message(b'D', &[7; 1000]), message(b'Z', b"I")].concat();
        let messages = read(&[&stream[..500], &stream[500..]], |tag| tag != b'D');
        assert_eq!(messages, [(b'D', vec![]), (b'Z', b"I".to_vec())]);
    }

    #[test]
    fn an_impossible_length_is_an_error() {
        for length in [0, 1, 3, -1, i32::MIN] {
            let stream = [b"D", &length.to_be_bytes()[..], &[0; 64]].concat();
            for cut in 0..stream.len() {
                let mut framing = Framing::new();
                let mut outcome = Ok(());
                for chunk in [&stream[..cut], &stream[cut..]] {
                    let mut input = chunk;
                    outcome = outcome.and_then(|()| framing.next(&mut input, |_| true).map(drop));
                }
                assert!(outcome.is_err(), "length {length}, cut at {cut}");
            }
        }
    }

    #[test]
    fn a_huge_wanted_message_is_refused_before_it_is_collected() {
        let stream = [b"C", &i32::MAX.to_be_bytes()[..]].concat();
        let mut framing = Framing::new();
        let refused = framing.next(&mut &stream[..], |_| true);
        assert!(matches!(refused, Err(SessionError::Protocol(_))));
        assert_eq!(
            Framing::new()
                .next(&mut &stream[..], |_| false)
                .expect("skipped"),
            None
        );
    }

    proptest! {
        #[test]
        fn any_cuts_give_the_same_messages(
            bodies in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..40)), 0..8),
            sizes in prop::collection::vec(1usize..30, 1..40),
        ) {
            let stream: Vec<u8> = bodies.iter().flat_map(|(tag, body)| message(*tag, body)).collect();
            let mut chunks = Vec::new();
            let (mut rest, mut sizes) = (&stream[..], sizes.into_iter().cycle());
            while !rest.is_empty() {
                let (front, after) = rest.split_at(sizes.next().expect("endless").min(rest.len()));
                chunks.push(front);
                rest = after;
            }
            prop_assert_eq!(read(&chunks, |_| true), bodies);
        }

        #[test]
        fn any_bytes_end_in_messages_or_an_error(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..10),
        ) {
            let mut framing = Framing::new();
            'stream: for chunk in &chunks {
                let mut input = &chunk[..];
                loop {
                    let before = input.len();
                    match framing.next(&mut input, |tag| tag < 128) {
                        Ok(Some(_)) => prop_assert!(input.len() <= before),
                        Ok(None) => break,
                        Err(_) => break 'stream,
                    }
                }
                prop_assert!(input.is_empty());
            }
        }
    }
}
