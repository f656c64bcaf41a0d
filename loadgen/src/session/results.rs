//! What of the rows that a server returns is kept for a script's variables: names and texts, in room that is used again.

use super::error::SessionError;
use crate::wire::Keep;

/// The length that stands for NULL.
const NULL: u32 = u32::MAX;

/// The results of an answer, while it comes in.
#[derive(Debug, Default)]
pub struct Results {
    /// What is kept of the answer that is awaited.
    pub keep: Keep,
    /// The rows of each result, where they are counted.
    pub counts: Vec<u64>,
    /// For each result the number of its columns, their names, and the last row; each text has its length in front.
    bytes: Vec<u8>,
    /// Where the result begins that comes in, and the row within it.
    result_at: usize,
    row_at: usize,
    /// How many rows it has; those of the last one when all are there.
    rows: u64,
    /// Whether a result has begun that has not ended.
    open: bool,
}

impl Results {
    /// Makes room for the next answer, of which `keep` says what is kept.
    #[inline]
    pub fn begin(&mut self, keep: Keep) {
        self.keep = keep;
        self.bytes.clear();
        self.counts.clear();
        (self.result_at, self.row_at, self.rows, self.open) = (0, 0, 0, false);
    }

    /// Whether names and rows are wanted.
    #[inline]
    #[must_use]
    pub fn takes_rows(&self) -> bool {
        matches!(self.keep, Keep::Last | Keep::Every)
    }

    /// Returns how many rows the last result had.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Begins a result of so many columns, whose names follow.
    pub(super) fn begin_result(&mut self, columns: u16) {
        if self.keep == Keep::Last {
            self.bytes.clear();
        }
        self.result_at = self.bytes.len();
        self.bytes.extend_from_slice(&columns.to_le_bytes());
        (self.row_at, self.rows, self.open) = (self.bytes.len(), 0, true);
    }

    /// Keeps the name of the next column.
    pub(super) fn name(&mut self, name: &[u8]) {
        self.append(Some(name));
        self.row_at = self.bytes.len();
    }

    /// Begins the next row of the result, whose values follow.
    pub(super) fn begin_row(&mut self) {
        self.bytes.truncate(self.row_at);
        self.rows += 1;
    }

    /// Keeps the next value of the row; none for NULL.
    pub(super) fn value(&mut self, value: Option<&[u8]>) {
        self.append(value);
    }

    /// Keeps the next value, which `write` appends.
    ///
    /// # Errors
    /// Those of `write`.
    pub(super) fn value_by(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        let mark = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        write(&mut self.bytes)?;
        let length = u32::try_from(self.bytes.len() - mark - 4).unwrap_or(NULL);
        self.bytes[mark..mark + 4].copy_from_slice(&length.to_le_bytes());
        Ok(())
    }

    /// Ends what a statement gave, be it rows or none.
    #[inline]
    pub(super) fn complete(&mut self, rows: u64) {
        if self.keep == Keep::Counts {
            self.counts.push(rows);
        }
        if !self.open {
            self.rows = 0;
        }
        if self.rows == 0 {
            self.bytes.truncate(self.result_at);
        }
        self.result_at = self.bytes.len();
        self.open = false;
    }

    fn append(&mut self, text: Option<&[u8]>) {
        let length = text.map_or(NULL, |text| u32::try_from(text.len()).unwrap_or(NULL));
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(text.unwrap_or_default());
    }

    /// Visits the names and values of what was kept, in the order in which they came; NULL is an empty text.
    pub fn visit(&self, mut visit: impl FnMut(&[u8], &[u8])) {
        let mut rest = &self.bytes[..];
        while let Some((columns, list)) = rest.split_first_chunk() {
            let columns = u16::from_le_bytes(*columns);
            let mut values = list;
            for _ in 0..columns {
                next(&mut values);
            }
            let mut names = list;
            for _ in 0..columns {
                let name = next(&mut names);
                visit(name, next(&mut values));
            }
            rest = values;
        }
    }
}

/// Takes the next text.
fn next<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let Some((length, texts)) = rest.split_first_chunk() else {
        return &[];
    };
    let length = match u32::from_le_bytes(*length) {
        NULL => 0,
        length => length as usize,
    };
    let (text, behind) = texts.split_at(length.min(texts.len()));
    *rest = behind;
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer of three results: two rows, none, and what is no result of rows.
    fn answer(keep: Keep) -> (Results, Vec<(String, String)>) {
        let mut results = Results::default();
        results.begin(keep);
        results.begin_result(2);
        results.name(b"a");
        results.name(b"b");
        for value in [b"1", b"2"] {
            results.begin_row();
            results.value(Some(value));
            results.value(None);
        }
        results.complete(2);
        results.begin_result(1);
        results.name(b"c");
        results.complete(0);
        results.begin_result(1);
        results.name(b"d");
        results.begin_row();
        let write = |out: &mut Vec<u8>| {
            out.extend_from_slice(b"four");
            Ok(())
        };
        results.value_by(write).unwrap();
        results.complete(1);
        let mut seen = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        results.visit(|name, value| seen.push((text(name), text(value))));
        (results, seen)
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn the_last_row_of_every_result_that_has_one_is_kept() {
        let (_, seen) = answer(Keep::Every);
        assert_eq!(seen, [pair("a", "2"), pair("b", ""), pair("d", "four")]);
    }

    #[test]
    fn of_the_last_result_alone_the_number_of_rows_is_known() {
        let (mut results, seen) = answer(Keep::Last);
        assert_eq!((results.rows(), seen), (1, vec![pair("d", "four")]));
        results.complete(5);
        assert_eq!(results.rows(), 0, "an UPDATE behind it returns none");
    }

    #[test]
    fn rows_are_counted_by_result_where_that_is_asked_for() {
        assert_eq!(answer(Keep::Counts).0.counts, [2, 0, 1]);
    }
}
