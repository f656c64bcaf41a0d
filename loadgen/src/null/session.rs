//! The server's side of a conversation, in either protocol: what has come goes in, answers come out. No socket, no clock.

use super::{Protocol, mysql, postgres};

/// A connection's state.
pub(super) enum Session {
    /// Of PostgreSQL's protocol.
    Postgres(postgres::Session),
    /// Of MySQL's.
    Mysql(mysql::Session),
}

impl Session {
    /// A session with a client that has just come. Appends to `out` what a server of that protocol says first.
    pub(super) fn new(protocol: Protocol, out: &mut Vec<u8>) -> Self {
        match protocol {
            Protocol::Postgres => Self::Postgres(postgres::Session::new()),
            Protocol::Mysql => Self::Mysql(mysql::Session::new(out)),
        }
    }

    /// Takes what was read and appends the answers to `out`; false where the connection is to be closed then.
    #[inline]
    pub(super) fn take(&mut self, input: &[u8], out: &mut Vec<u8>) -> bool {
        match self {
            Self::Postgres(session) => session.take(input, out),
            Self::Mysql(session) => session.take(input, out),
        }
    }
}

/// Why a connection is to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// The client said so.
    Goodbye,
    /// What it sent is not to be understood.
    Broken(&'static str),
}
