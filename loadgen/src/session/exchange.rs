//! A session: sends requests and takes answers, whichever protocol they are in.
//!
//! The connection loop is our own, because its cost is what the generator is for: on the hot path
//! a session sends, receives and hands the bytes to its reader, allocates nothing and formats
//! nothing.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use rustix::event::PollFlags;
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::RecvFlags;

use super::capture::{Capture, Captured};
use super::error::{ServerError, SessionError};
use super::incoming::{Bulk, Incoming, Reply};
use super::socket;
use super::transport::Transport;

/// The size of the buffer that a worker reads into.
const READ_BUFFER_BYTES: usize = 64 << 10;
/// The size of the buffer for requests that are made before or beside the hot path.
pub(super) const SMALL_BUFFER_BYTES: usize = 8 << 10;
/// The most reads of one [`Session::receive`]: whoever sends without end does not keep a worker from its clock.
const READS_AT_ONCE_MAX: u32 = 16;

/// A buffer to read into, one for all sessions of a worker.
pub struct ReadBuffer(pub(super) Box<[u8]>);

impl ReadBuffer {
    /// Makes a buffer of 64 KiB.
    #[must_use]
    pub fn new() -> Self {
        Self::of(READ_BUFFER_BYTES)
    }

    pub(super) fn of(bytes: usize) -> Self {
        Self(vec![0; bytes].into_boxed_slice())
    }
}

impl Default for ReadBuffer {
    fn default() -> Self {
        Self::new()
    }
}

/// By what another connection tells a server which session is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelKey {
    /// The server's process, or its number of the connection.
    pub(super) server_pid: u32,
    /// What PostgreSQL wants to hear besides.
    pub(super) secret: u32,
}

/// A connection to a server that has been let in.
#[derive(Debug)]
pub struct Session<R> {
    pub(super) stream: Transport,
    pub(super) blocking: bool,
    /// Whether what comes is given to it by [`take`](Session::take): the stream is not read here.
    fed: bool,
    pub(super) server_pid: u32,
    /// What PostgreSQL wants to hear of who cancels; 0 with MySQL.
    pub(super) secret: u32,
    pub(super) output: Vec<u8>,
    /// How much of the output has been sent.
    pub(super) sent: usize,
    pub(super) reader: R,
    /// When answers that are waited for outside the hot path must be there.
    deadline: Option<Instant>,
}

impl<R: Incoming> Session<R> {
    /// Makes a session over a stream that does not block, nothing said yet.
    pub(super) fn over(stream: Transport) -> Self {
        Self {
            stream,
            blocking: false,
            fed: false,
            server_pid: 0,
            secret: 0,
            output: Vec::with_capacity(1024),
            sent: 0,
            reader: R::new(),
            deadline: None,
        }
    }

    /// Returns the process number of the server's backend, or its number of the connection.
    #[must_use]
    pub fn server_pid(&self) -> u32 {
        self.server_pid
    }

    /// Returns by what another connection may end what this one does.
    pub(crate) fn cancel_key(&self) -> CancelKey {
        CancelKey {
            server_pid: self.server_pid,
            secret: self.secret,
        }
    }

    /// Runs SQL as a text and keeps its rows and notices. Waits for the answer.
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

    /// Returns the bytes of the next request: the caller clears it and encodes into it. Asking for it
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
        self.reader.ask_by(request);
        let mut sent = 0;
        let whole = self.send_from(request, &mut sent)?;
        if !whole {
            self.keep(&request[sent..]);
        }
        Ok(whole)
    }

    /// Takes note of a request that is sent elsewhere.
    #[inline]
    pub fn ask_by(&mut self, request: &[u8]) {
        self.reader.ask_by(request);
    }

    /// Keeps the rest of a request, for [`flush`](Self::flush).
    pub fn keep(&mut self, rest: &[u8]) {
        self.sent = 0;
        self.output.clear();
        self.output.extend_from_slice(rest);
    }

    /// Takes note that what was sent last has so many answers.
    pub fn await_answers(&mut self, answers: u32) {
        self.reader.await_answers(answers);
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
                // What the server has said last is given to it, and then the end.
                Err(Errno::PIPE | Errno::CONNRESET) if self.fed => *sent = bytes.len(),
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
            // A stream that gave less than there was room for is empty: no need to ask again. What has been said of rows is
            // to be counted at once.
            if count < buffer.0.len() && (!self.blocking || reply.progress.follows()) {
                break;
            }
        }
        Ok(false)
    }

    /// From now on, what comes is given to it by [`take`](Self::take).
    pub fn set_fed(&mut self) {
        self.fed = true;
    }

    /// Takes bytes of the stream that were received elsewhere, or its end: no bytes, or an error. True when `reply` is
    /// complete.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    #[inline]
    pub fn take(
        &mut self,
        bytes: Result<&[u8], Errno>,
        reply: &mut Reply,
    ) -> Result<bool, SessionError> {
        match bytes {
            Ok([]) | Err(Errno::CONNRESET) => Err(self.lost(reply)),
            Ok(bytes) => self.reader.feed(bytes, reply),
            Err(error) => Err(error.into()),
        }
    }

    /// Switches on or off whether [`receive`](Self::receive) keeps columns, rows and notices of the answers.
    /// Switching it on or off forgets what was kept.
    pub fn capture(&mut self, on: bool) {
        self.reader.capture(on);
    }

    /// Returns what has been kept since the capture was switched on or last taken.
    pub fn take_captured(&mut self) -> Captured {
        self.reader.take_captured()
    }

    /// Sets until when requests that are waited for wait, on a session that is not blocking; `None`: without end. They fail
    /// with `Lost` then.
    pub fn limit(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Says goodbye and closes.
    pub fn close(mut self) {
        self.say_goodbye();
    }

    /// Says goodbye, so that it can be closed. A server that is gone already does not mind.
    pub fn say_goodbye(&mut self) {
        let output = self.output();
        output.clear();
        R::goodbye(output);
        let _ = self.flush();
    }

    /// Offers the data of a bulk load by that SQL; returns when the server waits for them.
    ///
    /// # Errors
    /// `Server` where the server refuses it (MySQL's 3948: `local_infile` is off).
    pub(crate) fn bulk_begin(&mut self, sql: &str) -> Result<(), SessionError> {
        self.encode_query(sql);
        *self.reader.bulk() = Bulk::Offered;
        self.send_all()?;
        let (mut buffer, mut reply) = (ReadBuffer::of(SMALL_BUFFER_BYTES), Reply::default());
        while *self.reader.bulk() == Bulk::Offered {
            let received = self.receive_once(&mut buffer, &mut reply, RecvFlags::DONTWAIT)?;
            if received.is_none() {
                socket::wait(&self.stream, PollFlags::IN, None)?;
            } else if matches!(received, Some((true, _))) {
                *self.reader.bulk() = Bulk::Unexpected;
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

    pub(super) fn encode_query(&mut self, sql: &str) {
        let output = self.output();
        output.clear();
        R::text(output, sql.as_bytes());
    }

    /// Sends the output and waits for the whole answer, whether the stream is blocking or not.
    pub(super) fn answer(&mut self) -> Result<Capture<R::Column>, SessionError> {
        match self.answers()? {
            (_, Some(error)) => Err(SessionError::Server(error)),
            (kept, None) => Ok(kept),
        }
    }

    /// Does the same, and returns what was kept before an error of the server, too.
    pub(super) fn answers(
        &mut self,
    ) -> Result<(Capture<R::Column>, Option<ServerError>), SessionError> {
        let outer = self.reader.kept().replace(Box::default());
        let outcome = self.exchange();
        let kept = std::mem::replace(self.reader.kept(), outer);
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

    /// Reads the stream once; returns whether the answer is complete, and the bytes that came; `None` if
    /// nothing was there.
    #[inline]
    pub(super) fn receive_once(
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

    pub(super) fn send_all(&mut self) -> Result<(), SessionError> {
        while !self.flush()? {
            if !socket::wait(&self.stream, PollFlags::OUT, self.deadline)? {
                return Err(no_answer());
            }
        }
        Ok(())
    }

    /// Returns the error of a connection that has ended, with the server's reason.
    #[cold]
    fn lost(&mut self, reply: &mut Reply) -> SessionError {
        if let Some(parting) = self.reader.take_parting() {
            reply.error = Some(parting);
        }
        SessionError::Lost(match &reply.error {
            Some(reason) => format!("the server closed the connection: {reason}"),
            None => "the server closed the connection without a reason: see its log".to_owned(),
        })
    }

    /// Returns the same where it shows at sending: the reason may still lie in the stream.
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

impl<R> AsFd for Session<R> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn no_answer() -> SessionError {
    SessionError::Lost("the server did not answer in time".to_owned())
}

/// Refuses a text with a NUL: a protocol may end it there, and it would be read as two messages.
pub(super) fn refuse_nul(text: &str) -> Result<(), SessionError> {
    if text.contains('\0') {
        return Err(SessionError::Protocol(
            "a text with a NUL cannot be sent".to_owned(),
        ));
    }
    Ok(())
}
