//! What a session has kept of answers, whichever protocol they came in.

use super::error::SessionError;

/// The most rows and the most notices that are kept of one answer.
pub(super) const CAPTURED_MAX: usize = 1_000;
/// Once the kept rows and notices have taken so many bytes, as they came, those that follow are passed over.
pub(super) const CAPTURED_BYTES_MAX: usize = 16 << 20;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
