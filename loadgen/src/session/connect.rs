//! How a session comes about: a socket, TLS where it is asked for, and being let in.

use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::error::SessionError;
use super::exchange::{Incoming, ReadBuffer, Session};
use super::socket;
use super::target::Target;
use super::tls::{self, Tls};
use super::transport::Transport;

impl<R: Incoming> Session<R> {
    /// Connects, authenticates and waits until the server is ready, all within `timeout`. The
    /// session is blocking then.
    ///
    /// # Errors
    /// `Connect` where no server answers, `Auth` where it does not let the user in, `Tls` where
    /// the connection is not encrypted as asked for, `Server` for
    /// another refusal (such as no such database, too many connections, or starting up), `Protocol` where
    /// something else than such a server answers.
    pub fn connect(target: &Target, timeout: Duration) -> Result<Self, SessionError> {
        let timeout = target.timeout.map_or(timeout, |own| own.min(timeout));
        let deadline = Instant::now() + timeout;
        let stream = socket::open(target, deadline)?;
        let mut session = Self::over(Transport::Plain(stream));
        session.server_pid = R::shake_hands(&mut session, target, deadline)
            .map_err(|error| explained(error, target, R::SERVER))?;
        session.set_blocking()?;
        Ok(session)
    }

    /// The same with the first target that lets in. As with libpq, the next one is tried where one
    /// cannot be reached or is not ready; one that refuses the user or the database, or whose
    /// certificate is not accepted, ends it. The targets that are left share the time that is left.
    ///
    /// # Errors
    /// As [`connect`](Self::connect); where none could be reached, `Connect` with all their reasons.
    pub fn connect_any(targets: &[Target], timeout: Duration) -> Result<Self, SessionError> {
        if let [target] = targets {
            return Self::connect(target, timeout);
        }
        let deadline = Instant::now() + timeout;
        let mut reasons = Vec::new();
        for (index, target) in targets.iter().enumerate() {
            let left = targets.len() - index;
            let time_left = deadline.saturating_duration_since(Instant::now());
            let share = time_left / u32::try_from(left).unwrap_or(u32::MAX);
            match Self::connect(target, share) {
                Err(SessionError::Connect(reason) | SessionError::Lost(reason)) => {
                    reasons.push(reason);
                }
                Err(SessionError::Server(error)) if R::is_not_ready(&error) => {
                    reasons.push(format!("{}: {error}", socket::place(target)));
                }
                outcome => {
                    return outcome.map(|mut session| {
                        session.target = index;
                        session
                    });
                }
            }
        }
        Err(SessionError::Connect(format!(
            "none of {} hosts lets us in: {}",
            targets.len(),
            reasons.join("; ")
        )))
    }

    /// Makes the stream an encrypted one, at a moment at which both sides have said that they will.
    pub(super) fn encrypt(
        &mut self,
        tls: &Tls,
        target: &Target,
        deadline: Instant,
    ) -> Result<(), SessionError> {
        if let Transport::Plain(socket) = &self.stream {
            self.stream = tls::encrypt(socket.try_clone()?, tls, target, deadline)?;
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

fn explained(error: SessionError, target: &Target, server: &str) -> SessionError {
    match error {
        SessionError::Protocol(text) => SessionError::Protocol(format!(
            "what answers at `{}` is no {server} server: {text}",
            socket::place(target)
        )),
        other => other,
    }
}
