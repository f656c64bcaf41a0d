//! Reads the fields of a server's or a client's message one after the other.

use super::error::{GENERAL, ServerError, SessionError, one_line};
use crate::record::Code;

/// PostgreSQL's SQLSTATE of an internal error, which stands for one that cannot be read.
const INTERNAL: Code = *b"XX000";

/// What of a message has not been read yet. Numbers of PostgreSQL's protocol come with their highest byte first (`be_`),
/// those of MySQL's with their lowest (`le_`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    /// Returns the next `count` bytes.
    #[inline]
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], SessionError> {
        let (front, rest) = self.0.split_at_checked(count).ok_or_else(short)?;
        self.0 = rest;
        Ok(front)
    }

    /// Returns as many of the next bytes as there are in the array.
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], SessionError> {
        let (front, rest) = self.0.split_first_chunk().ok_or_else(short)?;
        self.0 = rest;
        Ok(*front)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, SessionError> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    #[inline]
    pub(crate) fn be_u16(&mut self) -> Result<u16, SessionError> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn be_u32(&mut self) -> Result<u32, SessionError> {
        self.array().map(u32::from_be_bytes)
    }

    #[inline]
    pub(crate) fn le_u16(&mut self) -> Result<u16, SessionError> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub(crate) fn le_u32(&mut self) -> Result<u32, SessionError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Returns the next bytes up to a NUL, which has to be there.
    #[inline]
    pub(crate) fn text(&mut self) -> Result<&'a [u8], SessionError> {
        let end = self.0.iter().position(|&byte| byte == 0);
        let text = self.bytes(end.ok_or_else(short)?)?;
        self.0 = &self.0[1..];
        Ok(text)
    }

    /// Returns the next bytes up to a NUL, or to the end where there is none.
    pub(crate) fn until_nul(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|&byte| byte == 0);
        let (front, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest.get(1..).unwrap_or_default();
        front
    }

    /// Returns the next integer of one, three, four or nine bytes (MySQL's "length-encoded").
    #[inline]
    pub(crate) fn length(&mut self) -> Result<u64, SessionError> {
        match self.u8()? {
            short @ 0..=250 => Ok(u64::from(short)),
            0xfc => self.le_u16().map(u64::from),
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

    /// Returns the next bytes with such a length in front.
    pub(crate) fn counted(&mut self) -> Result<&'a [u8], SessionError> {
        let length = self.length()?;
        self.bytes(usize::try_from(length).unwrap_or(usize::MAX))
    }
}

#[cold]
fn short() -> SessionError {
    SessionError::Protocol("a message of the server ends before its last field".to_owned())
}

impl ServerError {
    /// Reads the fields of PostgreSQL's `ErrorResponse` or `NoticeResponse`: a type byte and a
    /// NUL-terminated text each (PostgreSQL documentation, "Error and Notice Message Fields").
    ///
    /// # Errors
    /// Where a field does not end.
    pub fn parse(body: &[u8]) -> Result<Self, SessionError> {
        let mut error = Self {
            code: INTERNAL,
            number: 0,
            message: String::new(),
        };
        let mut detail = None;
        let mut rest = body;
        while let Some((&field, text)) = rest.split_first() {
            if field == 0 {
                break;
            }
            let mut text = Fields(text);
            let value = text.text().map_err(|_| {
                SessionError::Protocol("an error message of the server does not end".to_owned())
            })?;
            match field {
                b'C' => error.code = plain_code(value, INTERNAL),
                b'M' => error.message = one_line(value),
                b'D' => detail = Some(one_line(value)),
                _ => (),
            }
            rest = text.0;
        }
        if let Some(detail) = detail {
            error.message.push_str(": ");
            error.message.push_str(&detail);
        }
        Ok(error)
    }

    /// Reads MySQL's error packet: `0xff`, the number, `#` and SQLSTATE, the text (MySQL documentation, "ERR_Packet").
    ///
    /// # Errors
    /// Where it ends before its number.
    pub fn of_packet(body: &[u8]) -> Result<Self, SessionError> {
        let mut fields = Fields(body);
        fields.u8()?;
        let number = fields.le_u16()?;
        let marked = fields.0.strip_prefix(b"#");
        let (code, text) = marked
            .and_then(|rest| rest.split_at_checked(5))
            .unwrap_or((&GENERAL, fields.0));
        Ok(Self {
            code: plain_code(code, GENERAL),
            number,
            message: one_line(text),
        })
    }
}

/// Returns the five characters of a SQLSTATE, or another where they are none.
fn plain_code(value: &[u8], other: Code) -> Code {
    match Code::try_from(value) {
        Ok(code) if code.iter().all(u8::is_ascii_alphanumeric) => code,
        _ => other,
    }
}
