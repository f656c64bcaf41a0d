//! A session with a PostgreSQL server over protocol 3.0.
//!
//! The connection loop is our own, because its cost is what the generator is for: on the hot path
//! a session reads message headers, the command tag and errors, allocates nothing and formats
//! nothing. (PostgreSQL documentation, chapter "Frontend/Backend Protocol".)

mod auth;
mod capture;
mod certificate;
mod connect;
pub mod encode;
mod error;
pub(crate) mod framing;
mod password;
mod reader;
mod socket;
mod target;
mod tls;
mod transport;

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use rustix::event::PollFlags;
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::RecvFlags;

pub use auth::Handshake;
pub use capture::Captured;
pub use error::{ServerError, SessionError};
pub use framing::{Framing, Message};
pub use password::resolve;
pub use reader::{Reader, Reply};
pub use target::Target;
pub use tls::Tls;

use capture::Capture;
use reader::Copy;
use transport::Transport;

/// The size of the buffer that a worker reads into.
const READ_BUFFER_BYTES: usize = 64 << 10;
/// The size of the buffer for requests that are made before or beside the hot path.
const SMALL_BUFFER_BYTES: usize = 8 << 10;
/// About how much is asked to be parsed at once. A server that waits until its answers are taken takes nothing itself,
/// so this has to fit into what lies between it and us.
const PARSED_BYTES_MAX: usize = 8 << 10;
/// The most reads of one [`PostgresSession::receive`]: whoever sends without end does not keep a worker from its clock.
const READS_AT_ONCE_MAX: u32 = 16;

/// A buffer to read into, one for all sessions of a worker.
pub struct ReadBuffer(Box<[u8]>);

impl ReadBuffer {
    /// A buffer of 64 KiB.
    #[must_use]
    pub fn new() -> Self {
        Self::of(READ_BUFFER_BYTES)
    }

    fn of(bytes: usize) -> Self {
        Self(vec![0; bytes].into_boxed_slice())
    }
}

impl Default for ReadBuffer {
    fn default() -> Self {
        Self::new()
    }
}

/// A connection to a PostgreSQL server that has been let in.
#[derive(Debug)]
pub struct PostgresSession {
    stream: Transport,
    blocking: bool,
    server_pid: u32,
    output: Vec<u8>,
    /// How much of the output has been sent.
    sent: usize,
    reader: Reader,
    /// When answers that are waited for outside the hot path must be there.
    deadline: Option<Instant>,
}

impl PostgresSession {
    /// The process number of the server's backend.
    #[must_use]
    pub fn server_pid(&self) -> u32 {
        self.server_pid
    }

    /// Parses SQL as a statement of that name; returns the types' OIDs of its parameters. Waits
    /// for the answer.
    ///
    /// # Errors
    /// `Server` where the server refuses it; the session can be used further then.
    pub fn prepare(&mut self, name: &str, sql: &str) -> Result<Vec<u32>, SessionError> {
        let mut types = Vec::new();
        self.prepare_all(&[(name, sql)], &mut types)?;
        Ok(types.pop().unwrap_or_default())
    }

    /// Parses statements, each a name and SQL, many to a round trip; appends the types' OIDs of each one's
    /// parameters to `types`. Waits for the answers.
    ///
    /// # Errors
    /// `Server` where the server refuses one, which is the first that `types` lacks; the session can be used further
    /// then.
    pub fn prepare_all(
        &mut self,
        statements: &[(&str, &str)],
        types: &mut Vec<Vec<u32>>,
    ) -> Result<(), SessionError> {
        let mut rest = statements.iter().peekable();
        while rest.peek().is_some() {
            let output = self.output();
            output.clear();
            while let Some((name, sql)) = rest.next_if(|(name, sql)| {
                output.is_empty() || output.len() + name.len() + sql.len() < PARSED_BYTES_MAX
            }) {
                refuse_nul(name)?;
                refuse_nul(sql)?;
                encode::parse_named(output, name.as_bytes(), sql.as_bytes());
                encode::describe_statement(output, name.as_bytes());
            }
            encode::sync(output);
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

    /// Runs SQL by the simple protocol and keeps its rows and notices. Waits for the answer.
    ///
    /// # Errors
    /// `Server` where the server refuses it; the session can be used further then.
    pub fn query(&mut self, sql: &str) -> Result<Captured, SessionError> {
        refuse_nul(sql)?;
        self.encode_query(sql);
        Ok(self.answer()?.captured)
    }

    /// Makes [`flush`](Self::flush) and [`receive`](Self::receive) return at once.
    ///
    /// # Errors
    /// Where the operating system refuses it.
    pub fn set_nonblocking(&mut self) -> Result<(), SessionError> {
        ioctl_fionbio(&self.stream, true)?;
        self.blocking = false;
        Ok(())
    }

    /// Makes [`flush`](Self::flush) and [`receive`](Self::receive) wait.
    ///
    /// # Errors
    /// Where the operating system refuses it.
    pub fn set_blocking(&mut self) -> Result<(), SessionError> {
        ioctl_fionbio(&self.stream, false)?;
        self.blocking = true;
        Ok(())
    }

    /// The bytes of the next request: the caller clears it and encodes into it. Asking for it
    /// means that what was there before has been sent or is given up.
    #[inline]
    pub fn output(&mut self) -> &mut Vec<u8> {
        self.sent = 0;
        self.reader.ask();
        &mut self.output
    }

    /// Sends a request that the caller has encoded elsewhere, so that sessions of a worker can share
    /// one buffer, which stays in the processor's cache. True when all of it is sent; else the rest
    /// is kept here, for [`flush`](Self::flush).
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    #[inline]
    pub fn send(&mut self, request: &[u8]) -> Result<bool, SessionError> {
        self.reader.ask();
        let mut sent = 0;
        let whole = self.send_from(request, &mut sent)?;
        if !whole {
            self.sent = 0;
            self.output.clear();
            self.output.extend_from_slice(&request[sent..]);
        }
        Ok(whole)
    }

    /// Sends what is in the output. True when all of it is sent (once more does nothing then);
    /// false when the stream is full (or, if blocking, a signal came): call again when it is
    /// writable.
    ///
    /// # Errors
    /// `Lost` where the server has closed the connection, with its reason if it gave one.
    pub fn flush(&mut self) -> Result<bool, SessionError> {
        let (output, mut sent) = (std::mem::take(&mut self.output), self.sent);
        let outcome = self.send_from(&output, &mut sent);
        (self.output, self.sent) = (output, sent);
        outcome
    }

    /// Sends bytes from `sent` on, which it moves; true when all are sent.
    #[inline]
    fn send_from(&mut self, bytes: &[u8], sent: &mut usize) -> Result<bool, SessionError> {
        while *sent < bytes.len() {
            match self.stream.send(&bytes[*sent..])? {
                Ok(count) => *sent += count,
                Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(self.lost_at_send()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Reads what is there and takes it into account. True when the server is ready for the next
    /// request and `reply` is complete; false when the rest is still to come (if blocking: when a
    /// signal came, or it is a long one: call again).
    ///
    /// # Errors
    /// `Lost` where the server has closed the connection: if it gave a reason, that is in the text
    /// and in `reply.error`; `Protocol` for what does not belong here. The session is over then.
    #[inline]
    pub fn receive(
        &mut self,
        buffer: &mut ReadBuffer,
        reply: &mut Reply,
    ) -> Result<bool, SessionError> {
        for _ in 0..READS_AT_ONCE_MAX {
            let Some((ready, count)) = self.receive_once(buffer, reply, RecvFlags::empty())? else {
                return Ok(false);
            };
            if ready {
                return Ok(true);
            }
            // A stream that gave less than there was room for is empty: no need to ask again.
            if !self.blocking && count < buffer.0.len() {
                break;
            }
        }
        Ok(false)
    }

    /// While on, [`receive`](Self::receive) keeps columns, rows and notices of the answers.
    /// Switching it on or off forgets what was kept.
    pub fn capture(&mut self, on: bool) {
        self.reader.capture(on);
    }

    /// What has been kept since the capture was switched on or last taken.
    pub fn take_captured(&mut self) -> Captured {
        self.reader.take_captured()
    }

    /// Until when [`prepare`](Self::prepare) and [`query`](Self::query) wait, on a session that is not
    /// blocking; `None`: without end. They fail with `Lost` then.
    pub fn limit(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Says goodbye and closes. A server that is gone already does not mind.
    pub fn close(mut self) {
        let output = self.output();
        output.clear();
        encode::terminate(output);
        let _ = self.flush();
    }

    /// Asks for a COPY into the server by that SQL; returns when it waits for data.
    ///
    /// # Errors
    /// `Server` where the server refuses it.
    pub(crate) fn copy_begin(&mut self, sql: &str) -> Result<(), SessionError> {
        self.encode_query(sql);
        self.reader.copy = Copy::Asked;
        self.send_all()?;
        let (mut buffer, mut reply) = (ReadBuffer::of(SMALL_BUFFER_BYTES), Reply::default());
        while self.reader.copy == Copy::Asked {
            let received = self.receive_once(&mut buffer, &mut reply, RecvFlags::DONTWAIT)?;
            if received.is_none() {
                socket::wait(&self.stream, PollFlags::IN, None)?;
            } else if matches!(received, Some((true, _))) {
                self.reader.copy = Copy::Unexpected;
                let text = format!("the server did not ask for data after `{sql}`");
                return Err(reply
                    .error
                    .map_or(SessionError::Protocol(text), SessionError::Server));
            }
        }
        // It may have come right behind the request for data.
        reply
            .error
            .map_or(Ok(()), |error| Err(SessionError::Server(error)))
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
        self.reader.copy = Copy::Unexpected;
        Ok(self.answer()?.captured.affected)
    }

    fn encode_query(&mut self, sql: &str) {
        let output = self.output();
        output.clear();
        let mark = encode::simple_begin(output);
        output.extend_from_slice(sql.as_bytes());
        encode::simple_end(output, mark);
    }

    /// Sends the output and waits for the whole answer, whether the stream is blocking or not.
    fn answer(&mut self) -> Result<Capture, SessionError> {
        match self.answers()? {
            (_, Some(error)) => Err(SessionError::Server(error)),
            (kept, None) => Ok(kept),
        }
    }

    /// The same, with what was kept before an error of the server.
    fn answers(&mut self) -> Result<(Capture, Option<ServerError>), SessionError> {
        let outer = self.reader.capture.replace(Box::default());
        let outcome = self.exchange();
        let kept = std::mem::replace(&mut self.reader.capture, outer);
        Ok((kept.map(|kept| *kept).unwrap_or_default(), outcome?.error))
    }

    fn exchange(&mut self) -> Result<Reply, SessionError> {
        self.send_all()?;
        let (mut buffer, mut reply) = (ReadBuffer::of(SMALL_BUFFER_BYTES), Reply::default());
        while !self.receive(&mut buffer, &mut reply)? {
            if !self.blocking && !socket::wait(&self.stream, PollFlags::IN, self.deadline)? {
                return Err(no_answer());
            }
        }
        Ok(reply)
    }

    /// One read of the stream: whether the answer is complete, and the bytes that came; `None` if
    /// nothing was there.
    #[inline]
    fn receive_once(
        &mut self,
        buffer: &mut ReadBuffer,
        reply: &mut Reply,
        flags: RecvFlags,
    ) -> Result<Option<(bool, usize)>, SessionError> {
        match self.stream.receive(&mut buffer.0, flags)? {
            Ok(0) | Err(Errno::CONNRESET) => Err(self.lost(reply)),
            Ok(count) => Ok(Some((self.reader.feed(&buffer.0[..count], reply)?, count))),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn send_all(&mut self) -> Result<(), SessionError> {
        while !self.flush()? {
            if !socket::wait(&self.stream, PollFlags::OUT, self.deadline)? {
                return Err(no_answer());
            }
        }
        Ok(())
    }

    /// The error of a connection that has ended, with the server's reason.
    #[cold]
    fn lost(&mut self, reply: &mut Reply) -> SessionError {
        if let Some(parting) = self.reader.parting.take() {
            reply.error = Some(parting);
        }
        SessionError::Lost(match &reply.error {
            Some(reason) => format!("the server closed the connection: {reason}"),
            None => "the server closed the connection without a reason: see its log".to_owned(),
        })
    }

    /// The same where it shows at sending: the reason may still lie in the stream.
    #[cold]
    fn lost_at_send(&mut self) -> SessionError {
        let (mut buffer, mut reply) = (ReadBuffer::of(SMALL_BUFFER_BYTES), Reply::default());
        while let Ok(Ok(count @ 1..)) = self.stream.receive(&mut buffer.0, RecvFlags::DONTWAIT) {
            if self.reader.feed(&buffer.0[..count], &mut reply).is_err() {
                break;
            }
        }
        self.lost(&mut reply)
    }
}

impl AsFd for PostgresSession {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn no_answer() -> SessionError {
    SessionError::Lost("the server did not answer in time".to_owned())
}

/// A text of the protocol ends at its first NUL: one inside would be read as two messages.
fn refuse_nul(text: &str) -> Result<(), SessionError> {
    if text.contains('\0') {
        return Err(SessionError::Protocol(
            "a text with a NUL cannot be sent".to_owned(),
        ));
    }
    Ok(())
}
