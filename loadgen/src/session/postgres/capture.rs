//! Reads what a session of PostgreSQL's protocol keeps of an answer: columns, rows, notices.

use crate::session::capture::{Capture, Row};
use crate::session::error::{ServerError, SessionError};
use crate::session::fields::Fields;

/// Whether a column's values come as text.
type IsText = bool;

impl Capture<IsText> {
    /// Takes a message; passes over those without anything to show.
    pub(super) fn take(&mut self, tag: u8, body: &[u8]) -> Result<(), SessionError> {
        match tag {
            b'T' => self.take_columns(body),
            b'D' => self.keep_row(body, row),
            b'N' => self.keep_notice(body, |body| Ok(ServerError::parse(body)?.message)),
            b't' => self.take_parameter_types(body),
            _ => Ok(()),
        }
    }

    fn take_columns(&mut self, body: &[u8]) -> Result<(), SessionError> {
        let mut fields = Fields(body);
        self.begin();
        for _ in 0..fields.be_u16()? {
            let name = fields.text()?;
            // Table, column number, type, its size and modifier: 4 + 2 + 4 + 2 + 4 bytes.
            fields.bytes(16)?;
            self.keep_column(name, fields.be_u16()? == 0);
        }
        Ok(())
    }

    fn take_parameter_types(&mut self, body: &[u8]) -> Result<(), SessionError> {
        let mut fields = Fields(body);
        let types: Result<Vec<_>, _> = (0..fields.be_u16()?).map(|_| fields.be_u32()).collect();
        self.parameter_types.push(types?);
        Ok(())
    }
}

fn row(are_text: &[IsText], body: &[u8]) -> Result<Row, SessionError> {
    let mut fields = Fields(body);
    let mut row = Vec::new();
    for column in 0..usize::from(fields.be_u16()?) {
        let length = fields.be_u32()?;
        row.push(if length == u32::MAX {
            None
        } else {
            let value = fields.bytes(length as usize)?;
            Some(if are_text.get(column) == Some(&true) {
                String::from_utf8_lossy(value).into_owned()
            } else {
                hex(value)
            })
        });
    }
    Ok(row)
}

/// Writes a binary value as PostgreSQL writes bytes.
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
