//! TLS by rustls: what is trusted, and by what certificate the client is known.
//!
//! The words for what is checked are those of libpq. Sessions are
//! never resumed: each connection costs what libpq's costs.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::error::SessionError;
use crate::job::{self, ChannelBinding, TlsMode};
use crate::wire::Wire;

/// How connections are encrypted, with the certificates that are trusted; cheap to clone.
#[derive(Clone)]
pub struct Tls {
    pub(super) config: Arc<ClientConfig>,
    /// Whether a server that has no TLS is refused.
    pub(super) is_needed: bool,
    /// Whether the first byte is TLS's.
    pub(super) is_direct: bool,
    /// Whether the proof of a password is bound to the server's certificate.
    pub(super) channel_binding: ChannelBinding,
}

impl Tls {
    /// Reads the certificates that the job trusts, and its own.
    ///
    /// # Errors
    /// `Tls` with the file or store that has none, or with what the protocol does not know.
    pub fn load(tls: &job::Tls, wire: Wire) -> Result<Self, SessionError> {
        let is_postgres = matches!(wire, Wire::Postgres);
        if !is_postgres && (tls.direct || !tls.channel_binding.is_default()) {
            return Err(SessionError::Tls(
                "only PostgreSQL has `direct` and `channel_binding`: leave them out of \
                 `server.tls`"
                    .to_owned(),
            ));
        }
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
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| SessionError::Tls(format!("TLS: {error}")))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match (&tls.certificate, &tls.key) {
            (Some(certificate), Some(key)) => {
                let chain = certificates(certificate, "certificate")?;
                let key = client_key(key)?;
                builder.with_client_auth_cert(chain, key).map_err(|error| {
                    let file = certificate.display();
                    SessionError::Tls(format!(
                        "the certificate `{file}` cannot be used with its key: {error}"
                    ))
                })?
            }
            _ => builder.with_no_client_auth(),
        };
        config.resumption = Resumption::disabled();
        if is_postgres {
            config.alpn_protocols = vec![POSTGRESQL.to_vec()];
        }
        Ok(Self {
            config: Arc::new(config),
            is_needed: tls.is_needed() || tls.channel_binding == ChannelBinding::Require,
            is_direct: tls.direct,
            channel_binding: tls.channel_binding,
        })
    }
}

/// The name of PostgreSQL's protocol within TLS, which libpq says from 17 on (PostgreSQL documentation, "SSL Session
/// Encryption").
pub(super) const POSTGRESQL: &[u8] = b"postgresql";

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
    for certificate in certificates(path, "root certificate")? {
        roots.add(certificate).map_err(|error| {
            let problem = format!("holds one that cannot be used: {error}");
            refused(path, "root certificate", &problem)
        })?;
    }
    Ok(roots)
}

/// The certificates of a PEM file, of which there is one at least; `what`: what they are for.
fn certificates(path: &Path, what: &str) -> Result<Vec<CertificateDer<'static>>, SessionError> {
    let refuse = |problem: String| refused(path, what, &problem);
    let certificates: Vec<_> = CertificateDer::pem_file_iter(path)
        .map_err(|error| refuse(format!("cannot be read: {error}")))?
        .collect::<Result<_, _>>()
        .map_err(|error| refuse(format!("is no PEM file: {error}")))?;
    if certificates.is_empty() {
        return Err(refuse("holds no certificate: give a PEM file".to_owned()));
    }
    Ok(certificates)
}

/// The key of a PEM file, which by libpq's rule is its owner's alone; of root's, a group may read it.
fn client_key(path: &Path) -> Result<PrivateKeyDer<'static>, SessionError> {
    let refuse = |problem: &str| refused(path, "key", problem);
    let unreadable = |error| refuse(&format!("cannot be read: {error}"));
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(refuse("is no plain file: name one"));
    }
    let others = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    if metadata.mode() & others != 0 {
        return Err(refuse("is open to others: run chmod 600 on it"));
    }
    let text = fs::read(path).map_err(unreadable)?;
    if text.windows(9).any(|word| word == b"ENCRYPTED") {
        return Err(refuse(
            "has a passphrase, which nobody is asked for: write it without one by `openssl pkey`",
        ));
    }
    PrivateKeyDer::from_pem_slice(&text)
        .map_err(|error| refuse(&format!("holds no key ({error}): give a PEM file")))
}

fn refused(path: &Path, what: &str, problem: &str) -> SessionError {
    SessionError::Tls(format!("the {what} `{}` {problem}", path.display()))
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
