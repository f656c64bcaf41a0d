//! Cursors of a compiled job.

use crate::job::Cursor;

/// How a cursor is read and counted up.
#[derive(Debug)]
pub struct CursorCode {
    /// The cursor's name.
    pub name: String,
    start: String,
    /// What it grows by.
    pub advance: i64,
    /// It is read again when more than this many have been generated.
    pub resync_every: u64,
}

impl CursorCode {
    /// Compiles a cursor of a valid job.
    pub(super) fn new(cursor: &Cursor) -> Self {
        Self {
            name: cursor.name.clone(),
            start: cursor.start.clone(),
            advance: cursor.advance,
            resync_every: cursor.resync_every.unwrap_or(u64::MAX),
        }
    }

    /// Returns the SQL that reads it in a table.
    #[must_use]
    pub fn sql(&self, table: &str) -> String {
        self.start.replace("{t}", table)
    }
}
