//! The least that any client can do: epoll, receive, send. What `make bench` holds the generator against.
//!
//! Each connection sends its request (Bind, Execute, Sync of a prepared statement) again as soon as the answer to
//! the last one ends in ReadyForQuery, with another key each time: else the server would have all it needs in the
//! processor's cache. Nothing else is done, read or recorded; the sessions alone are made by the crate.
//! Standard input: a [`Task`] as JSON. Standard output: an [`Outcome`] as JSON.

use anyhow::{Context, Result, bail, ensure};
use dyno_loadgen::event::print;
use dyno_loadgen::job::Server;
use dyno_loadgen::session::live::monotonic_ns;
use dyno_loadgen::session::postgres::{PostgresSession, encode};
use dyno_loadgen::session::{ReadBuffer, Reply, Target, Wire};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const EVENTS_MAX: usize = 256;
const READ_BUFFER_BYTES: usize = 64 << 10;
const READY_BYTES: usize = 6;
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
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    let mut clients = Vec::new();
    for number in 0..task.connections {
        clients.push(connect(&task, number, &epoll)?);
    }
    let keys = Keys {
        state: 0x9E37_79B9_7F4A_7C15,
        max: u64::try_from(task.key_max)?,
    };
    let outcome = run(&mut clients, keys, &epoll, task.seconds)?;
    print(&serde_json::to_string(&outcome)?)?;
    Ok(())
}

/// Connects, prepares, and executes once by the crate's own session, which sees to it that a row is found.
fn connect(task: &Task, number: u16, epoll: &OwnedFd) -> Result<Client> {
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
    session.set_nonblocking()?;
    epoll::add(
        epoll,
        &session,
        EventData::new_u64(number.into()),
        EventFlags::IN,
    )?;
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

/// The loop. It counts on what holds on one machine: a request fits the socket's buffer, and an answer's last message
/// comes in one piece.
fn run(clients: &mut [Client], mut keys: Keys, epoll: &OwnedFd, seconds: f64) -> Result<Outcome> {
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    let mut events: Vec<Event> = Vec::with_capacity(EVENTS_MAX);
    let duration_ns = u64::try_from(Duration::try_from_secs_f64(seconds)?.as_nanos())?;
    let start_ns = monotonic_ns();
    for client in clients.iter_mut() {
        ask(client, keys.next())?;
    }
    let mut operations = 0;
    loop {
        events.clear();
        epoll::wait(epoll, spare_capacity(&mut events), None)?;
        for event in &events {
            let client = &mut clients[usize::try_from(event.data.u64())?];
            let (count, _) = recv(&client.session, &mut buffer[..], RecvFlags::empty())?;
            ensure!(count > 0, "the server has closed a connection");
            if count >= READY_BYTES && &buffer[count - READY_BYTES..count] == READY {
                operations += 1;
                ask(client, keys.next())?;
            }
        }
        let active_ns = monotonic_ns() - start_ns;
        if active_ns >= duration_ns {
            return Ok(Outcome {
                operations,
                active_ns,
            });
        }
    }
}

fn ask(client: &mut Client, key: i32) -> Result<()> {
    client.request[client.key_at..client.key_at + 4].copy_from_slice(&key.to_be_bytes());
    let sent = send(&client.session, &client.request, SendFlags::NOSIGNAL)?;
    ensure!(
        sent == client.request.len(),
        "the socket took only a part of a request"
    );
    Ok(())
}
