//! A session with a MySQL or MariaDB server over the client/server protocol, version 4.1.
//!
//! On the hot path its reader reads packet headers, how a statement went, and errors. (MySQL documentation,
//! "MySQL Client/Server Protocol".)

mod auth;
mod capture;
mod connect;
pub mod encode;
mod framing;
mod greeting;
mod local;
mod reader;
mod rsa;

pub use auth::{Handshake, Step};
pub use framing::{Framing, Packet};
pub use greeting::Greeting;
pub use local::Loaded;
pub use reader::{Prepared, Reader};

use super::error::SessionError;
use super::exchange::Session;

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
        encode::prepare(output, sql.as_bytes());
        self.reader.ask_to_prepare();
        self.answer()?;
        Ok(self.reader.prepared())
    }

    /// The thread of the server's process that serves this session, as the kernel numbers it; none where the server
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

    /// Whether `\` stands for itself in the session's literals (`sql_mode` has NO_BACKSLASH_ESCAPES).
    #[must_use]
    pub fn takes_backslashes_as_they_are(&self) -> bool {
        self.reader.takes_backslashes_as_they_are()
    }
}
