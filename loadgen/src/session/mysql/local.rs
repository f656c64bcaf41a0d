//! The data of a LOAD DATA LOCAL, which the server asks for as if they were a file.
//!
//! (MySQL documentation, "LOCAL INFILE Request".) The name of the file means nothing: nothing is read but what the
//! caller hands over.

use super::reader::Local;
use super::{MySqlSession, encode};
use crate::session::error::SessionError;
use crate::session::exchange::{Incoming, ReadBuffer, SMALL_BUFFER_BYTES};
use crate::session::reply::Reply;
use crate::session::socket;
use rustix::event::PollFlags;
use rustix::net::RecvFlags;

impl MySqlSession {
    /// Asks for a LOAD DATA LOCAL by that SQL; returns when the server waits for data.
    ///
    /// # Errors
    /// `Server` where the server refuses it (3948: `local_infile` is off).
    pub fn local_begin(&mut self, sql: &str) -> Result<(), SessionError> {
        self.encode_query(sql);
        self.reader.answer.local = Local::Asked;
        self.send_all()?;
        let (mut buffer, mut reply) = (ReadBuffer::of(SMALL_BUFFER_BYTES), Reply::default());
        while self.reader.answer.local == Local::Asked {
            let received = self.receive_once(&mut buffer, &mut reply, RecvFlags::DONTWAIT)?;
            if received.is_none() {
                socket::wait(&self.stream, PollFlags::IN, None)?;
            } else if matches!(received, Some((true, _))) {
                self.reader.answer.local = Local::Unexpected;
                let text = format!("the server did not ask for data after `{sql}`");
                return Err(reply
                    .error
                    .map_or(SessionError::Protocol(text), SessionError::Server));
            }
        }
        Ok(())
    }

    /// Sends a piece of the data; an empty one ends them. What the server says about them comes after all of them.
    ///
    /// # Errors
    /// `Lost` where the connection ended.
    pub fn local_send(&mut self, data: &[u8]) -> Result<(), SessionError> {
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
    pub fn local_end(&mut self) -> Result<Loaded, SessionError> {
        self.local_send(&[])?;
        self.reader.answer.local = Local::Unexpected;
        let mut kept = self.answer()?;
        Ok(Loaded {
            rows: super::Reader::captured(&mut kept).affected,
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
