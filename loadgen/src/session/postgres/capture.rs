//! What a session keeps of an answer while somebody wants to see it: columns, rows, notices.

use crate::session::captured::{CAPTURED_BYTES_MAX, CAPTURED_MAX, Captured};
use crate::session::error::{ServerError, SessionError};
use crate::session::fields::Fields;

/// Collects an answer while it comes in.
#[derive(Debug, Default)]
pub struct Capture {
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
        for _ in 0..fields.be_u16()? {
            let name = String::from_utf8_lossy(fields.text()?).into_owned();
            self.captured.columns.push(name);
            // Table, column number, type, its size and modifier: 4 + 2 + 4 + 2 + 4 bytes.
            fields.bytes(16)?;
            self.text.push(fields.be_u16()? == 0);
        }
        Ok(())
    }

    fn take_row(&mut self, body: &[u8]) -> Result<(), SessionError> {
        let mut fields = Fields(body);
        let mut row = Vec::new();
        for column in 0..usize::from(fields.be_u16()?) {
            let length = fields.be_u32()?;
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
        let types: Result<Vec<_>, _> = (0..fields.be_u16()?).map(|_| fields.be_u32()).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
