//! Ends what servers do for sessions at the moment, from outside of these: before a session is closed in the middle of a
//! statement, which else goes on in the server, beside whatever is measured next.

use super::error::{ServerError, SessionError};
use super::mysql::MySqlSession;
use super::postgres::PostgresSession;
use super::target::Target;
use crate::wire::Wire;
use std::time::{Duration, Instant};

/// How long servers may take in all to be told.
pub(crate) const CANCEL_MAX: Duration = Duration::from_secs(3);

/// The most requests that are on their way at a time: each is a connection, and with PostgreSQL a process.
const AT_ONCE_MAX: usize = 64;

/// MySQL's error for the number of a connection that has ended.
const NO_SUCH_CONNECTION: u16 = 1094;

/// By what another connection tells a server which session is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelKey {
    /// The session's target, by its index.
    pub(super) target: usize,
    /// The server's process, or its number of the connection.
    pub(super) server_pid: u32,
    /// What PostgreSQL wants to hear besides.
    pub(super) secret: u32,
}

/// Who tells servers of some targets to end what they do for sessions.
pub(crate) struct Canceller<'a> {
    targets: &'a [Target],
    /// A session of its own with a target, as MySQL takes this as a statement.
    session: Option<(usize, MySqlSession)>,
}

impl<'a> Canceller<'a> {
    pub(crate) fn new(targets: &'a [Target]) -> Self {
        Self {
            targets,
            session: None,
        }
    }

    /// Ends the statements of these sessions, all within [`CANCEL_MAX`]. A session that does nothing does not mind.
    ///
    /// # Errors
    /// The first server's that has not been told, where others have.
    pub(crate) fn cancel(&mut self, keys: &[CancelKey]) -> Result<(), SessionError> {
        let deadline = Instant::now() + CANCEL_MAX;
        let mut outcome = Ok(());
        for some in keys.chunks(AT_ONCE_MAX) {
            let asked: Vec<_> = some.iter().map(|key| self.ask(*key, deadline)).collect();
            for (key, asked) in some.iter().zip(asked) {
                let target = &self.targets[key.target];
                let told = asked.and_then(|asked| match asked {
                    Some(asked) => asked.wait_for_cancel(target, deadline),
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
        let target = &self.targets[key.target];
        match target.wire {
            Wire::Postgres => PostgresSession::ask_to_cancel(key, target, deadline).map(Some),
            Wire::MySql(_) => self.kill_query(key, target, deadline).map(|()| None),
        }
    }

    fn kill_query(
        &mut self,
        key: CancelKey,
        target: &Target,
        deadline: Instant,
    ) -> Result<(), SessionError> {
        let mut session = match self.session.take() {
            Some((at, session)) if at == key.target => session,
            _ => MySqlSession::connect(target, deadline.saturating_duration_since(Instant::now()))?,
        };
        session.set_nonblocking()?;
        session.limit(Some(deadline));
        match session.query(&format!("KILL QUERY {}", key.server_pid)) {
            Ok(_) => {}
            Err(SessionError::Server(ServerError { number, .. }))
                if number == NO_SUCH_CONNECTION => {}
            Err(error) => return Err(error),
        }
        self.session = Some((key.target, session));
        Ok(())
    }
}
