//! The least that any client can do: wait, receive, send. What `make bench` holds the generator against.
//!
//! Each connection sends its request (Bind, Execute, Sync of a prepared statement) again as soon as the answer to
//! the last one ends in ReadyForQuery, with another key each time: else the server would have all it needs in the
//! processor's cache. Nothing else is done, read or recorded; the sessions alone are made by the crate.
//! It waits by epoll, by io_uring, or with a thread for each connection.
//! Standard input: a [`Task`] as JSON. Standard output: an [`Outcome`] as JSON.

mod epoll;
mod threads;
mod uring;

use anyhow::{Context, Result, bail, ensure};
use dyno_loadgen::event::print;
use dyno_loadgen::job::Server;
use dyno_loadgen::session::postgres::{PostgresSession, encode};
use dyno_loadgen::session::{ReadBuffer, Reply, Target, Wire};
use rustix::net::{SendFlags, send};
use serde::{Deserialize, Serialize};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const READ_BUFFER_BYTES: usize = 64 << 10;
const READY: &[u8] = b"Z\0\0\0\x05I";
const STATEMENT: &str = "point";

/// What to do. The SQL has one parameter of type int4, a key from 1 to `key_max`, and finds one row by it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    server: Server,
    sql: String,
    key_max: i32,
    connections: u16,
    seconds: f64,
    way: Way,
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
    session: PostgresSession,
    request: Vec<u8>,
    /// Where the key stands in the request.
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

/// Connects, prepares, and executes once by the crate's own session, which sees to it that a row is found.
fn connect(task: &Task, number: u16) -> Result<Client> {
    let targets = Target::all(&task.server, Wire::Postgres)?;
    let target = Target {
        application_name: "bare_loop".to_owned(),
        ..targets[0].clone()
    };
    ensure!(
        target.tls.is_none(),
        "the bare loop reads the socket itself"
    );
    let mut session = PostgresSession::connect(&target, CONNECT_TIMEOUT)?;
    session.prepare(STATEMENT, &task.sql)?;
    let spread = i64::from(task.key_max - 1) * i64::from(number) / i64::from(task.connections);
    let (request, key_at) = request(1 + i32::try_from(spread)?);
    session.output().clone_from(&request);
    let (mut buffer, mut reply) = (ReadBuffer::new(), Reply::default());
    ensure!(session.flush()?, "a blocking session sends all");
    while !session.receive(&mut buffer, &mut reply)? {}
    if let Some(error) = reply.error {
        bail!("the server refuses the statement: {error}");
    }
    ensure!(
        reply.rows == 1,
        "the statement found {} rows, not one",
        reply.rows
    );
    if task.way == Way::Epoll {
        session.set_nonblocking()?;
    }
    Ok(Client {
        session,
        request,
        key_at,
    })
}

/// A request for a key, and where that stands in it.
fn request(key: i32) -> (Vec<u8>, usize) {
    let (mut request, mut key_at) = (Vec::new(), 0);
    let mark = encode::bind_begin(&mut request, STATEMENT.as_bytes(), &[true]);
    encode::parameter(&mut request, |out| {
        key_at = out.len();
        out.extend_from_slice(&key.to_be_bytes());
    });
    encode::bind_end(&mut request, mark);
    encode::execute_sync(&mut request);
    (request, key_at)
}

impl Client {
    /// Makes its request one for the key.
    fn turn_to(&mut self, key: i32) {
        self.request[self.key_at..self.key_at + 4].copy_from_slice(&key.to_be_bytes());
    }

    /// Sends the request for the key, which fits the socket's buffer.
    fn ask(&mut self, key: i32) -> Result<()> {
        self.turn_to(key);
        let sent = send(&self.session, &self.request, SendFlags::NOSIGNAL)?;
        ensure!(
            sent == self.request.len(),
            "the socket took only a part of a request"
        );
        Ok(())
    }
}

/// Tells whether an answer ends here: its last message comes in one piece, on one machine. Nothing is the end.
fn is_whole(answer: &[u8]) -> Result<bool> {
    ensure!(!answer.is_empty(), "the server has closed a connection");
    Ok(answer.ends_with(READY))
}
