//! How a session is let in: TLS where it is asked for, then the exchange of authentication.

use std::time::Instant;

use super::auth::Handshake;
use super::framing::Framing;
use super::reader::Reader;
use super::{PostgresSession, certificate};
use crate::session::cancel::CancelKey;
use crate::session::connect::{Cut, Opening, agreed_tls};
use crate::session::error::SessionError;
use crate::session::exchange::{ReadBuffer, SMALL_BUFFER_BYTES, refuse_nul};
use crate::session::incoming::{Incoming, Reply};
use crate::session::password::Privacy;
use crate::session::socket;
use crate::session::target::Target;
use crate::session::transport::Transport;
use crate::wire::postgres;

/// Does the exchange from the first message on; the stream is not blocking yet. Returns the backend's process number.
pub(super) fn shake_hands(
    session: &mut PostgresSession,
    target: &Target,
    deadline: Instant,
) -> Result<u32, SessionError> {
    encrypt_as_asked(session, target, deadline)?;
    let parameters = [
        ("user", target.user.as_str()),
        ("database", &target.database),
        ("application_name", &target.application_name),
        ("client_encoding", "UTF8"),
    ];
    for (_, value) in parameters {
        refuse_nul(value)?;
    }
    postgres::startup(&mut session.output, &parameters);
    let mut handshake = Handshake::new(&target.user, target.password.as_deref());
    handshake.binding = binding(&session.stream);
    handshake.privacy = Privacy::of(&session.stream, target);
    let mut opening = Opening::new(Framing::new(), target, deadline);
    loop {
        let (tag, body) = opening.next(session)?;
        if handshake.take(tag, &body, &mut session.output)? {
            let (framing, rest) = opening.end();
            session.reader = Reader::new(framing);
            session.reader.feed(&rest, &mut Reply::default())?;
            session.secret = handshake.secret;
            return Ok(handshake.server_pid);
        }
    }
}

impl Cut for Framing {
    fn cut(&mut self, input: &mut &[u8]) -> Result<Option<(u8, Vec<u8>)>, SessionError> {
        let message = self.next(input, |_| true)?;
        Ok(message.map(|message| (message.tag, message.body.to_vec())))
    }
}

impl PostgresSession {
    /// Asks the server, over a connection of its own, to end what it does for another session.
    ///
    /// # Errors
    /// `Connect` or `Tls` where it cannot be asked.
    pub(crate) fn ask_to_cancel(
        key: CancelKey,
        target: &Target,
        deadline: Instant,
    ) -> Result<Self, SessionError> {
        let mut session = Self::over(Transport::Plain(socket::open(target, deadline)?));
        encrypt_as_asked(&mut session, target, deadline)?;
        postgres::cancel_request(&mut session.output, key.server_pid, key.secret);
        session.send_before(target, deadline)?;
        Ok(session)
    }

    /// Waits until the server has taken a request to cancel. It says nothing, but closes the connection then.
    ///
    /// # Errors
    /// `Connect` where that does not come about in time.
    pub(crate) fn wait_for_cancel(
        mut self,
        target: &Target,
        deadline: Instant,
    ) -> Result<(), SessionError> {
        let mut buffer = ReadBuffer::of(SMALL_BUFFER_BYTES);
        match self.read_before(&mut buffer, target, deadline) {
            Ok(_) | Err(SessionError::Lost(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Returns what the proof of a password can be bound to: the certificate that the server showed.
fn binding(stream: &Transport) -> Option<Vec<u8>> {
    let Transport::Tls(stream) = stream else {
        return None;
    };
    certificate::end_point(stream.connection.peer_certificates()?.first()?)
}

/// Encrypts the session where the target asks for it, if the server has TLS or it is needed.
fn encrypt_as_asked(
    session: &mut PostgresSession,
    target: &Target,
    deadline: Instant,
) -> Result<(), SessionError> {
    if target.tls.is_some() {
        let has_tls = has_tls(session, target, deadline)?;
        let remedy = "set `ssl = on` in its postgresql.conf";
        if let Some(tls) = agreed_tls(target, has_tls, remedy)? {
            session.encrypt(tls, target, deadline)?;
        }
    }
    Ok(())
}

/// Sends an `SSLRequest` and takes the one byte that answers it. No byte more: what follows a yes
/// is TLS's, and nobody may have put something in front of it.
fn has_tls(
    session: &mut PostgresSession,
    target: &Target,
    deadline: Instant,
) -> Result<bool, SessionError> {
    postgres::ssl_request(&mut session.output);
    session.send_before(target, deadline)?;
    let mut answer = ReadBuffer::of(1);
    session.read_before(&mut answer, target, deadline)?;
    match *answer.0 {
        [b'S'] => Ok(true),
        [b'N'] => Ok(false),
        _ => Err(SessionError::Protocol(
            "it does not answer an SSLRequest".to_owned(),
        )),
    }
}
