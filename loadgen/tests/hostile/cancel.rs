//! What is in flight when a step is given up: the server is told to end it before its connection is closed.

use crate::process::run;
use crate::program::job;
use crate::script::{SOON, welcome};
use crate::wire::{mysql_greeting, mysql_packet};
use dyno_loadgen::event::Status;
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// The code in place of a protocol's version in a CancelRequest.
const CANCEL_REQUEST: u32 = 80_877_102;

/// What a server saw.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    /// A statement, which it does not answer.
    Statement,
    /// A request to cancel, with the numbers in it.
    Cancel(u32, u32),
    /// A connection's end.
    Closed,
}

/// A server: what it does on a connection, and where it tells what it sees.
type Serve = fn(&TcpStream, &Sender<Seen>) -> io::Result<()>;

/// A step of half a second on that server, whose statements are given up half a second after its end.
fn job_on(serve: Serve, engine: &str, connections: u32) -> (Value, Receiver<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut job = job(Vec::new(), connections);
    (job["engine"], job["roles"][0]["on_error"]["retry"]) = (engine.into(), json!([]));
    job["server"]["port"] = listener.local_addr().unwrap().port().into();
    let (sender, seen) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            // Where the client has gone, the connection is over.
            std::thread::spawn(move || serve(&stream, &sender));
        }
    });
    (job, seen)
}

fn word(mut stream: &TcpStream) -> io::Result<u32> {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}

/// A server of PostgreSQL's protocol that answers no statement.
fn postgres(mut stream: &TcpStream, seen: &Sender<Seen>) -> io::Result<()> {
    let (length, code) = (word(stream)?, word(stream)?);
    if code == CANCEL_REQUEST {
        let _ = seen.send(Seen::Cancel(word(stream)?, word(stream)?));
        return Ok(());
    }
    io::copy(&mut stream.take(u64::from(length) - 8), &mut io::sink())?;
    stream.write_all(&welcome())?;
    word(stream)?;
    let _ = seen.send(Seen::Statement);
    let ended = io::copy(&mut stream, &mut io::sink()).map(drop);
    let _ = seen.send(Seen::Closed);
    ended
}

/// The same, which lets those who cancel wait.
fn deaf_postgres(stream: &TcpStream, seen: &Sender<Seen>) -> io::Result<()> {
    let (told, telling) = channel();
    let outcome = postgres(stream, &told);
    if let Ok(Seen::Cancel(pid, secret)) = telling.try_recv() {
        let _ = seen.send(Seen::Cancel(pid, secret));
        std::thread::sleep(SOON);
    }
    outcome
}

/// A server of MySQL's protocol that answers no statement but KILL.
fn mysql(mut stream: &TcpStream, seen: &Sender<Seen>) -> io::Result<()> {
    stream.write_all(&mysql_greeting())?;
    packet(stream)?;
    stream.write_all(&mysql_packet(2, b"\0\0\0\x02\0\0\0"))?;
    while let Ok(request) = packet(stream) {
        let text = String::from_utf8_lossy(&request).into_owned();
        if text.contains("THREAD_OS_ID") {
            stream.write_all(&mysql_packet(1, b"\xff\x76\x04#42000denied"))?;
        } else if let Some((_, number)) = text.split_once("KILL QUERY ") {
            let _ = seen.send(Seen::Cancel(number.parse().unwrap(), 0));
            stream.write_all(&mysql_packet(1, b"\0\0\0\x02\0\0\0"))?;
        } else if text.contains("SELECT 1") {
            let _ = seen.send(Seen::Statement);
            io::copy(&mut stream, &mut io::sink())?;
            let _ = seen.send(Seen::Closed);
        }
    }
    Ok(())
}

fn packet(mut stream: &TcpStream) -> io::Result<Vec<u8>> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], 0]);
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body)?;
    Ok(body)
}

#[test]
fn what_is_in_flight_is_cancelled_before_its_connection_is_closed() {
    for (serve, engine, cancel) in [
        (
            postgres as Serve,
            "postgres",
            Seen::Cancel(256, 0x0909_0909),
        ),
        (mysql, "mysql", Seen::Cancel(7, 0)),
    ] {
        for connections in [1, 3] {
            let (job, seen) = job_on(serve, engine, connections);
            let ended = run(&job);
            let (status, reason, _) = ended.done();
            assert_eq!(status, Status::Failed);
            let reason = reason.unwrap();
            assert!(reason.contains("0.5 s after the step's end"), "{reason}");
            assert!(!reason.contains("may go on"), "{reason}");
            let count = connections as usize;
            let seen: Vec<_> = (0..3 * count)
                .map(|_| seen.recv_timeout(SOON).unwrap())
                .collect();
            assert!(seen.is_sorted(), "{engine}: {seen:?}");
            let cancelled = seen.iter().filter(|one| **one == cancel);
            assert_eq!(cancelled.count(), count, "{engine}: {seen:?}");
        }
    }
}

#[test]
fn a_server_that_does_not_take_the_request_to_cancel_holds_the_end_up_for_seconds_only() {
    let (job, seen) = job_on(deaf_postgres, "postgres", 2);
    let start = Instant::now();
    let ended = run(&job);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    let (status, reason, _) = ended.done();
    assert_eq!(status, Status::Failed);
    let reason = reason.unwrap();
    assert!(
        reason.contains("it may go on in the server: the server at"),
        "{reason}"
    );
    assert!(matches!(seen.recv_timeout(SOON), Ok(Seen::Cancel(..))));
}
