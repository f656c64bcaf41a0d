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

impl Tls {
    /// Whether a connection has to be encrypted.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        self.mode != TlsMode::Prefer
    }

    /// What is wrong with it, if something is.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let looks = matches!(self.mode, TlsMode::VerifyCa | TlsMode::VerifyFull);
        (!looks && self.root_certificate.is_some()).then_some(
            "its mode looks at no certificate; leave the root certificate out, or say verify-ca \
             or verify-full",
        )
    }
}
