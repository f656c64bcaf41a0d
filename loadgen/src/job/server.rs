//! Where the server is and who asks: by the job's own keys, or by a DSN.

use super::dsn::Dsn;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::path::PathBuf;
use std::time::Duration;

/// Where the server is and who asks: `dsn`, or `host`, `port`, `user` and `database`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// A host name or address, or the folder of a unix socket where it begins with `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The TCP port; also the end of a unix socket's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The database user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// All of these in one text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dsn: Option<Dsn>,
    /// Where the password is to be found; null for none.
    #[serde(default)]
    pub password: Option<Password>,
    /// Whether the connection is encrypted; null: it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
}

/// Where a password is to be found; a job never holds one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", try_from = "Json")]
pub enum Password {
    /// The name of an environment variable.
    Env(String),
    /// A file in libpq's format.
    Passfile(PathBuf),
}

/// By hand, because serde would quote what stands there instead: that may be a password.
impl TryFrom<Json> for Password {
    type Error = &'static str;

    fn try_from(json: Json) -> Result<Self, Self::Error> {
        let mut keys = json.as_object().into_iter().flatten();
        match (keys.next(), keys.next()) {
            (Some((key, Json::String(name))), None) if key == "env" => Ok(Self::Env(name.clone())),
            (Some((key, Json::String(path))), None) if key == "passfile" => {
                Ok(Self::Passfile(path.into()))
            }
            _ => Err(
                r#"a job holds no password; name its place by {"env": NAME} or {"passfile": PATH}"#,
            ),
        }
    }
}

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
    /// Nothing: it encrypts.
    Require,
    /// That somebody trusted has signed it.
    VerifyCa,
    /// The same, and that it is for the host that was asked for.
    VerifyFull,
}

/// A server's place, whichever way it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Hosts and ports, tried in this order; at least one.
    pub hosts: Vec<(String, u16)>,
    /// The database user.
    pub user: String,
    /// The database.
    pub database: String,
    /// How connections are encrypted; none: they are not.
    pub tls: Option<Tls>,
    /// What `pg_stat_activity` shall show; none: the generator's name.
    pub application_name: Option<String>,
    /// How long each host may take; none: the generator's own limit.
    pub connect_timeout: Option<Duration>,
}

impl Place {
    /// Whether one of the hosts is a unix socket's folder.
    #[must_use]
    pub fn has_socket(&self) -> bool {
        self.hosts.iter().any(|(host, _)| host.starts_with('/'))
    }
}

impl Tls {
    /// What is wrong with it, if something is.
    pub(super) fn problem(&self) -> Option<&'static str> {
        (self.mode == TlsMode::Require && self.root_certificate.is_some()).then_some(
            "`require` looks at no certificate; leave the root certificate out, or say verify-ca \
             or verify-full",
        )
    }
}
