//! How a session comes about: a socket, TLS where it is asked for, and being let in.

use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::auth::Handshake;
use super::certificate;
use super::error::SessionError;
use super::framing::Framing;
use super::reader::{Reader, Reply};
use super::transport::Transport;
use super::{
    PostgresSession, ReadBuffer, SMALL_BUFFER_BYTES, Target, encode, refuse_nul, socket, tls,
};

/// The SQLSTATE of a server that starts, ends or recovers: another may let us in.
const CANNOT_CONNECT_NOW: &str = "57P03";

impl PostgresSession {
    /// Connects, authenticates and waits until the server is ready, all within `timeout`. The
    /// session is blocking then.
    ///
    /// # Errors
    /// `Connect` where no server answers, `Auth` where it does not let the user in, `Tls` where
    /// the connection is not encrypted as asked for, `Server` for
    /// another refusal (such as 3D000, no such database, or 57P03, starting up), `Protocol` where
    /// something else than PostgreSQL answers.
    pub fn connect(target: &Target, timeout: Duration) -> Result<Self, SessionError> {
        let timeout = target.timeout.map_or(timeout, |own| own.min(timeout));
        let deadline = Instant::now() + timeout;
        let mut session = Self {
            stream: open(target, deadline).map_err(|error| explained(error, target))?,
            blocking: false,
            server_pid: 0,
            output: Vec::with_capacity(1024),
            sent: 0,
            reader: Reader::new(Framing::new()),
            deadline: None,
        };
        session
            .handshake(target, deadline)
            .map_err(|error| explained(error, target))?;
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
        for (target, left) in targets.iter().zip((1..=targets.len()).rev()) {
            let time_left = deadline.saturating_duration_since(Instant::now());
            let share = time_left / u32::try_from(left).unwrap_or(u32::MAX);
            match Self::connect(target, share) {
                Err(SessionError::Connect(reason) | SessionError::Lost(reason)) => {
                    reasons.push(reason);
                }
                Err(SessionError::Server(error)) if error.code_text() == CANNOT_CONNECT_NOW => {
                    reasons.push(format!("{}: {error}", socket::place(target)));
                }
                outcome => return outcome,
            }
        }
        Err(SessionError::Connect(format!(
            "none of {} hosts lets us in: {}",
            targets.len(),
            reasons.join("; ")
        )))
    }

    /// The exchange from the startup message on; the stream is not blocking yet.
    fn handshake(&mut self, target: &Target, deadline: Instant) -> Result<(), SessionError> {
        let parameters = [
            ("user", target.user.as_str()),
            ("database", &target.database),
            ("application_name", &target.application_name),
            ("client_encoding", "UTF8"),
        ];
        for (_, value) in parameters {
            refuse_nul(value)?;
        }
        encode::startup(&mut self.output, &parameters);
        let mut handshake = Handshake::new(&target.user, target.password.as_deref());
        handshake.binding = self.binding();
        let (mut framing, mut buffer) = (Framing::new(), ReadBuffer::of(SMALL_BUFFER_BYTES));
        loop {
            self.send_before(target, deadline)?;
            let count = self.read_before(&mut buffer, target, deadline)?;
            let mut input = &buffer.0[..count];
            while let Some(message) = framing.next(&mut input, |_| true)? {
                if handshake.take(message.tag, message.body, &mut self.output)? {
                    self.server_pid = handshake.server_pid;
                    // What came after it is no answer; the read may have ended within a message.
                    self.reader = Reader::new(framing);
                    return self.reader.feed(input, &mut Reply::default()).map(drop);
                }
            }
        }
    }

    /// What the proof of a password can be bound to: the certificate that the server showed.
    fn binding(&self) -> Option<Vec<u8>> {
        let Transport::Tls(stream) = &self.stream else {
            return None;
        };
        certificate::end_point(stream.connection.peer_certificates()?.first()?)
    }

    /// Sends the output and empties it.
    fn send_before(&mut self, target: &Target, deadline: Instant) -> Result<(), SessionError> {
        while !self.flush()? {
            if !socket::wait(&self.stream, PollFlags::OUT, Some(deadline))? {
                return Err(socket::too_slow(target));
            }
        }
        self.output().clear();
        Ok(())
    }

    fn read_before(
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

/// A stream to the target's server, encrypted where the target asks for it.
fn open(target: &Target, deadline: Instant) -> Result<Transport, SessionError> {
    let stream = socket::open(target, deadline)?;
    match &target.tls {
        None => Ok(Transport::Plain(stream)),
        Some(tls) => tls::encrypt(stream, tls, target, deadline),
    }
}

fn explained(error: SessionError, target: &Target) -> SessionError {
    match error {
        SessionError::Protocol(text) => SessionError::Protocol(format!(
            "what answers at `{}` is no PostgreSQL server: {text}",
            socket::place(target)
        )),
        other => other,
    }
}
