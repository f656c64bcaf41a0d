//! What a session keeps of an answer while somebody wants to see it: columns, rows, notices.

use super::error::{ServerError, SessionError};

/// The most rows and the most notices that are kept of one answer.
const CAPTURED_MAX: usize = 1_000;
/// Once the kept rows and notices have taken so many bytes, as they came, those that follow are passed over.
const CAPTURED_BYTES_MAX: usize = 16 << 20;

/// An answer in full, as text.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Captured {
    /// The columns' names, of the last result; empty where the protocol does not tell them
    /// (extended and prepared statements).
    pub columns: Vec<String>,
    /// The first 1,000 rows, fewer where they and the notices reach 16 MiB; a value in binary form is written as `\x` and hexadecimal digits.
    pub rows: Vec<Vec<Option<String>>>,
    /// The first 1,000 notices.
    pub notices: Vec<String>,
    /// The rows that the command tags told of, in all.
    pub affected: u64,
}

impl Captured {
    /// The first column of the first row as a number; 0 for NULL and where there is no row.
    ///
    /// # Errors
    /// A value that is no 64-bit integer.
    pub fn first_integer(&self) -> Result<i64, SessionError> {
        match self.rows.first().and_then(|row| row.first()) {
            Some(Some(text)) => text.parse().map_err(|_| {
                SessionError::Protocol(format!("`{text}` is not a whole number of 64 bits"))
            }),
            _ => Ok(0),
        }
    }
}

/// Collects an answer while it comes in.
#[derive(Debug, Default)]
pub(super) struct Capture {
    pub(super) captured: Captured,
    /// The types' OIDs of the parameters of each statement that was described.
    pub(super) parameter_types: Vec<Vec<u32>>,
    /// Whether each column of the result is in text form.
    text: Vec<bool>,
    /// What rows and notices have taken so far.
    kept_bytes: usize,
}

impl Capture {
    /// Takes a message; those without anything to show are passed over.
    pub(super) fn take(&mut self, tag: u8, body: &[u8]) -> Result<(), SessionError> {
        match tag {
            b'T' => self.take_columns(body),
            b'D' if self.captured.rows.len() < CAPTURED_MAX && self.has_room(body) => {
                self.take_row(body)
            }
            b'N' if self.captured.notices.len() < CAPTURED_MAX && self.has_room(body) => {
                self.captured
                    .notices
                    .push(ServerError::parse(body)?.message);
                Ok(())
            }
            b't' => self.take_parameter_types(body),
            _ => Ok(()),
        }
    }

    /// Whether there is room for a row or notice, which is counted then.
    fn has_room(&mut self, body: &[u8]) -> bool {
        let room = self.kept_bytes < CAPTURED_BYTES_MAX;
        self.kept_bytes += if room { body.len() } else { 0 };
        room
    }

    fn take_columns(&mut self, body: &[u8]) -> Result<(), SessionError> {
        let mut fields = Fields(body);
        self.captured.columns.clear();
        self.text.clear();
        for _ in 0..fields.u16()? {
            self.captured.columns.push(fields.text()?);
            // Table, column number, type, its size and modifier: 4 + 2 + 4 + 2 + 4 bytes.
            fields.bytes(16)?;
            self.text.push(fields.u16()? == 0);
        }
        Ok(())
    }

    fn take_row(&mut self, body: &[u8]) -> Result<(), SessionError> {
        let mut fields = Fields(body);
        let mut row = Vec::new();
        for column in 0..usize::from(fields.u16()?) {
            let length = fields.u32()?;
            row.push(if length == u32::MAX {
                None
            } else {
                let value = fields.bytes(length as usize)?;
                let text = self.text.get(column).copied().unwrap_or(false);
                Some(if text {
                    String::from_utf8_lossy(value).into_owned()
                } else {
                    hex(value)
                })
            });
        }
        self.captured.rows.push(row);
        Ok(())
    }

    fn take_parameter_types(&mut self, body: &[u8]) -> Result<(), SessionError> {
        let mut fields = Fields(body);
        let types: Result<Vec<_>, _> = (0..fields.u16()?).map(|_| fields.u32()).collect();
        self.parameter_types.push(types?);
        Ok(())
    }
}

/// A binary value as PostgreSQL writes bytes.
fn hex(value: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::from("\\x");
    for byte in value {
        // Writing into a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Reads the fields of a message's body one after the other.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    /// The next `count` bytes.
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], SessionError> {
        let (front, rest) = self.0.split_at_checked(count).ok_or_else(short)?;
        self.0 = rest;
        Ok(front)
    }

    pub(super) fn u16(&mut self) -> Result<u16, SessionError> {
        let bytes = self.bytes(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    pub(super) fn u32(&mut self) -> Result<u32, SessionError> {
        let bytes = self.bytes(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// The next NUL-terminated text.
    pub(super) fn text(&mut self) -> Result<String, SessionError> {
        let end = self
            .0
            .iter()
            .position(|&byte| byte == 0)
            .ok_or_else(short)?;
        let text = String::from_utf8_lossy(&self.0[..end]).into_owned();
        self.0 = &self.0[end + 1..];
        Ok(text)
    }
}

fn short() -> SessionError {
    SessionError::Protocol("a message of the server ends before its last field".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cursor_reads_the_first_value_and_null_or_nothing_as_zero() {
        let of = |rows| {
            Captured {
                rows,
                ..Captured::default()
            }
            .first_integer()
        };
        let value = |text: &str| vec![vec![Some(text.to_owned())]];
        assert_eq!(of(value("-12")).expect("a number"), -12);
        assert_eq!(of(vec![vec![None]]).expect("NULL"), 0);
        assert_eq!(of(vec![]).expect("no row"), 0);
        assert!(of(value("1.5")).is_err());
    }

    #[test]
    fn rows_and_notices_are_kept_up_to_their_bytes() {
        let value = vec![b'x'; CAPTURED_BYTES_MAX / 2];
        let length = u32::try_from(value.len()).expect("short").to_be_bytes();
        let row = [&[0, 1], &length[..], &value].concat();
        let mut capture = Capture::default();
        for _ in 0..5 {
            capture.take(b'D', &row).expect("a row");
            capture.take(b'N', b"Mtake note\0\0").expect("a notice");
        }
        let kept = capture.captured;
        assert_eq!((kept.rows.len(), kept.notices.len()), (2, 1));
    }

    proptest! {
        #[test]
        fn any_body_is_taken_or_refused(
            tag in prop::sample::select(&b"TDNt"[..]),
            body in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut capture = Capture::default();
            let _ = capture.take(tag, &body);
            prop_assert!(capture.captured.rows.len() <= 1);
        }
    }
}
