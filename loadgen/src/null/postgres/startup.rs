//! How a session begins: the startup packet, which has no type, and requests for encryption before it.

use super::reply;
use crate::null::session::Over;

/// The longest startup packet, as PostgreSQL's.
const STARTUP_BYTES_MAX: usize = 10_000;
/// The shortest: its length and a code.
const STARTUP_BYTES_MIN: usize = 8;
/// What its length takes, which counts itself.
const LENGTH_BYTES: usize = 4;

/// Codes that a startup packet begins with.
const PROTOCOL_3: u32 = 3 << 16;
const CANCEL_REQUEST: u32 = 80_877_102;
const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;

/// What has come of a startup packet.
#[derive(Debug, Default)]
pub(super) struct Startup {
    packet: Vec<u8>,
}

impl Startup {
    /// Takes what belongs to the packet; false where the input ends before it does.
    ///
    /// # Errors
    /// A length that cannot be.
    pub(super) fn take(&mut self, input: &mut &[u8]) -> Result<bool, Over> {
        loop {
            let length = match self.packet.first_chunk() {
                None => LENGTH_BYTES,
                Some(length) => u32::from_be_bytes(*length) as usize,
            };
            let known = self.packet.len() >= LENGTH_BYTES;
            if known && !(STARTUP_BYTES_MIN..=STARTUP_BYTES_MAX).contains(&length) {
                return Err(Over::Broken("this is no startup packet"));
            }
            if known && self.packet.len() == length {
                return Ok(true);
            }
            let missing = length - self.packet.len();
            let (front, rest) = input.split_at(input.len().min(missing));
            self.packet.extend_from_slice(front);
            *input = rest;
            if front.len() < missing {
                return Ok(false);
            }
        }
    }

    /// Answers the packet, which is complete; true where the session has begun, else another packet comes.
    ///
    /// # Errors
    /// Where it asks for something else than a session.
    pub(super) fn answer(&mut self, out: &mut Vec<u8>) -> Result<bool, Over> {
        let code = self.packet[LENGTH_BYTES..].first_chunk();
        let code = code.map_or(0, |code| u32::from_be_bytes(*code));
        self.packet.clear();
        match code {
            SSL_REQUEST | GSS_REQUEST => {
                out.extend_from_slice(reply::UNENCRYPTED);
                return Ok(false);
            }
            CANCEL_REQUEST => return Err(Over::Goodbye),
            PROTOCOL_3 => {}
            _ if code >> 16 == 3 => out.extend_from_slice(reply::OLDER_PROTOCOL),
            _ => return Err(Over::Broken("only protocol 3 is spoken here")),
        }
        reply::welcome(out);
        reply::ready(out, false);
        Ok(true)
    }
}
