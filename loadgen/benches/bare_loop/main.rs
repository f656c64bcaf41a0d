//! The least that any client can do: wait, receive, send. What `make bench` holds the generator against.
//!
//! Each connection sends its request, which executes a prepared statement, again as soon as the answer to the last one
//! ends as answers do, with another key each time: else the server would have all it needs in the processor's cache.
//! Nothing else is done, read or recorded; the sessions alone are made by the crate.
//! It waits by epoll, by io_uring, or with a thread for each connection.
//! Standard input: a [`Task`] as JSON. Standard output: an [`Outcome`] as JSON.

mod epoll;
mod mysql;
mod postgres;
mod threads;
mod uring;

use anyhow::{Context, Result, bail, ensure};
use dyno_loadgen::event::print;
use dyno_loadgen::job::Server;
use dyno_loadgen::session::{AnySession, ReadBuffer, Reply, Target};
use dyno_loadgen::wire::{MySqlChoice, Wire};
use rustix::net::{SendFlags, send};
use serde::{Deserialize, Serialize};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const READ_BUFFER_BYTES: usize = 64 << 10;

/// What to do. The SQL has one parameter, an integer of four bytes: a key from 1 to `key_max`, by which it finds one
/// row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    protocol: Protocol,
    server: Server,
    sql: String,
    key_max: i32,
    connections: u16,
    seconds: f64,
    way: Way,
}

/// What the server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Protocol {
    Postgres,
    /// MariaDB's, too.
    MySql,
}

/// How a client waits for answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Way {
    /// One thread, by readiness.
    Epoll,
    /// One thread, by completions.
    Uring,
    /// A thread for each connection.
    Threads,
}

/// What was done between the first request and the end of the time.
#[derive(Debug, Serialize)]
struct Outcome {
    operations: u64,
    active_ns: u64,
}

/// A connection and the request that it sends again and again.
struct Client {
    session: AnySession,
    protocol: Protocol,
    request: Request,
}

/// What executes the statement once.
struct Request {
    bytes: Vec<u8>,
    /// Where the key stands.
    key_at: usize,
}

/// Marsaglia's xorshift of 64 bits (2003): the least that draws keys over a table.
struct Keys {
    state: u64,
    max: u64,
}

impl Keys {
    /// Keys up to `max`; each stream has a number.
    fn new(max: u64, stream: u64) -> Self {
        Self {
            state: 0x9E37_79B9_7F4A_7C15 ^ (stream << 1),
            max,
        }
    }

    fn next(&mut self) -> i32 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        i32::try_from(1 + (self.state >> 32) * self.max / (1 << 32)).unwrap_or(1)
    }
}

fn main() -> Result<()> {
    let task: Task =
        serde_json::from_reader(std::io::stdin()).context("standard input is no task")?;
    let clients: Vec<Client> = (0..task.connections)
        .map(|number| connect(&task, number))
        .collect::<Result<_>>()?;
    let duration = Duration::try_from_secs_f64(task.seconds)?;
    let key_max = u64::try_from(task.key_max)?;
    let outcome = match task.way {
        Way::Epoll => epoll::run(clients, Keys::new(key_max, 0), duration)?,
        Way::Uring => uring::run(clients, Keys::new(key_max, 0), duration)?,
        Way::Threads => threads::run(clients, key_max, duration)?,
    };
    print(&serde_json::to_string(&outcome)?)?;
    Ok(())
}

/// Connects, prepares, and executes once.
fn connect(task: &Task, number: u16) -> Result<Client> {
    let target = Target {
        application_name: "bare_loop".to_owned(),
        ..Target::new(&task.server, task.protocol.wire())?
    };
    ensure!(
        target.tls.is_none(),
        "the bare loop reads the socket itself"
    );
    let mut session = AnySession::connect(&target, CONNECT_TIMEOUT)?;
    let (first, then) = match &mut session {
        AnySession::Postgres(session) => (postgres::prepare(session, &task.sql)?, None),
        AnySession::MySql(session) => {
            let [first, then] = mysql::prepare(session, &task.sql)?;
            (first, Some(then))
        }
    };
    let mut client = Client {
        session,
        protocol: task.protocol,
        request: first,
    };
    let spread = i64::from(task.key_max - 1) * i64::from(number) / i64::from(task.connections);
    client.find(1 + i32::try_from(spread)?)?;
    if let Some(request) = then {
        client.request = request;
    }
    if task.way == Way::Epoll {
        client.session.set_nonblocking()?;
    }
    Ok(client)
}

impl Client {
    /// Executes once by the crate's own session, which sees to it that a row is found.
    fn find(&mut self, key: i32) -> Result<()> {
        self.turn_to(key);
        let sent = self.session.send(&self.request.bytes)?;
        ensure!(sent, "a blocking session sends all");
        let (mut buffer, mut reply) = (ReadBuffer::new(), Reply::default());
        while !self.session.receive(&mut buffer, &mut reply)? {}
        if let Some(error) = reply.error {
            bail!("the server refuses the statement: {error}");
        }
        ensure!(
            reply.rows == 1,
            "the statement found {} rows, not one",
            reply.rows
        );
        Ok(())
    }

    /// Makes its request one for the key.
    fn turn_to(&mut self, key: i32) {
        let Request { bytes, key_at } = &mut self.request;
        bytes[*key_at..*key_at + 4].copy_from_slice(&self.protocol.key(key));
    }

    /// Sends the request for the key, which fits the socket's buffer.
    fn ask(&mut self, key: i32) -> Result<()> {
        self.turn_to(key);
        let sent = send(&self.session, &self.request.bytes, SendFlags::NOSIGNAL)?;
        ensure!(
            sent == self.request.bytes.len(),
            "the socket took only a part of a request"
        );
        Ok(())
    }

    /// Tells whether an answer ends here: its last message comes in one piece, on one machine. Nothing is the end.
    fn is_whole(&self, answer: &[u8]) -> Result<bool> {
        ensure!(!answer.is_empty(), "the server has closed a connection");
        self.protocol.is_whole(answer)
    }
}

impl Protocol {
    /// As the crate calls it.
    fn wire(self) -> Wire {
        match self {
            Self::Postgres => Wire::Postgres,
            Self::MySql => Wire::MySql(MySqlChoice::default()),
        }
    }

    /// A key as its requests have it.
    fn key(self, key: i32) -> [u8; 4] {
        match self {
            Self::Postgres => postgres::key(key),
            Self::MySql => mysql::key(key),
        }
    }

    /// Tells whether an answer that is not empty ends here.
    fn is_whole(self, answer: &[u8]) -> Result<bool> {
        match self {
            Self::Postgres => Ok(postgres::is_whole(answer)),
            Self::MySql => mysql::is_whole(answer),
        }
    }
}
