//! A session with a MySQL or MariaDB server over the client/server protocol, version 4.1.
//!
//! On the hot path its reader reads packet headers, how a statement went, and errors. (MySQL documentation,
//! "MySQL Client/Server Protocol".)

mod auth;
mod capture;
mod connect;
mod framing;
mod greeting;
mod reader;
mod rsa;

pub use auth::{Handshake, Step};
pub use framing::{Framing, Packet};
pub use greeting::Greeting;
pub use reader::{Prepared, Reader};

use super::error::SessionError;
use super::exchange::Session;
use super::incoming::{Bulk, Incoming};
use crate::wire::mysql;

/// A connection to a MySQL or MariaDB server that has been let in.
pub type MySqlSession = Session<Reader>;

impl MySqlSession {
    /// Prepares SQL with `?` for its parameters. Waits for the answer.
    ///
    /// # Errors
    /// `Server` where the server refuses it; the session can be used further then.
    pub fn prepare(&mut self, sql: &str) -> Result<Prepared, SessionError> {
        let output = self.output();
        output.clear();
        mysql::prepare(output, sql.as_bytes());
        self.reader.ask_to_prepare();
        self.answer()?;
        Ok(self.reader.prepared())
    }

    /// Returns the thread of the server's process that serves this session, as the kernel numbers it; none where the server
    /// does not tell. Waits for the answer.
    ///
    /// # Errors
    /// `Lost` or `Protocol`: the session is over.
    pub fn server_tid(&mut self) -> Result<Option<u32>, SessionError> {
        let sql = if self.reader.is_mariadb() {
            "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()"
        } else {
            "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()"
        };
        match self.query(sql) {
            Ok(captured) => {
                let tid = captured.first_integer()?;
                Ok(u32::try_from(tid).ok().filter(|tid| *tid > 0))
            }
            // An account may not see it, and a server may be built without it.
            Err(SessionError::Server(_)) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Tells whether `\` stands for itself in the session's literals (`sql_mode` has NO_BACKSLASH_ESCAPES).
    #[must_use]
    pub fn takes_backslashes_as_they_are(&self) -> bool {
        self.reader.takes_backslashes_as_they_are()
    }

    /// Sends a piece of the data of a LOAD DATA LOCAL (MySQL documentation, "LOCAL INFILE Request"); an empty one ends
    /// them. What the server says about them comes after all of them.
    ///
    /// # Errors
    /// `Lost` where the connection ended.
    pub(crate) fn local_send(&mut self, data: &[u8]) -> Result<(), SessionError> {
        let number = self.reader.answer.number;
        self.output.clear();
        self.sent = 0;
        mysql::packet(&mut self.output, number, data);
        self.reader.answer.number = number.wrapping_add(mysql::packets(&self.output));
        self.send_all()
    }

    /// Ends the data and waits for the answer; returns what became of them.
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
