//! Cuts the server's bytes into packets, wherever the reads happen to end.
//!
//! A packet that lies whole in what was read is handed out where it lies. One that is cut is
//! collected if somebody wants it, else only counted off: rows are never copied on the hot path.

use crate::wire::mysql::{HEADER_BYTES, PAYLOAD_BYTES_MAX};

/// A complete packet.
#[derive(Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its number.
    pub number: u8,
    /// The first byte of its payload; 0 where that is empty.
    pub first: u8,
    /// The length of its payload.
    pub length: usize,
    /// Whether it goes on with the payload of the packet before it.
    pub continues: bool,
    /// The payload. Empty for one that came in pieces and was not wanted.
    pub body: &'a [u8],
}

/// Where the reader stands within the stream of packets.
#[derive(Debug, Default)]
pub struct Framing {
    /// The header and the payload's first byte, as far as they are there.
    head: [u8; HEADER_BYTES + 1],
    /// How much of the head is there, while it is incomplete.
    head_bytes: usize,
    /// How much of the payload is still to come, after a head that is complete.
    missing: usize,
    in_body: bool,
    collect: bool,
    collected: Vec<u8>,
    /// Whether the packet before was full, so that the next one goes on with it.
    full: bool,
}

impl Framing {
    /// A reader at the beginning of the stream.
    #[must_use]
    pub fn new() -> Self {
        Self {
            collected: Vec::with_capacity(256),
            ..Self::default()
        }
    }

    /// Takes the next packet from the front of `input`; `None` when the input is used up.
    /// `wanted` tells by the first byte whether a packet is wanted even if it is cut.
    #[inline]
    pub fn next<'a, 'b: 'a>(
        &'a mut self,
        input: &mut &'b [u8],
        wanted: impl Fn(u8) -> bool,
    ) -> Option<Packet<'a>> {
        if !self.in_body {
            if self.head_bytes == 0
                && let [low, middle, high, number, ..] = **input
            {
                let length = length_of([low, middle, high]);
                let after = &input[HEADER_BYTES..];
                if after.len() >= length {
                    let (body, rest) = after.split_at(length);
                    *input = rest;
                    return Some(Packet {
                        number,
                        first: body.first().copied().unwrap_or(0),
                        length,
                        continues: std::mem::replace(&mut self.full, length == PAYLOAD_BYTES_MAX),
                        body,
                    });
                }
            }
            if !self.take_head(input, wanted) {
                return None;
            }
        }
        self.take_body(input)
    }

    /// Completes the head from the input; false if the input ends before.
    #[cold]
    fn take_head(&mut self, input: &mut &[u8], wanted: impl Fn(u8) -> bool) -> bool {
        while self.head_bytes < self.head.len() {
            if self.head_bytes == HEADER_BYTES && self.length() == 0 {
                break;
            }
            let Some((&byte, rest)) = input.split_first() else {
                return false;
            };
            self.head[self.head_bytes] = byte;
            self.head_bytes += 1;
            *input = rest;
        }
        self.missing = self.length();
        self.collected.clear();
        let first = if self.missing > 0 {
            self.head[HEADER_BYTES]
        } else {
            0
        };
        self.collect = wanted(first);
        if self.missing > 0 {
            self.missing -= 1;
            if self.collect {
                self.collected.push(first);
            }
        } else {
            self.head[HEADER_BYTES] = 0;
        }
        self.head_bytes = 0;
        self.in_body = true;
        true
    }

    /// Completes a payload that came in pieces.
    #[cold]
    fn take_body<'a>(&'a mut self, input: &mut &[u8]) -> Option<Packet<'a>> {
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
        let length = self.length();
        Some(Packet {
            number: self.head[3],
            first: self.head[HEADER_BYTES],
            length,
            continues: std::mem::replace(&mut self.full, length == PAYLOAD_BYTES_MAX),
            body: &self.collected,
        })
    }

    fn length(&self) -> usize {
        length_of([self.head[0], self.head[1], self.head[2]])
    }
}

#[inline]
fn length_of([low, middle, high]: [u8; 3]) -> usize {
    u32::from_le_bytes([low, middle, high, 0]) as usize
}
