//! A session in either of the protocols that servers speak.

use super::capture::Captured;
use super::error::SessionError;
use super::exchange::CancelKey;
use super::exchange::ReadBuffer;
use super::incoming::Reply;
use super::mysql::MySqlSession;
use super::postgres::PostgresSession;
use super::target::Target;
use crate::wire::Wire;
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// A session in either protocol.
#[derive(Debug)]
pub enum AnySession {
    /// With a PostgreSQL server.
    Postgres(PostgresSession),
    /// With a MySQL or MariaDB server.
    MySql(MySqlSession),
}

/// Calls the same on whichever session it is.
macro_rules! either {
    ($session:expr, $name:ident => $call:expr) => {
        match $session {
            AnySession::Postgres($name) => $call,
            AnySession::MySql($name) => $call,
        }
    };
}

impl AnySession {
    /// Connects in the protocol of the target.
    ///
    /// # Errors
    /// As [`Session::connect`](super::Session::connect).
    pub fn connect(target: &Target, timeout: Duration) -> Result<Self, SessionError> {
        match target.wire {
            Wire::MySql(_) => MySqlSession::connect(target, timeout).map(AnySession::MySql),
            Wire::Postgres => PostgresSession::connect(target, timeout).map(AnySession::Postgres),
        }
    }

    /// Returns the server's process, or its number of the connection.
    #[must_use]
    pub fn server_pid(&self) -> u32 {
        either!(self, session => session.server_pid())
    }

    /// Returns by what another connection may end what this one does.
    pub(crate) fn cancel_key(&self) -> CancelKey {
        either!(self, session => session.cancel_key())
    }

    /// Runs SQL as a text and keeps its rows and notices. Waits for the answer.
    ///
    /// # Errors
    /// As [`Session::query`](super::Session::query).
    pub fn query(&mut self, sql: &str) -> Result<Captured, SessionError> {
        either!(self, session => session.query(sql))
    }

    /// Makes sending and receiving return at once.
    ///
    /// # Errors
    /// Where the operating system refuses it.
    pub fn set_nonblocking(&mut self) -> Result<(), SessionError> {
        either!(self, session => session.set_nonblocking())
    }

    /// Makes sending and receiving wait.
    ///
    /// # Errors
    /// Where the operating system refuses it.
    pub fn set_blocking(&mut self) -> Result<(), SessionError> {
        either!(self, session => session.set_blocking())
    }

    /// Sets until when requests that are waited for wait.
    pub fn limit(&mut self, deadline: Option<Instant>) {
        either!(self, session => session.limit(deadline));
    }

    /// Switches on or off whether columns, rows and notices of answers are kept.
    pub fn capture(&mut self, on: bool) {
        either!(self, session => session.capture(on));
    }

    /// Returns what has been kept since the capture was switched on or last taken.
    pub fn take_captured(&mut self) -> Captured {
        either!(self, session => session.take_captured())
    }

    /// Sends a request; true when all of it is sent.
    ///
    /// # Errors
    /// As [`Session::send`](super::Session::send).
    #[inline]
    pub fn send(&mut self, request: &[u8]) -> Result<bool, SessionError> {
        either!(self, session => session.send(request))
    }

    /// Takes note that what was sent last has so many answers.
    pub fn await_answers(&mut self, answers: u32) {
        either!(self, session => session.await_answers(answers));
    }

    /// Goes on sending; true when all is sent.
    ///
    /// # Errors
    /// As [`Session::flush`](super::Session::flush).
    pub fn flush(&mut self) -> Result<bool, SessionError> {
        either!(self, session => session.flush())
    }

    /// Receives what is there; true when the reply is complete.
    ///
    /// # Errors
    /// As [`Session::receive`](super::Session::receive).
    #[inline]
    pub fn receive(
        &mut self,
        buffer: &mut ReadBuffer,
        reply: &mut Reply,
    ) -> Result<bool, SessionError> {
        either!(self, session => session.receive(buffer, reply))
    }

    /// Takes note of a request that is sent elsewhere.
    #[inline]
    pub fn ask_by(&mut self, request: &[u8]) {
        either!(self, session => session.ask_by(request));
    }

    /// Keeps the rest of a request, for [`flush`](Self::flush).
    pub fn keep(&mut self, rest: &[u8]) {
        either!(self, session => session.keep(rest));
    }

    /// From now on, what comes is given to it.
    pub fn set_fed(&mut self) {
        either!(self, session => session.set_fed());
    }

    /// Takes bytes that were received elsewhere; true when the reply is complete.
    ///
    /// # Errors
    /// As [`Session::take`](super::Session::take).
    #[inline]
    pub fn take(
        &mut self,
        bytes: Result<&[u8], Errno>,
        reply: &mut Reply,
    ) -> Result<bool, SessionError> {
        either!(self, session => session.take(bytes, reply))
    }

    /// Says goodbye, so that it can be closed.
    pub fn say_goodbye(&mut self) {
        either!(self, session => session.say_goodbye());
    }

    /// Says goodbye and closes.
    pub fn close(self) {
        either!(self, session => session.close());
    }
}

impl AsFd for AnySession {
    fn as_fd(&self) -> BorrowedFd<'_> {
        either!(self, session => session.as_fd())
    }
}
