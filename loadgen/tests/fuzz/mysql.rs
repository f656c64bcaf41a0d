//! Packets, answers and the first exchange of a server of MySQL's protocol.

use crate::EXPLORED;
use crate::bound::bounded;
use crate::stream::reads;
use crate::wire::{mysql_greeting, mysql_packet};
use bolero::{TypeGenerator, check};
use dyno_loadgen::session::mysql::{Framing, Greeting, Handshake, Reader, Step};
use dyno_loadgen::session::{Captured, Incoming, Privacy, Reply, SessionError};

/// A password that appears in nothing else.
const PASSWORD: &str = "pä55word-of-the-test";

/// Payloads of packets that mean something: OK of an UPDATE, of a BEGIN, with another answer behind it; an error; a
/// number of columns; a column; rows as texts and in binary form; the end of rows in both forms; a prepared statement;
/// a request for a file; another method, more about it, the fast path of one.
const PAYLOADS: [&[u8]; 16] = [
    b"\0\x02\0\x02\0\0\0(Rows matched: 3  Changed: 2  Warnings: 0",
    b"\0\0\0\x03\0\0\0",
    b"\0\x01\0\x0a\0\0\0",
    b"\xff\xbd\x04#40001Deadlock found",
    b"\x01",
    b"\x03def\x02ib\x01t\x02t1\x01c\x01c\x0c\x08\0\x14\0\0\0\x08\0\0\0\0\0",
    b"\x0212",
    b"\xfb",
    b"\0\0\x07\0\0\0\0\0\0\0",
    b"\xfe\0\0\x02\0\0\0",
    b"\xfe\0\0\x02\0",
    b"\0\x01\0\0\0\x01\0\x01\0\0\0\0",
    b"\xfbrows",
    b"\xfemysql_native_password\0aaaaaaaaaaaaaaaaaaaa\0",
    b"\x01\x04",
    b"\x01\x03",
];

/// A part of what a server sends.
#[derive(Debug, Clone, TypeGenerator)]
enum Part {
    /// A packet that means something, with the number that comes next.
    Known(u8),
    /// The same with a byte replaced.
    Damaged { payload: u8, place: u16, byte: u8 },
    /// The same, cut.
    Cut { payload: u8, end: u8 },
    /// Any payload with the number that comes next.
    InTurn(Vec<u8>),
    /// Any packet.
    Any { number: u8, payload: Vec<u8> },
    /// The head of a packet that claims any length.
    Claim { length: [u8; 3], first: u8 },
    /// Any bytes.
    Junk(Vec<u8>),
}

fn known(index: u8) -> &'static [u8] {
    PAYLOADS[usize::from(index) % PAYLOADS.len()]
}

impl Part {
    fn payload(&self) -> Vec<u8> {
        match self {
            Self::Known(index) => known(*index).to_vec(),
            Self::Damaged {
                payload,
                place,
                byte,
            } => {
                let mut bytes = known(*payload).to_vec();
                let place = usize::from(*place) % bytes.len();
                bytes[place] = *byte;
                bytes
            }
            Self::Cut { payload, end } => {
                let bytes = known(*payload);
                bytes[..usize::from(*end) % bytes.len()].to_vec()
            }
            Self::InTurn(payload) | Self::Any { payload, .. } | Self::Junk(payload) => {
                payload.clone()
            }
            Self::Claim { first, .. } => vec![*first],
        }
    }

    fn bytes(&self, next: u8) -> Vec<u8> {
        match self {
            Self::Any { number, payload } => mysql_packet(*number, payload),
            Self::Claim { length, first } => [&length[..], &[next, *first]].concat(),
            Self::Junk(bytes) => bytes.clone(),
            _ => mysql_packet(next, &self.payload()),
        }
    }
}

/// A stream of parts, numbered from 1 on, and the sizes of the reads that it comes in.
#[derive(Debug, Clone, TypeGenerator)]
struct Stream {
    parts: Vec<Part>,
    sizes: Vec<u8>,
}

impl Stream {
    fn bytes(&self) -> Vec<u8> {
        let numbers = (0..=u8::MAX).cycle().skip(1);
        let parts = self.parts.iter().zip(numbers);
        parts.flat_map(|(part, next)| part.bytes(next)).collect()
    }
}

/// What a reader made of reads: the packets.
fn packets(reads: &[&[u8]]) -> Vec<(u8, u8, usize, Vec<u8>)> {
    let (mut framing, mut packets) = (Framing::new(), Vec::new());
    for read in reads {
        let mut input = *read;
        while let Some(packet) = framing.next(&mut input, |_| true) {
            let body = packet.body.to_vec();
            packets.push((packet.number, packet.first, packet.length, body));
        }
        assert!(input.is_empty(), "a read is used up");
    }
    packets
}

#[test]
fn packets_of_mysql_are_the_same_wherever_they_are_cut() {
    check!()
        .with_type::<Stream>()
        .with_test_time(EXPLORED)
        .for_each(|stream| {
            let bytes = stream.bytes();
            let reads = reads(&stream.sizes, &bytes);
            let cut = bounded(bytes.len() + reads.len() * 8, || packets(&reads));
            assert_eq!(cut, packets(&[&bytes]));
        });
}

/// What a request may be.
#[derive(Debug, Clone, Copy, TypeGenerator)]
enum Asked {
    Nothing,
    Text,
    Execution,
    Preparation,
}

/// All that a session knows after an answer.
#[derive(Debug, PartialEq)]
struct Seen {
    completed: bool,
    rows: u64,
    error: Option<String>,
    captured: Captured,
    broken: Option<String>,
}

/// Feeds reads to a reader, to which an answer may come if it was `asked`.
fn read(reads: &[&[u8]], asked: Asked, capturing: bool, older: bool) -> Seen {
    let (mut reader, mut reply) = (Reader::after(Framing::new(), older), Reply::default());
    reader.capture(capturing);
    match asked {
        Asked::Nothing => {}
        Asked::Text => reader.ask(),
        Asked::Execution => reader.ask_by(b"\x0a\0\0\0\x17\x01\0\0\0\0\x01\0\0\0"),
        Asked::Preparation => {
            reader.ask();
            reader.ask_to_prepare();
        }
    }
    let (mut completed, mut broken) = (false, None);
    for bytes in reads {
        match reader.feed(bytes, &mut reply) {
            Ok(complete) => completed |= complete,
            Err(error) => {
                broken = Some(error.to_string());
                break;
            }
        }
    }
    Seen {
        completed,
        rows: reply.rows,
        error: reply.error.map(|error| error.to_string()),
        captured: reader.take_captured(),
        broken,
    }
}

#[test]
fn answers_of_mysql_are_the_same_wherever_they_are_cut() {
    check!()
        .with_type::<(Stream, Asked, bool, bool)>()
        .with_test_time(EXPLORED)
        .for_each(|(stream, asked, capturing, older)| {
            let bytes = stream.bytes();
            let reads = reads(&stream.sizes, &bytes);
            let cut = bounded(bytes.len(), || read(&reads, *asked, *capturing, *older));
            let whole = bounded(bytes.len(), || read(&[&bytes], *asked, *capturing, *older));
            // An error is told in place of what the same read had completed.
            if whole.broken.is_none() {
                assert_eq!(cut, whole);
            } else {
                assert_eq!(cut.broken, whole.broken);
            }
            if let Some(line) = &cut.broken {
                assert!(!line.chars().any(char::is_control), "{line:?}");
            }
        });
}

/// Plays the first exchange; whether the session is ready, or the error, and what was sent.
fn exchange(
    greeting: &[u8],
    parts: &[Part],
    privacy: Privacy,
) -> (Result<bool, SessionError>, Vec<u8>) {
    let mut sent = Vec::new();
    let begun = Greeting::of_packet(greeting);
    let begun =
        begun.and_then(|greeting| Handshake::begin(&greeting, "dyno", Some(PASSWORD), privacy));
    let mut handshake = match begun {
        Ok((handshake, proof)) => {
            sent.extend(proof);
            handshake
        }
        Err(error) => return (Err(error), sent),
    };
    for part in parts {
        match handshake.take(&part.payload()) {
            Ok(Step::Wait) => {}
            Ok(Step::Send(bytes)) => sent.extend(bytes),
            Ok(Step::LetIn { .. }) => return (Ok(true), sent),
            Err(error) => return (Err(error), sent),
        }
    }
    (Ok(false), sent)
}

#[test]
fn any_exchange_of_mysql_ends_without_the_password_in_its_words() {
    check!()
        .with_type::<(Option<Vec<u8>>, u16, u8, Vec<Part>, bool)>()
        .with_test_time(EXPLORED)
        .for_each(|(greeting, place, byte, parts, private)| {
            let greeting = greeting.clone().unwrap_or_else(|| {
                let mut real = mysql_greeting().split_off(4);
                let place = usize::from(*place) % real.len();
                real[place] = *byte;
                real
            });
            let length = greeting.len() + 1024 * parts.len() + format!("{parts:?}").len();
            let privacy = if *private {
                Privacy::Tls
            } else {
                Privacy::Open
            };
            let (outcome, sent) = bounded(length, || exchange(&greeting, parts, privacy));
            if let Err(error) = &outcome {
                let line = error.to_string();
                assert!(!line.contains(PASSWORD), "{line}");
                assert!(!line.chars().any(char::is_control), "{line:?}");
            }
            let mut windows = sent.windows(PASSWORD.len());
            let told = windows.any(|bytes| bytes == PASSWORD.as_bytes());
            assert!(!told || *private, "the password where others can read it");
        });
}

#[test]
fn what_a_server_of_mysql_answers_is_understood() {
    let stream = |payloads: &[usize]| {
        let numbered = (1..).zip(payloads);
        let packets = numbered.map(|(number, payload)| mysql_packet(number, PAYLOADS[*payload]));
        packets.collect::<Vec<_>>().concat()
    };
    for (asked, older, payloads, rows) in [
        (Asked::Text, false, &[0][..], 2),
        (Asked::Text, false, &[3], 0),
        (Asked::Text, false, &[2, 4, 5, 6, 7, 9], 3),
        (Asked::Text, true, &[4, 5, 10, 6, 10], 1),
        (Asked::Execution, false, &[4, 5, 8, 9], 1),
        (Asked::Preparation, false, &[11, 5, 5], 0),
    ] {
        let bytes = stream(payloads);
        for capturing in [false, true] {
            let seen = read(&[&bytes], asked, capturing, older);
            assert!(
                seen.completed && seen.broken.is_none(),
                "{payloads:?}: {seen:?}"
            );
            assert_eq!(seen.rows, rows, "{payloads:?}");
        }
    }
}
