//! A server that does what a script says, on every connection.

pub(crate) use crate::wire::message;
use dyno_loadgen::session::postgres::PostgresSession;
use dyno_loadgen::session::{SessionError, Target};
use dyno_loadgen::wire::Wire;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a session may take to be let in, where a test does not wait for that to pass.
const CONNECT_MAX: Duration = Duration::from_secs(20);

/// How long anything may take that ends by itself: much, as the machine may be busy.
pub(crate) const SOON: Duration = Duration::from_secs(15);

/// How long a text for people may be.
const LINE_CHARACTERS_MAX: usize = 5_000;

/// What the server does next. After the last act it closes the connection.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Reads the startup message.
    Startup,
    /// Reads messages up to one that asks for an answer, or ends the data of a COPY.
    Request,
    /// Sends bytes.
    Send(Vec<u8>),
    /// Sends bytes one at a time.
    Trickle(Vec<u8>),
    /// Sends bytes again and again.
    Endless(Vec<u8>),
    /// Answers so many requests.
    Answer(u32),
    /// Answers requests until the client goes.
    AnswerAll,
    /// Answers each request with these bytes until the client goes.
    AnswerAllWith(Vec<u8>),
    /// Reads a packet of MySQL's protocol.
    Packet,
    /// Answers each packet of MySQL's protocol with these bytes until the client goes.
    PacketsAnsweredWith(Vec<u8>),
    /// Reads and says nothing.
    Listen,
    /// Does not even read.
    Freeze,
    /// Challenges by SCRAM; the client's nonce stands in place of `{nonce}`.
    Challenge(&'static str),
}

/// A request for authentication by that method.
pub(crate) fn authentication(method: u32, data: &[u8]) -> Vec<u8> {
    message(b'R', &[&method.to_be_bytes(), data].concat())
}

/// An error, or where the tag is `N` a notice.
pub(crate) fn error(tag: u8, code: &str, text: &str) -> Vec<u8> {
    message(tag, format!("SFATAL\0C{code}\0M{text}\0\0").as_bytes())
}

/// The server is ready for a request.
pub(crate) fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

/// What a trusting server says before the first request.
pub(crate) fn welcome() -> Vec<u8> {
    [
        authentication(0, b""),
        message(b'S', b"server_version\x0018.0\0"),
        message(b'K', &[0, 0, 1, 0, 9, 9, 9, 9]),
        ready(),
    ]
    .concat()
}

/// The answer to `SELECT 1`.
pub(crate) fn answer() -> Vec<u8> {
    let column = b"\0\x01c\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";
    [
        message(b'T', column),
        message(b'D', b"\0\x01\0\0\0\x011"),
        message(b'C', b"SELECT 1\0"),
        ready(),
    ]
    .concat()
}

/// A script that lets the client in first.
pub(crate) fn let_in(acts: &[Act]) -> Vec<Act> {
    [&[Act::Startup, Act::Send(welcome())], acts].concat()
}

/// Starts a server that plays the script on every connection; it lives as long as the test's process.
pub(crate) fn serve(script: Vec<Act>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let script = Arc::new(script);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let script = Arc::clone(&script);
            std::thread::spawn(move || {
                // Where the client has gone, the script is over.
                let _ = script.iter().try_for_each(|act| play(&stream, act));
            });
        }
    });
    address
}

fn play(mut stream: &TcpStream, act: &Act) -> io::Result<()> {
    match act {
        Act::Startup => {
            let mut length = [0; 4];
            stream.read_exact(&mut length)?;
            read_body(stream, length)
        }
        Act::Request => read_request(stream),
        Act::Send(bytes) => stream.write_all(bytes),
        Act::Trickle(bytes) => {
            stream.set_nodelay(true)?;
            bytes.iter().try_for_each(|byte| {
                std::thread::sleep(Duration::from_micros(200));
                stream.write_all(&[*byte])
            })
        }
        Act::Endless(bytes) => {
            let many = bytes.repeat(65_536 / bytes.len() + 1);
            loop {
                stream.write_all(&many)?;
            }
        }
        Act::Answer(count) => (0..*count).try_for_each(|_| answer_with(stream, &answer())),
        Act::AnswerAll => play(stream, &Act::AnswerAllWith(answer())),
        Act::AnswerAllWith(bytes) => loop {
            answer_with(stream, bytes)?;
        },
        Act::Packet => read_packet(stream),
        Act::PacketsAnsweredWith(bytes) => loop {
            read_packet(stream)?;
            stream.write_all(bytes)?;
        },
        Act::Listen => io::copy(&mut stream, &mut io::sink()).map(drop),
        Act::Freeze => loop {
            std::thread::sleep(SOON);
        },
        Act::Challenge(text) => challenge(stream, text),
    }
}

fn answer_with(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    read_request(stream)?;
    stream.write_all(bytes)
}

/// Reads messages up to a query, a Sync, a password or the end of a COPY's data.
fn read_request(mut stream: &TcpStream) -> io::Result<()> {
    loop {
        let mut header = [0; 5];
        stream.read_exact(&mut header)?;
        let [tag, length @ ..] = header;
        read_body(stream, length)?;
        if matches!(tag, b'Q' | b'S' | b'p' | b'c') {
            return Ok(());
        }
    }
}

fn read_packet(mut stream: &TcpStream) -> io::Result<()> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], 0]);
    io::copy(&mut stream.take(length.into()), &mut io::sink()).map(drop)
}

fn read_body(stream: &TcpStream, length: [u8; 4]) -> io::Result<()> {
    let count = u64::from(u32::from_be_bytes(length)) - 4;
    io::copy(&mut stream.take(count), &mut io::sink()).map(drop)
}

/// Sends a SCRAM challenge with what the client has begun with.
fn challenge(mut stream: &TcpStream, text: &str) -> io::Result<()> {
    let mut begun = [0; 1024];
    let count = stream.read(&mut begun)?;
    let begun = String::from_utf8_lossy(&begun[..count]).into_owned();
    let (_, nonce) = begun.split_once("r=").unwrap_or_default();
    let text = text.replace("{nonce}", nonce);
    stream.write_all(&authentication(11, text.as_bytes()))
}

/// The way to a server, as a user with a password.
pub(crate) fn target(address: SocketAddr) -> Target {
    Target {
        wire: Wire::Postgres,
        host: address.ip().to_string(),
        ip: None,
        port: address.port(),
        user: "dyno".to_owned(),
        database: "ib".to_owned(),
        options: String::new(),
        password: Some("secret".to_owned()),
        insecure: false,
        application_name: "dyno-test".to_owned(),
        tls: None,
    }
}

/// A session with a server that plays the script.
pub(crate) fn session(script: Vec<Act>) -> PostgresSession {
    PostgresSession::connect(&target(serve(script)), CONNECT_MAX).expect("let in")
}

/// The error of a session that must not come about, within its time.
pub(crate) fn refused(script: Vec<Act>) -> SessionError {
    refused_within(script, CONNECT_MAX)
}

/// The same with a time limit for the server.
pub(crate) fn refused_within(script: Vec<Act>, timeout: Duration) -> SessionError {
    let (target, start) = (target(serve(script)), Instant::now());
    let Err(error) = PostgresSession::connect(&target, timeout) else {
        panic!("let in")
    };
    assert!(start.elapsed() < timeout + SOON, "{:?}", start.elapsed());
    assert_line(&error.to_string());
    error
}

/// A text that people can read.
pub(crate) fn assert_line(text: &str) {
    assert!(!text.is_empty() && text.chars().count() < LINE_CHARACTERS_MAX);
    assert!(!text.chars().any(char::is_control), "{text:?}");
    assert!(!text.contains("secret"), "{text}");
}
