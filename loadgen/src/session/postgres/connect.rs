//! How a session is let in: TLS where it is asked for, then the exchange of authentication.

use std::time::Instant;

use super::auth::Handshake;
use super::framing::Framing;
use super::reader::Reader;
use super::{PostgresSession, certificate};
use crate::job::ChannelBinding;
use crate::session::connect::{Cut, Opening, Opens, agreed_tls};
use crate::session::error::SessionError;
use crate::session::exchange::{CancelKey, ReadBuffer, SMALL_BUFFER_BYTES, refuse_nul};
use crate::session::incoming::{Incoming, Reply};
use crate::session::password::Privacy;
use crate::session::socket;
use crate::session::target::Target;
use crate::session::transport::{TlsStream, Transport};
use crate::wire::postgres;

impl Opens for Reader {
    fn shake_hands(
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
            ("options", &target.options),
        ];
        // A pooler may refuse what is not said.
        let said = parameters.len() - usize::from(target.options.is_empty());
        let parameters = &parameters[..said];
        for (_, value) in parameters {
            refuse_nul(value)?;
        }
        postgres::startup(&mut session.output, parameters);
        let mut handshake = Handshake::new(&target.user, target.password.as_deref());
        if let (Some(tls), Transport::Tls(stream)) = (&target.tls, &session.stream) {
            handshake.binding = binding(tls.channel_binding, stream)?;
            handshake.wish = tls.channel_binding;
        }
        handshake.privacy = Privacy::of(&session.stream, target);
        let mut opening = Opening::new(Framing::new(), target, deadline);
        loop {
            let (tag, body) = opening.next(session)?;
            if handshake.take(tag, &body, &mut session.output)? {
                let (framing, rest) = opening.end();
                session.reader = Reader::new(framing);
                session.reader.escapes = handshake.escapes;
                session.reader.feed(&rest, &mut Reply::default())?;
                session.secret = handshake.secret;
                return Ok(handshake.server_pid);
            }
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

/// Returns what the proof of a password is bound to: the certificate that the server showed, if it can be.
///
/// # Errors
/// `Tls` where it has to be.
fn binding(wish: ChannelBinding, stream: &TlsStream) -> Result<Option<Vec<u8>>, SessionError> {
    if wish == ChannelBinding::Disable {
        return Ok(None);
    }
    let shown = stream.connection.peer_certificates();
    let hash = shown.and_then(|chain| certificate::end_point(chain.first()?));
    if hash.is_none() && wish == ChannelBinding::Require {
        return Err(SessionError::Tls(
            "the server's certificate is signed in a way that has no hash to bind a password to, \
             as Ed25519: give it one of RSA or ECDSA, or leave out `channel_binding=require`"
                .to_owned(),
        ));
    }
    Ok(hash)
}

/// Encrypts the session where the target asks for it, if the server has TLS or it is needed.
fn encrypt_as_asked(
    session: &mut PostgresSession,
    target: &Target,
    deadline: Instant,
) -> Result<(), SessionError> {
    let Some(tls) = &target.tls else {
        return Ok(());
    };
    let has_tls = tls.is_direct || has_tls(session, target, deadline)?;
    let remedy = "set `ssl = on` in its postgresql.conf";
    if let Some(tls) = agreed_tls(target, has_tls, remedy)? {
        session.encrypt(tls, target, deadline)?;
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
