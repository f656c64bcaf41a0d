//! How many rows a running statement has done, as its notices say: a text and behind it a number.

use super::error::SessionError;
use super::fields::Fields;
use std::sync::Arc;

/// More rows than one statement can have done: a number above it is none.
const ROWS_MAX: u64 = 1 << 48;

/// What a running statement has said of its rows.
#[derive(Debug, Default)]
pub struct Progress {
    /// What stands in front of the number; none where nobody asks.
    text: Option<Arc<[u8]>>,
    rows: u64,
}

impl Progress {
    /// Forgets the statement before.
    #[inline]
    pub fn clear(&mut self) {
        if self.text.is_some() {
            *self = Self::default();
        }
    }

    /// Looks for this text in the notices of the statement that begins.
    pub fn follow(&mut self, text: &Arc<[u8]>) {
        self.text = Some(Arc::clone(text));
        self.rows = 0;
    }

    /// Whether notices are looked at.
    #[inline]
    #[must_use]
    pub fn follows(&self) -> bool {
        self.text.is_some()
    }

    /// The most rows that it has said so far.
    #[inline]
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Takes the body of a notice of PostgreSQL's.
    ///
    /// # Errors
    /// A body whose fields do not end.
    pub(super) fn take(&mut self, body: &[u8]) -> Result<(), SessionError> {
        let Some(text) = self.text.as_deref() else {
            return Ok(());
        };
        let mut fields = Fields(body);
        loop {
            match fields.u8()? {
                0 => return Ok(()),
                b'M' => {
                    let said = number_behind(text, fields.text()?);
                    self.rows = self.rows.max(said.unwrap_or(0));
                }
                _ => {
                    fields.text()?;
                }
            }
        }
    }
}

/// Returns the first integer that stands behind the text, perhaps after spaces, with or without `,` in it.
fn number_behind(text: &[u8], message: &[u8]) -> Option<u64> {
    let places = message.windows(text.len()).enumerate();
    let mut places = places.filter(|(_, words)| *words == text);
    places.find_map(|(place, _)| number(message[place + text.len()..].trim_ascii_start()))
}

/// Returns the integer that words begin with.
fn number(words: &[u8]) -> Option<u64> {
    let mut number = None;
    for (place, byte) in words.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                let more: u64 = number.unwrap_or(0) * 10 + u64::from(byte - b'0');
                number = Some(more).filter(|rows| *rows <= ROWS_MAX);
                number?;
            }
            b',' if number.is_some() && words.get(place + 1).is_some_and(u8::is_ascii_digit) => {}
            _ => break,
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_what_stands_behind_the_text() {
        for (message, rows) in [
            ("total: 12", Some(12)),
            ("loop 3 total: 1,234,567 rows", Some(1_234_567)),
            ("total:   42", Some(42)),
            ("total: 5, then more", Some(5)),
            ("total: none, total: 7", Some(7)),
            ("total: 0", Some(0)),
            ("total: -5", None),
            ("total:", None),
            ("total: ", None),
            ("total: ,5", None),
            ("subtotal 5", None),
            ("", None),
            ("total: 281474976710656", Some(ROWS_MAX)),
            ("total: 281474976710657", None),
            ("total: 99999999999999999999999999", None),
        ] {
            let said = number_behind(b"total:", message.as_bytes());
            assert_eq!(said, rows, "{message}");
        }
    }

    #[test]
    fn what_is_said_never_falls_and_a_new_statement_begins_at_nothing() {
        let mut progress = Progress::default();
        let text: Arc<[u8]> = Arc::from(&b"total: "[..]);
        progress.take(b"Mtotal: 5\0\0").expect("a notice");
        assert_eq!(progress.rows(), 0, "nobody asks");
        progress.follow(&text);
        for (body, rows) in [
            (&b"SNOTICE\0Mtotal: 5\0\0"[..], 5),
            (b"SNOTICE\0Mtotal: 3\0\0", 5),
            (b"Dtotal: 9\0Mtotal\0\0", 5),
            (b"Mtotal: 1,000\0\0", 1000),
        ] {
            progress.take(body).expect("a notice");
            assert_eq!(progress.rows(), rows);
        }
        assert!(progress.take(b"Mtotal: 5").is_err());
        progress.follow(&text);
        assert_eq!(progress.rows(), 0);
    }
}
