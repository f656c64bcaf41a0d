//! How a connection is encrypted.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How a connection is encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// What of the server's certificate is checked.
    pub mode: TlsMode,
    /// A PEM file of the certificates that are trusted; null: the system's.
    #[serde(default)]
    pub root_certificate: Option<PathBuf>,
    /// A PEM file of the client's own certificate; null: it shows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    /// A PEM file of the key of the client's certificate, without a passphrase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// Whether the first byte is TLS's, as PostgreSQL takes it from 17 on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// Whether the proof of a password is bound to the server's certificate.
    #[serde(default, skip_serializing_if = "ChannelBinding::is_default")]
    pub channel_binding: ChannelBinding,
}

/// Whether the proof of a password is bound to the server's certificate; the names are libpq's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelBinding {
    /// It is not.
    Disable,
    /// It is where both sides can.
    #[default]
    Prefer,
    /// It is, or nobody is let in.
    Require,
}

/// What of a server's certificate is checked; the names are libpq's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// Nothing: it encrypts, unless the server says that it has no TLS.
    Prefer,
    /// Nothing: it encrypts.
    Require,
    /// That somebody trusted has signed it.
    VerifyCa,
    /// The same, and that it is for the host that was asked for.
    VerifyFull,
}

impl ChannelBinding {
    /// Whether it is what counts where a job says nothing.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Tls {
    /// Whether a connection has to be encrypted.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        self.mode != TlsMode::Prefer
    }

    /// What is wrong with it, if something is.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let looks = matches!(self.mode, TlsMode::VerifyCa | TlsMode::VerifyFull);
        if !looks && self.root_certificate.is_some() {
            return Some(
                "its mode looks at no certificate; leave the root certificate out, or say \
                 verify-ca or verify-full",
            );
        }
        if self.certificate.is_some() != self.key.is_some() {
            return Some("a certificate and its key come together; give both, or neither");
        }
        (self.direct && !self.is_needed())
            .then_some("what is direct cannot be preferred only; say require, or leave it out")
    }
}
