//! TLS by rustls: what is trusted, and the exchange that turns a socket into an encrypted stream.
//!
//! The words for what is checked are those of libpq. Sessions are
//! never resumed: each connection costs what libpq's costs.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore,
    SignatureScheme,
};

use super::error::{SessionError, one_line};
use super::socket;
use super::target::Target;
use super::transport::{TlsStream, Transport};
use crate::job::{self, TlsMode};

/// How connections are encrypted, with the certificates that are trusted; cheap to clone.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
    /// Whether a server that has no TLS is refused.
    pub(super) is_needed: bool,
}

impl Tls {
    /// Reads the certificates that the job trusts.
    ///
    /// # Errors
    /// `Tls` with the file or store that has none.
    pub fn load(tls: &job::Tls) -> Result<Self, SessionError> {
        let provider = Arc::new(ring::default_provider());
        let verifier: Arc<dyn ServerCertVerifier> = match tls.mode {
            TlsMode::Prefer | TlsMode::Require => Arc::new(AnyCertificate(Arc::clone(&provider))),
            TlsMode::VerifyCa => Arc::new(AnyName {
                roots: roots(tls.root_certificate.as_deref())?,
                provider: Arc::clone(&provider),
            }),
            TlsMode::VerifyFull => {
                let roots = Arc::new(roots(tls.root_certificate.as_deref())?);
                WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
                    .build()
                    .map_err(|error| SessionError::Tls(format!("TLS: {error}")))?
            }
        };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| SessionError::Tls(format!("TLS: {error}")))?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        config.resumption = Resumption::disabled();
        Ok(Self {
            config: Arc::new(config),
            is_needed: tls.is_needed(),
        })
    }
}

/// The certificates of a PEM file, or of the system.
fn roots(path: Option<&Path>) -> Result<RootCertStore, SessionError> {
    let mut roots = RootCertStore::empty();
    let Some(path) = path else {
        let system = rustls_native_certs::load_native_certs();
        let (added, _) = roots.add_parsable_certificates(system.certs);
        if added == 0 {
            return Err(SessionError::Tls(
                "the system trusts no certificates: install ca-certificates, or give \
                 `server.tls.root_certificate`"
                    .to_owned(),
            ));
        }
        return Ok(roots);
    };
    let refuse = |problem: String| {
        SessionError::Tls(format!(
            "the root certificate `{}` {problem}",
            path.display()
        ))
    };
    let certificates = CertificateDer::pem_file_iter(path)
        .map_err(|error| refuse(format!("cannot be read: {error}")))?;
    for certificate in certificates {
        let certificate =
            certificate.map_err(|error| refuse(format!("is no PEM file: {error}")))?;
        roots
            .add(certificate)
            .map_err(|error| refuse(format!("holds one that cannot be used: {error}")))?;
    }
    if roots.is_empty() {
        return Err(refuse("holds no certificate: give a PEM file".to_owned()));
    }
    Ok(roots)
}

/// `prefer` and `require`: an encrypted stream with whoever answers.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

/// Signatures are not looked at either: whoever may show any certificate has a key for it. So a
/// server's certificate may be older than what rustls can read, as with libpq.
impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// `verify-ca`: somebody trusted has signed the certificate, whatever host it is for.
#[derive(Debug)]
struct AnyName {
    roots: RootCertStore,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        verify_server_cert_signed_by_trust_anchor(
            &ParsedCertificate::try_from(end_entity)?,
            &self.roots,
            intermediates,
            now,
            self.provider.signature_verification_algorithms.all,
        )?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

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
    shake_hands(&mut stream, target, deadline)?;
    Ok(Transport::Tls(Box::new(stream)))
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
    let place = socket::place(target);
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
