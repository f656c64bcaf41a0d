//! Ends what servers do for sessions at the moment, from outside of these: before a session is closed in the middle of a
//! statement, which else goes on in the server, beside whatever is measured next.

use super::error::{ServerError, SessionError};
use super::exchange::CancelKey;
use super::mysql::MySqlSession;
use super::postgres::PostgresSession;
use super::target::Target;
use crate::wire::Wire;
use std::time::{Duration, Instant};

/// How long a server may take in all to be told.
pub(crate) const CANCEL_MAX: Duration = Duration::from_secs(3);

/// The most requests that are on their way at a time: each is a connection, and with PostgreSQL a process.
const AT_ONCE_MAX: usize = 64;

/// MySQL's error for the number of a connection that has ended.
const NO_SUCH_CONNECTION: u16 = 1094;

/// Who tells a server to end what it does for sessions.
pub(crate) struct Canceller<'a> {
    target: &'a Target,
    /// A session of its own, as MySQL takes this as a statement.
    session: Option<MySqlSession>,
}

impl<'a> Canceller<'a> {
    pub(crate) fn new(target: &'a Target) -> Self {
        Self {
            target,
            session: None,
        }
    }

    /// Ends the statements of these sessions, all within [`CANCEL_MAX`]. A session that does nothing does not mind.
    ///
    /// # Errors
    /// The first that the server has not been told, where it has been told others.
    pub(crate) fn cancel(&mut self, keys: &[CancelKey]) -> Result<(), SessionError> {
        let deadline = Instant::now() + CANCEL_MAX;
        let mut outcome = Ok(());
        for some in keys.chunks(AT_ONCE_MAX) {
            let asked: Vec<_> = some.iter().map(|key| self.ask(*key, deadline)).collect();
            for asked in asked {
                let told = asked.and_then(|asked| match asked {
                    Some(asked) => asked.wait_for_cancel(self.target, deadline),
                    None => Ok(()),
                });
                outcome = outcome.and(told);
            }
        }
        outcome
    }

    /// Sends the request; the connection that ends when the server has taken it, none where it has been taken.
    fn ask(
        &mut self,
        key: CancelKey,
        deadline: Instant,
    ) -> Result<Option<PostgresSession>, SessionError> {
        match self.target.wire {
            Wire::Postgres => PostgresSession::ask_to_cancel(key, self.target, deadline).map(Some),
            Wire::MySql(_) => self.kill_query(key, deadline).map(|()| None),
        }
    }

    fn kill_query(&mut self, key: CancelKey, deadline: Instant) -> Result<(), SessionError> {
        let left = || deadline.saturating_duration_since(Instant::now());
        let mut session = match self.session.take() {
            Some(session) => session,
            None => MySqlSession::connect(self.target, left())?,
        };
        session.set_nonblocking()?;
        session.limit(Some(deadline));
        match session.query(&format!("KILL QUERY {}", key.server_pid)) {
            Ok(_) => {}
            Err(SessionError::Server(ServerError { number, .. }))
                if number == NO_SUCH_CONNECTION => {}
            Err(error) => return Err(error),
        }
        self.session = Some(session);
        Ok(())
    }
}
