//! What a worker asks of the other side: sessions, and the clock that they live by.
//!
//! The worker is the same for all of them: [`live`] has sockets and the system's clock, [`fake`] an in-process server
//! and a clock that jumps to the next event. Over sockets a session ([`Session`]) is the same for both protocols, too;
//! what understands the server's bytes is [`postgres`] or [`mysql`].

mod alarm;
mod any;
pub(crate) mod cancel;
mod capture;
mod connect;
mod der;
mod encryption;
mod error;
mod exchange;
pub mod fake;
pub(crate) mod fields;
mod incoming;
pub mod live;
pub mod mysql;
mod opening;
mod password;
pub mod postgres;
mod progress;
pub mod readable;
mod reconnect;
mod remaking;
mod results;
mod slot;
mod socket;
mod target;
mod targets;
mod tls;
mod transport;
pub mod uring;
mod way;

use crate::event::Way;
use crate::message::Command;
use crate::shared::Phase;
use crate::statement::Parameters;
use std::sync::Arc;

pub use any::AnySession;
pub use capture::{Capture, Captured};
pub use connect::Opens;
pub use error::{ServerError, SessionError};
pub use exchange::{CancelKey, ReadBuffer, Session};
pub use incoming::{Bulk, Incoming, Reply};
pub use password::{Privacy, resolve};
pub use reconnect::{RECONNECTS_AT_ONCE_MAX, Reconnects};
pub use results::Results;
pub use target::Target;
pub use targets::Targets;
pub use tls::Tls;

/// What a request is, for the fake and for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// A statement by its index.
    Statement(usize),
    /// A pipeline of statements, with so many synchronisations, each of which is answered.
    Pipeline(u32),
    /// The reading of a cursor by its index.
    Cursor(usize),
    /// A ROLLBACK after an error within a transaction.
    Rollback,
    /// What a session is asked last, before another takes its place.
    Ask,
}

/// Something that a worker has waited for.
#[derive(Debug)]
pub enum Ready {
    /// The session has something to receive, or has been lost.
    Session(usize),
    /// The session has been made, or made anew, or could not be.
    Reconnected(usize, Result<Opened, SessionError>),
}

/// A session that has been let in and prepared.
#[derive(Debug)]
pub struct Opened {
    /// The server's process, or its number of the connection.
    pub server_pid: u32,
    /// The thread of the server's process that serves it, where there is one and it can be known.
    pub server_tid: Option<u32>,
    /// By the statement's index; empty where the statement has none or is not sent here.
    pub parameters: Arc<[Parameters]>,
}

/// All sessions of one worker, by index, and their clock. One request at a time is in flight on each.
pub trait Sessions {
    /// Whether commands take effect at ticks only, as the clock runs ahead of the real one.
    const COMMANDS_AT_TICKS: bool;

    /// Now, in nanoseconds of CLOCK_MONOTONIC.
    fn now_ns(&mut self) -> u64;

    /// When a command that the caller gave at `at_ns` of the real clock counts by this clock.
    fn command_ns(&mut self, command: Command, at_ns: u64) -> u64;

    /// Returns what the sessions themselves want, as the fake that takes turns does; `quiet`: in a pause, with nothing in
    /// flight.
    fn turn(&mut self, _quiet: bool) -> Option<Phase> {
        None
    }

    /// CPU that the whole process has spent.
    fn process_cpu_ns(&mut self) -> u64;

    /// CPU that this worker has spent.
    fn thread_cpu_ns(&mut self) -> u64;

    /// How long this worker has been ready to run without a processor; none where the kernel does not tell.
    fn thread_runnable_ns(&self) -> Option<u64> {
        None
    }

    /// The buffer of a session's next request, which the caller clears.
    fn output(&mut self, session: usize) -> &mut Vec<u8>;

    /// Sends what is in the buffer.
    ///
    /// # Errors
    /// `Lost` where the connection is gone.
    fn send(&mut self, session: usize, sent: Sent, now_ns: u64) -> Result<(), SessionError>;

    /// Waits until something is ready or `until_ns` has come (`u64::MAX`: without limit) or a command has been given.
    ///
    /// # Errors
    /// Where the operating system refuses to wait.
    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> Result<(), SessionError>;

    /// How long, at most, the worker itself has delayed what a session has received and is handled at `now_ns`: how long its
    /// request lay gathered, and its reply readable.
    fn queue_ns(&self, session: usize, now_ns: u64) -> u64;

    /// Receives what is there; true when `reply` is complete.
    ///
    /// # Errors
    /// `Lost` or `Protocol`: the session is over.
    fn receive(&mut self, session: usize, reply: &mut Reply) -> Result<bool, SessionError>;

    /// Takes note that a statement has been gathered for the session's next pipeline.
    fn gathered(&mut self, session: usize, statement: usize);

    /// Takes note that a worker has computed for a while without anything else: where time is virtual, it passes then.
    fn computed(&mut self);

    /// What the session has kept of its last replies: for cursors and jobs with `capture`.
    fn take_captured(&mut self, session: usize) -> Captured;

    /// Has the session keep what its next replies hold, for [`take_captured`](Self::take_captured).
    fn capture(&mut self, _session: usize) {}

    /// Makes a lost session anew, as soon as the server lets it in; ends with [`Ready::Reconnected`].
    fn reconnect(&mut self, session: usize);

    /// Tries once to make a session that is closed; ends with [`Ready::Reconnected`].
    fn open(&mut self, session: usize);

    /// Says goodbye to the server and closes a session, if it is open.
    fn end(&mut self, session: usize);

    /// Returns how the worker waits for its connections, and why not by io_uring where that was refused; none where there
    /// are no connections to wait for.
    fn ways(&self) -> Option<(Way, Option<&str>)> {
        None
    }

    /// How often a receive by io_uring was over for want of a buffer.
    fn no_buffers(&self) -> u64 {
        0
    }

    /// Has the server end what it still does for them, in bounded time, and closes all sessions.
    ///
    /// # Errors
    /// Where something may go on in the server.
    fn close(&mut self) -> Result<(), SessionError>;
}
