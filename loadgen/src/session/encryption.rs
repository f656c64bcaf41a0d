//! The exchange that turns a socket into an encrypted stream.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConnection};

use super::error::{SessionError, one_line};
use super::socket;
use super::target::Target;
use super::tls::{POSTGRESQL, Tls};
use super::transport::{TlsStream, Transport, not_trusted};

/// Makes TLS over a socket that does not block, once the server has said that it will.
///
/// # Errors
/// `Tls` where the server shows a certificate that is not accepted, `Lost` where it goes away.
pub(super) fn encrypt(
    stream: OwnedFd,
    tls: &Tls,
    target: &Target,
    deadline: Instant,
) -> Result<Transport, SessionError> {
    let name = ServerName::try_from(target.host.clone()).map_err(|_| {
        let host = &target.host;
        SessionError::Tls(format!("`{host}` is no host name that TLS can ask for"))
    })?;
    let connection = ClientConnection::new(Arc::clone(&tls.config), name)
        .map_err(|error| SessionError::Tls(format!("TLS: {error}")))?;
    let mut stream = TlsStream::new(stream, connection);
    match shake_hands(&mut stream, target, deadline) {
        // Older servers take TLS's first bytes for a message of their own, and go away.
        Err(SessionError::Lost(_)) if tls.is_direct => return Err(not_direct(target)),
        outcome => outcome?,
    }
    if tls.is_direct && stream.connection.alpn_protocol() != Some(POSTGRESQL) {
        return Err(not_direct(target));
    }
    Ok(Transport::Tls(Box::new(stream)))
}

fn not_direct(target: &Target) -> SessionError {
    SessionError::Tls(format!(
        "the server at `{}` takes no TLS from the first byte on: PostgreSQL does from 17 on, with \
         `ssl = on`; for others leave out `sslnegotiation=direct`",
        target.place()
    ))
}

fn shake_hands(
    stream: &mut TlsStream,
    target: &Target,
    deadline: Instant,
) -> Result<(), SessionError> {
    loop {
        let (outcome, flags) = if stream.connection.wants_write() {
            (stream.write_records()?, PollFlags::OUT)
        } else if stream.connection.is_handshaking() {
            (stream.read_records(RecvFlags::empty())?, PollFlags::IN)
        } else {
            return Ok(());
        };
        match outcome {
            Ok(0) | Err(Errno::CONNRESET | Errno::PIPE) => {
                return Err(socket::closed_early(target));
            }
            Ok(_) if flags == PollFlags::IN => {
                if let Err(error) = stream.connection.process_new_packets() {
                    // The server's log shall say why; where that cannot be sent, we do all the same.
                    let _ = stream.write_records();
                    return Err(not_accepted(&error, target));
                }
            }
            Ok(_) => (),
            Err(error) => wait(&stream.socket, error, flags, target, deadline)?,
        }
    }
}

/// Waits after a call that could not go on; passes on every other error.
fn wait(
    stream: &impl AsFd,
    error: Errno,
    flags: PollFlags,
    target: &Target,
    deadline: Instant,
) -> Result<(), SessionError> {
    match error {
        Errno::AGAIN | Errno::INTR if socket::wait(stream, flags, Some(deadline))? => Ok(()),
        Errno::AGAIN | Errno::INTR => Err(socket::too_slow(target)),
        Errno::CONNRESET | Errno::PIPE => Err(socket::closed_early(target)),
        other => Err(other.into()),
    }
}

fn not_accepted(error: &rustls::Error, target: &Target) -> SessionError {
    if let Some(refused) = not_trusted(error) {
        return refused;
    }
    let place = target.place();
    let text = match error {
        rustls::Error::InvalidCertificate(error) => format!(
            "the certificate of the server at `{place}` is not accepted: {}",
            problem(error, &target.host)
        ),
        other => format!(
            "TLS with the server at `{place}` does not come about ({other}): mend it there, or ask for none"
        ),
    };
    // It quotes the certificate, whatever that says.
    SessionError::Tls(one_line(text.as_bytes()))
}

/// What is wrong with a certificate and what would be right.
fn problem(error: &CertificateError, host: &str) -> String {
    match error {
        // A bad signature is that of a root of the same name with another key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "nobody whom we trust has signed it: give the certificate of the one who did as root \
             certificate (without one the system's count)"
                .to_owned()
        }
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            format!(
                "it names no host, `{host}` should be its subjectAltName (the common name does not \
                 count): make one that does, or say verify-ca"
            )
        }
        CertificateError::NotValidForNameContext { presented, .. } => format!(
            "it is for {} and not for `{host}`: use such a host name, or say verify-ca",
            presented.join(", ")
        ),
        CertificateError::Other(error) => format!(
            "{error}: it must be of X.509 version 3 and signed by the root, not the root itself; \
             or say require"
        ),
        other => other.to_string(),
    }
}
