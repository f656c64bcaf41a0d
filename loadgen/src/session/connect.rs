//! How a session comes about: a socket, TLS where it is asked for, and being let in.

use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::encryption;
use super::error::SessionError;
use super::exchange::{ReadBuffer, SMALL_BUFFER_BYTES, Session};
use super::incoming::Incoming;
use super::socket;
use super::target::Target;
use super::tls::Tls;
use super::transport::Transport;

/// How a session of a protocol is let in: once for each protocol.
pub trait Opens: Incoming {
    /// Does the exchange from the first byte until the session is ready for requests; returns the server's number of it.
    ///
    /// # Errors
    /// As [`Session::connect`].
    fn shake_hands(
        session: &mut Session<Self>,
        target: &Target,
        deadline: Instant,
    ) -> Result<u32, SessionError>;
}

impl<R: Opens> Session<R> {
    /// Connects, authenticates and waits until the server is ready, all within `timeout`. The
    /// session is blocking then.
    ///
    /// # Errors
    /// `Connect` where no server answers, `Auth` where it does not let the user in, `Tls` where
    /// the connection is not encrypted as asked for, `Server` for
    /// another refusal (such as no such database, too many connections, or starting up), `Protocol` where
    /// something else than such a server answers.
    pub fn connect(target: &Target, timeout: Duration) -> Result<Self, SessionError> {
        let deadline = Instant::now() + timeout;
        let stream = socket::open(target, deadline)?;
        let mut session = Self::over(Transport::Plain(stream));
        session.server_pid = R::shake_hands(&mut session, target, deadline)
            .map_err(|error| explained(error, target, R::SERVER))?;
        session.set_blocking()?;
        Ok(session)
    }

    /// Encrypts the stream, at a moment at which both sides have said that they will.
    pub(super) fn encrypt(
        &mut self,
        tls: &Tls,
        target: &Target,
        deadline: Instant,
    ) -> Result<(), SessionError> {
        if let Transport::Plain(socket) = &self.stream {
            self.stream = encryption::encrypt(socket.try_clone()?, tls, target, deadline)?;
        }
        Ok(())
    }

    /// Sends the output and empties it.
    pub(super) fn send_before(
        &mut self,
        target: &Target,
        deadline: Instant,
    ) -> Result<(), SessionError> {
        while !self.flush()? {
            if !socket::wait(&self.stream, PollFlags::OUT, Some(deadline))? {
                return Err(socket::too_slow(target));
            }
        }
        self.output().clear();
        Ok(())
    }

    /// Receives into the buffer; how many bytes.
    pub(super) fn read_before(
        &mut self,
        buffer: &mut ReadBuffer,
        target: &Target,
        deadline: Instant,
    ) -> Result<usize, SessionError> {
        // Who sends without end is too slow as well.
        while Instant::now() < deadline {
            match self.stream.receive(&mut buffer.0, RecvFlags::empty())? {
                Ok(0) | Err(Errno::CONNRESET) => return Err(socket::closed_early(target)),
                Ok(count) => return Ok(count),
                Err(Errno::AGAIN | Errno::INTR) => (),
                Err(error) => return Err(error.into()),
            }
            socket::wait(&self.stream, PollFlags::IN, Some(deadline))?;
        }
        Err(socket::too_slow(target))
    }
}

/// Returns how a connection is to be encrypted, none where it is not: no TLS is asked for, or it is only preferred and
/// the server has none. `remedy`: how a server of that protocol gets it.
///
/// # Errors
/// `Tls` where it is needed and the server has none.
pub(super) fn agreed_tls<'a>(
    target: &'a Target,
    server_has_it: bool,
    remedy: &str,
) -> Result<Option<&'a Tls>, SessionError> {
    match &target.tls {
        Some(tls) if tls.is_needed && !server_has_it => Err(SessionError::Tls(format!(
            "the server at `{}` has no TLS: {remedy}, or ask for none",
            target.place()
        ))),
        tls => Ok(tls.as_ref().filter(|_| server_has_it)),
    }
}

/// What cuts a server's bytes into messages: one for each protocol.
pub(super) trait Cut {
    /// Takes the next message from the front of `input` and returns its type or number, and its body; none when the
    /// input is used up.
    ///
    /// # Errors
    /// `Protocol` for what is no message.
    fn cut(&mut self, input: &mut &[u8]) -> Result<Option<(u8, Vec<u8>)>, SessionError>;
}

/// The messages of a server before the session is ready, one after the other.
pub(super) struct Opening<'a, F> {
    target: &'a Target,
    deadline: Instant,
    framing: F,
    buffer: ReadBuffer,
    /// What has been read, and how much of it is taken.
    received: usize,
    taken: usize,
}

impl<'a, F: Cut> Opening<'a, F> {
    /// Waits for the first message.
    pub(super) fn new(framing: F, target: &'a Target, deadline: Instant) -> Self {
        Self {
            target,
            deadline,
            framing,
            buffer: ReadBuffer::of(SMALL_BUFFER_BYTES),
            received: 0,
            taken: 0,
        }
    }

    /// Sends the session's output and returns the server's next message: its type or number, and its body.
    ///
    /// # Errors
    /// `Connect` where it does not come in time, `Lost` where the connection ends, `Protocol` for what is no message.
    pub(super) fn next<R: Opens>(
        &mut self,
        session: &mut Session<R>,
    ) -> Result<(u8, Vec<u8>), SessionError> {
        session.send_before(self.target, self.deadline)?;
        loop {
            let mut input = &self.buffer.0[self.taken..self.received];
            let before = input.len();
            let message = self.framing.cut(&mut input)?;
            self.taken += before - input.len();
            if let Some(message) = message {
                return Ok(message);
            }
            self.received = session.read_before(&mut self.buffer, self.target, self.deadline)?;
            self.taken = 0;
        }
    }

    /// Returns what has come behind the last message.
    pub(super) fn rest(&self) -> &[u8] {
        &self.buffer.0[self.taken..self.received]
    }

    /// Ends the opening; returns the framing, which may stand within a message, and what is to be read by it.
    pub(super) fn end(self) -> (F, Vec<u8>) {
        let rest = self.rest().to_vec();
        (self.framing, rest)
    }
}

fn explained(error: SessionError, target: &Target, server: &str) -> SessionError {
    match error {
        SessionError::Protocol(text) => SessionError::Protocol(format!(
            "what answers at `{}` is no {server} server: {text}",
            target.place()
        )),
        other => other,
    }
}
