//! Where to connect, and as whom.

use super::tls::Tls;
use crate::wire::Wire;
use std::fmt;
use std::net::IpAddr;
use std::path::Path;

/// Where a server is, and who asks.
#[derive(Clone)]
pub struct Target {
    /// The protocol that it speaks.
    pub wire: Wire,
    /// A host's name or address; one that begins with `/` is a Unix socket: its folder with PostgreSQL, its file with
    /// MySQL.
    pub host: String,
    /// The address that the host's name stands for; none: what the system says whenever a session is opened.
    pub ip: Option<IpAddr>,
    /// The port; for a Unix socket of PostgreSQL, the number in its file's name.
    pub port: u16,
    /// The account in the server.
    pub user: String,
    /// The database.
    pub database: String,
    /// Settings of the session from its start on, as `libpq` takes them; empty for none.
    pub options: String,
    /// The password, where the server asks for one.
    pub password: Option<String>,
    /// Whether the password may be sent so that others on the way can learn it.
    pub insecure: bool,
    /// What `pg_stat_activity` or `session_connect_attrs` shows.
    pub application_name: String,
    /// How the connection is encrypted; none: it is not.
    pub tls: Option<Tls>,
}

impl Target {
    /// Where the server is, for people: its socket file, or host and port.
    pub(super) fn place(&self) -> String {
        if self.host.starts_with('/') {
            match self.wire {
                Wire::Postgres => {
                    let file = format!(".s.PGSQL.{}", self.port);
                    Path::new(&self.host).join(file).display().to_string()
                }
                Wire::MySql(_) => self.host.clone(),
            }
        } else {
            // An IPv6 address has colons of its own.
            let (open, close) = if self.host.contains(':') {
                ("[", "]")
            } else {
                ("", "")
            };
            format!("{open}{}{close}:{}", self.host, self.port)
        }
    }
}

/// Without the password, which never reaches a log.
impl fmt::Debug for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}@{}/{}",
            self.user,
            self.place(),
            self.database
        )
    }
}
