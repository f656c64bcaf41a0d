//! A session with a PostgreSQL server over protocol 3.0.
//!
//! On the hot path its reader reads message headers, the command tag and errors. (PostgreSQL
//! documentation, chapter "Frontend/Backend Protocol".)

mod auth;
mod capture;
mod certificate;
mod connect;
pub(crate) mod framing;
mod reader;

use rustix::net::RecvFlags;

pub use auth::Handshake;
pub use framing::{Framing, Message};
pub use reader::Reader;

use super::error::SessionError;
use super::exchange::{ReadBuffer, Session, refuse_nul};
use super::incoming::{Bulk, Incoming, Reply};
use crate::wire::postgres;

/// About how much is asked to be parsed at once. A server that waits until its answers are taken takes nothing itself,
/// so this has to fit into what lies between it and us.
const PARSED_BYTES_MAX: usize = 8 << 10;

/// A connection to a PostgreSQL server that has been let in.
pub type PostgresSession = Session<Reader>;

impl PostgresSession {
    /// Tells whether `\` has a meaning in the session's literals (`standard_conforming_strings` was off at its start).
    #[must_use]
    pub fn escapes_backslashes(&self) -> bool {
        self.reader.escapes
    }

    /// Parses SQL as a statement of that name; returns the types' OIDs of its parameters. Waits
    /// for the answer.
    ///
    /// # Errors
    /// `Server` where the server refuses it; the session can be used further then.
    pub fn prepare(&mut self, name: &str, sql: &str) -> Result<Vec<u32>, SessionError> {
        let mut types = Vec::new();
        self.prepare_all(&[(name, sql, &[])], &mut types)?;
        Ok(types.pop().unwrap_or_default())
    }

    /// Parses statements, each a name, SQL and the types that it declares, many to a round trip; appends the types'
    /// OIDs of each one's parameters to `types`. Waits for the answers.
    ///
    /// # Errors
    /// `Server` where the server refuses one, which is the first that `types` lacks; the session can be used further
    /// then.
    pub fn prepare_all(
        &mut self,
        statements: &[(&str, &str, &[u32])],
        types: &mut Vec<Vec<u32>>,
    ) -> Result<(), SessionError> {
        let mut rest = statements.iter().peekable();
        while rest.peek().is_some() {
            let output = self.output();
            output.clear();
            while let Some((name, sql, declared)) = rest.next_if(|(name, sql, _)| {
                output.is_empty() || output.len() + name.len() + sql.len() < PARSED_BYTES_MAX
            }) {
                refuse_nul(name)?;
                refuse_nul(sql)?;
                postgres::parse_named(output, name.as_bytes(), sql.as_bytes(), declared);
                postgres::describe_statement(output, name.as_bytes());
            }
            postgres::sync(output);
            let (kept, error) = self.answers()?;
            types.extend(kept.parameter_types);
            error.map_or(Ok(()), |error| Err(SessionError::Server(error)))?;
            let asked = statements.len() - rest.len();
            if types.len() != asked {
                return Err(SessionError::Protocol(format!(
                    "the server described {} statements where {asked} were asked for",
                    types.len()
                )));
            }
        }
        Ok(())
    }

    /// Sends a request that is written so, and waits for its answer.
    ///
    /// # Errors
    /// `Server` where the server refuses it, `Lost` where the connection ended.
    pub(crate) fn ask(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), SessionError> {
        let output = self.output();
        output.clear();
        write(output);
        self.answer().map(|_| ())
    }

    /// Sends the output during a COPY. An error that the server reports meanwhile comes back.
    ///
    /// # Errors
    /// `Server` where the server has ended the COPY, `Lost` where the connection ended.
    pub(crate) fn copy_send(&mut self, buffer: &mut ReadBuffer) -> Result<(), SessionError> {
        let mut reply = Reply::default();
        self.send_all()?;
        let received = self.receive_once(buffer, &mut reply, RecvFlags::DONTWAIT)?;
        match reply.error {
            Some(error) => Err(SessionError::Server(error)),
            None if matches!(received, Some((true, _))) => Err(SessionError::Protocol(
                "the server ended the COPY before its data".to_owned(),
            )),
            None => Ok(()),
        }
    }

    /// Sends the output, which ends a COPY, and waits for the answer; returns the rows copied.
    ///
    /// # Errors
    /// `Server` where the server did not keep the rows.
    pub(crate) fn copy_end(&mut self) -> Result<u64, SessionError> {
        *self.reader.bulk() = Bulk::Unexpected;
        Ok(self.answer()?.captured.affected)
    }
}
