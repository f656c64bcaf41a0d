//! The data of a LOAD DATA LOCAL, which the server asks for as if they were a file.
//!
//! (MySQL documentation, "LOCAL INFILE Request".) The name of the file means nothing: nothing is read but what the
//! caller hands over.

use super::{MySqlSession, encode};
use crate::session::error::SessionError;
use crate::session::exchange::{Bulk, Incoming};

impl MySqlSession {
    /// Sends a piece of the data; an empty one ends them. What the server says about them comes after all of them.
    ///
    /// # Errors
    /// `Lost` where the connection ended.
    pub(crate) fn local_send(&mut self, data: &[u8]) -> Result<(), SessionError> {
        let number = self.reader.answer.number;
        self.output.clear();
        self.sent = 0;
        encode::packet(&mut self.output, number, data);
        self.reader.answer.number = number.wrapping_add(encode::packets(&self.output));
        self.send_all()
    }

    /// Ends the data and waits for the answer; says what became of them.
    ///
    /// # Errors
    /// `Server` where the server did not keep the rows.
    pub(crate) fn local_end(&mut self) -> Result<Loaded, SessionError> {
        self.local_send(&[])?;
        *self.reader.bulk() = Bulk::Unexpected;
        Ok(Loaded {
            rows: self.answer()?.captured.affected,
            warnings: self.reader.answer.warnings,
        })
    }
}

/// What became of the data of a LOAD DATA LOCAL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loaded {
    /// The rows that were kept.
    pub rows: u64,
    /// What the server doubts, as values that it changed and rows that it left out; it counts no further than 65,535.
    pub warnings: u16,
}
