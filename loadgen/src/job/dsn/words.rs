//! How the clients of each protocol write the parts of a DSN.

/// A part of a DSN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    User,
    Host,
    Port,
    Database,
    Mode,
    Root,
    Name,
    Timeout,
    Socket,
}

impl Key {
    /// All of them, each at its place.
    pub(super) const ALL: [Self; 9] = [
        Self::User,
        Self::Host,
        Self::Port,
        Self::Database,
        Self::Mode,
        Self::Root,
        Self::Name,
        Self::Timeout,
        Self::Socket,
    ];
}

/// The words of one protocol's clients.
#[derive(Debug)]
pub(super) struct Words {
    /// What a URI begins with, and `://`.
    pub(super) scheme: &'static str,
    /// The usual port.
    pub(super) port: u16,
    /// The keys' names, by their place; empty for one that there is not.
    names: [&'static str; Key::ALL.len()],
    /// No TLS, TLS where the server has it, any certificate, a trusted one, a trusted one for this host.
    pub(super) modes: [&'static str; 5],
    /// Whether modes are read in any case.
    any_case: bool,
}

/// libpq's (PostgreSQL documentation, "Connection Strings").
pub(super) static POSTGRES: Words = Words {
    scheme: "postgresql",
    port: 5432,
    names: [
        "user",
        "host",
        "port",
        "dbname",
        "sslmode",
        "sslrootcert",
        "application_name",
        "connect_timeout",
        "",
    ],
    modes: ["disable", "prefer", "require", "verify-ca", "verify-full"],
    any_case: false,
};

/// Those of MySQL's own clients (MySQL documentation, "Connecting to the Server Using URI-Like Strings or Key-Value
/// Pairs").
pub(super) static MYSQL: Words = Words {
    scheme: "mysql",
    port: 3306,
    names: [
        "user",
        "host",
        "port",
        "database",
        "ssl-mode",
        "ssl-ca",
        "program-name",
        "connect-timeout",
        "socket",
    ],
    modes: [
        "DISABLED",
        "PREFERRED",
        "REQUIRED",
        "VERIFY_CA",
        "VERIFY_IDENTITY",
    ],
    any_case: true,
};

impl Words {
    /// Returns a key's name.
    pub(super) fn name(&self, key: Key) -> &'static str {
        self.names[key as usize]
    }

    /// Returns all keys' names.
    pub(super) fn names(&self) -> String {
        let names = self.names.iter().filter(|name| !name.is_empty());
        names.copied().collect::<Vec<_>>().join(", ")
    }

    /// Tells whether what is given means a word.
    pub(super) fn reads(&self, word: &str, given: &str) -> bool {
        if self.any_case {
            word.eq_ignore_ascii_case(given)
        } else {
            word == given
        }
    }
}
