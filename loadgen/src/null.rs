//! The null server: speaks PostgreSQL's protocol or MySQL's and answers every statement at once, doing nothing.
//!
//! What a generator reaches against it is the generator's own ceiling on this host, and what an operation costs there is
//! its overhead. So it has to be leaner than any generator: one thread with an epoll loop over all its connections, one
//! receive and one send for all requests that have come together, answers that are there beforehand. It speaks as much of
//! the protocols as that takes: being let in, statements as texts and prepared ones, transactions.

mod listener;
mod mysql;
mod postgres;
mod serve;
mod statement;

use crate::event::print;
use crate::run::raise_descriptor_limit;
use crate::session::SessionError;
use crate::shared::Waker;
use anyhow::{Context, Result};
use listener::Listener;
use serde_json::json;
use serve::Server;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// What the server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// PostgreSQL's.
    Postgres,
    /// MySQL's and MariaDB's.
    Mysql,
}

/// Serves until standard input ends or SIGINT or SIGTERM comes; says on standard output where it listens.
///
/// # Errors
/// Where it cannot listen, or has no descriptors left; one line.
pub fn run(protocol: Protocol) -> Result<()> {
    raise_descriptor_limit();
    let ended = Waker::new().context("cannot make an eventfd")?;
    watch_signals(&ended).context("cannot watch for signals")?;
    let listener = Listener::open(protocol)?;
    let mut server = Server::new(protocol, &listener, &ended)?;
    let listening = json!({
        "event": "listening", "host": listener.host, "port": listener.port, "pid": std::process::id(),
    });
    print(&listening.to_string()).context("cannot write to standard output")?;
    watch_input(&ended);
    server.run()
}

/// Ends the server when standard input does, as the caller has gone.
fn watch_input(ended: &Waker) {
    let ended = ended.clone();
    std::thread::spawn(move || {
        // An input that cannot be read has ended too.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        ended.wake();
    });
}

fn watch_signals(ended: &Waker) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let ended = ended.clone();
    std::thread::spawn(move || {
        for _ in signals.forever() {
            ended.wake();
        }
    });
    Ok(())
}

/// A connection's state, without its socket: what has come goes in, answers come out.
enum Session {
    Postgres(postgres::Session),
    Mysql(mysql::Session),
}

impl Session {
    /// Begins a session with a client that has just come; appends to `out` what a server of that protocol says first.
    fn new(protocol: Protocol, out: &mut Vec<u8>) -> Self {
        match protocol {
            Protocol::Postgres => Self::Postgres(postgres::Session::new()),
            Protocol::Mysql => Self::Mysql(mysql::Session::new(out)),
        }
    }

    /// Takes what was read and appends the answers to `out`; returns false where the connection is to be closed then.
    #[inline]
    fn take(&mut self, input: &[u8], out: &mut Vec<u8>) -> bool {
        match self {
            Self::Postgres(session) => session.take(input, out),
            Self::Mysql(session) => session.take(input, out),
        }
    }
}

/// Why a connection is to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    /// The client said so.
    Goodbye,
    /// What it sent is not to be understood.
    Broken(&'static str),
}

/// A message whose length or fields are not what the protocol says.
impl From<SessionError> for Over {
    fn from(_: SessionError) -> Self {
        Self::Broken("a message is not as long as its fields are")
    }
}
