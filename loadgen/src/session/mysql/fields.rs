//! Reads the fields of a packet one after the other.

use crate::session::error::SessionError;

/// What of a packet has not been read yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    /// The next `count` bytes.
    #[inline]
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], SessionError> {
        let (front, rest) = self.0.split_at_checked(count).ok_or_else(short)?;
        self.0 = rest;
        Ok(front)
    }

    /// As many of the next bytes as there are in the array.
    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], SessionError> {
        let (front, rest) = self.0.split_first_chunk().ok_or_else(short)?;
        self.0 = rest;
        Ok(*front)
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Result<u8, SessionError> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    #[inline]
    pub(super) fn u16(&mut self) -> Result<u16, SessionError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, SessionError> {
        self.array().map(u32::from_le_bytes)
    }

    /// The next integer of one, three, four or nine bytes ("length-encoded").
    #[inline]
    pub(super) fn length(&mut self) -> Result<u64, SessionError> {
        match self.u8()? {
            short @ 0..=250 => Ok(u64::from(short)),
            0xfc => self.u16().map(u64::from),
            0xfd => {
                let [low, middle, high] = self.array()?;
                Ok(u64::from(u32::from_le_bytes([low, middle, high, 0])))
            }
            0xfe => self.array().map(u64::from_le_bytes),
            _ => Err(SessionError::Protocol(
                "a length in a packet of the server is none".to_owned(),
            )),
        }
    }

    /// The next bytes with their length in front.
    pub(super) fn counted(&mut self) -> Result<&'a [u8], SessionError> {
        let length = self.length()?;
        self.bytes(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// The next bytes up to a NUL, or to the end where there is none.
    pub(super) fn until_nul(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|&byte| byte == 0);
        let (front, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest.get(1..).unwrap_or_default();
        front
    }
}

#[cold]
fn short() -> SessionError {
    SessionError::Protocol("a packet of the server ends before its last field".to_owned())
}
