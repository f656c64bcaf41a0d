//! What a session keeps of answers while somebody wants to see them, whichever protocol they come in.

use super::error::SessionError;

/// The most rows and the most notices that are kept of one answer.
pub(super) const CAPTURED_MAX: usize = 1_000;
/// Once the kept rows and notices have taken so many bytes, as they came, those that follow are passed over.
pub(super) const CAPTURED_BYTES_MAX: usize = 16 << 20;

/// A row as text; none for NULL.
pub(super) type Row = Vec<Option<String>>;

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
    /// Returns the first column of the first row as a number; 0 for NULL and where there is no row.
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

/// Collects an answer while it comes in. `Column` is what a protocol has to know of a column to read its values.
#[derive(Debug, Default)]
pub struct Capture<Column> {
    pub(super) captured: Captured,
    columns: Vec<Column>,
    /// The types' OIDs of the parameters of each statement that was described; PostgreSQL's only.
    pub(super) parameter_types: Vec<Vec<u32>>,
    /// What rows and notices have taken so far.
    kept_bytes: usize,
}

impl<Column> Capture<Column> {
    /// Begins a result: forgets the columns of the one before.
    pub(super) fn begin(&mut self) {
        self.captured.columns.clear();
        self.columns.clear();
    }

    /// Keeps a column of the result.
    pub(super) fn keep_column(&mut self, name: &[u8], column: Column) {
        let name = String::from_utf8_lossy(name).into_owned();
        self.captured.columns.push(name);
        self.columns.push(column);
    }

    /// Keeps the row that `read` makes of its bytes and the result's columns, where there is room for it.
    ///
    /// # Errors
    /// Those of `read`.
    pub(super) fn keep_row(
        &mut self,
        body: &[u8],
        read: impl FnOnce(&[Column], &[u8]) -> Result<Row, SessionError>,
    ) -> Result<(), SessionError> {
        if has_room(&mut self.kept_bytes, self.captured.rows.len(), body) {
            self.captured.rows.push(read(&self.columns, body)?);
        }
        Ok(())
    }

    /// Keeps the notice that `read` makes of its bytes, where there is room for it.
    ///
    /// # Errors
    /// Those of `read`.
    pub(super) fn keep_notice(
        &mut self,
        body: &[u8],
        read: impl FnOnce(&[u8]) -> Result<String, SessionError>,
    ) -> Result<(), SessionError> {
        if has_room(&mut self.kept_bytes, self.captured.notices.len(), body) {
            self.captured.notices.push(read(body)?);
        }
        Ok(())
    }
}

/// Tells whether there is room for a row or notice behind `kept` others, and counts its bytes then.
fn has_room(kept_bytes: &mut usize, kept: usize, body: &[u8]) -> bool {
    let room = kept < CAPTURED_MAX && *kept_bytes < CAPTURED_BYTES_MAX;
    *kept_bytes += if room { body.len() } else { 0 };
    room
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

    #[test]
    fn rows_and_notices_are_kept_up_to_their_number_and_their_bytes() {
        let keep = |count: usize, bytes: usize| {
            let (mut capture, body) = (Capture::<()>::default(), vec![b'x'; bytes]);
            for _ in 0..count {
                let row = |_: &[()], _: &[u8]| Ok(vec![None]);
                capture.keep_row(&body, row).expect("a row");
                let notice = |_: &[u8]| Ok("note".to_owned());
                capture.keep_notice(b"note", notice).expect("a notice");
            }
            let kept = capture.captured;
            (kept.rows.len(), kept.notices.len())
        };
        assert_eq!(keep(CAPTURED_MAX + 1, 1), (CAPTURED_MAX, CAPTURED_MAX));
        assert_eq!(keep(5, CAPTURED_BYTES_MAX / 2), (2, 1));
    }
}
