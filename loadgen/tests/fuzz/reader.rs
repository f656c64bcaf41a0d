//! Messages and answers.

use crate::EXPLORED;
use crate::bound::bounded;
use crate::stream::{ANSWERS, Stream};
use bolero::check;
use dyno_loadgen::session::postgres::{Framing, Reader};
use dyno_loadgen::session::{Captured, Incoming, Reply};

/// What a reader made of reads: messages with their bodies, and the error that ended it.
fn messages(reads: &[&[u8]]) -> (Vec<(u8, Vec<u8>)>, Option<String>) {
    let (mut framing, mut messages) = (Framing::new(), Vec::new());
    for read in reads {
        let mut input = *read;
        loop {
            match framing.next(&mut input, |_| true) {
                Ok(Some(message)) => messages.push((message.tag, message.body.to_vec())),
                Ok(None) => break,
                Err(error) => return (messages, Some(error.to_string())),
            }
        }
        assert!(input.is_empty(), "a read is used up");
    }
    (messages, None)
}

#[test]
fn messages_are_the_same_wherever_they_are_cut() {
    check!()
        .with_type::<Stream>()
        .with_test_time(EXPLORED)
        .for_each(|stream| {
            let bytes = stream.bytes();
            let reads = stream.reads(&bytes);
            let cut = bounded(bytes.len() + reads.len() * 8, || messages(&reads));
            assert_eq!(cut, messages(&[&bytes]));
        });
}

/// All that a session knows after an answer.
#[derive(Debug, PartialEq)]
struct Seen {
    completed: u32,
    rows: u64,
    error: Option<String>,
    captured: Captured,
    broken: Option<String>,
}

/// Feeds reads to a reader, to which an answer may come if it was `asked`.
fn read(reads: &[&[u8]], capturing: bool, asked: bool) -> Seen {
    let (mut reader, mut reply) = (Reader::new(Framing::new()), Reply::default());
    reader.capture(capturing);
    if asked {
        reader.ask();
    }
    let mut completed = 0;
    let mut broken = None;
    for bytes in reads {
        match reader.feed(bytes, &mut reply) {
            Ok(complete) => completed += u32::from(complete),
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
fn answers_are_the_same_wherever_they_are_cut() {
    check!()
        .with_type::<(Stream, bool, bool)>()
        .with_test_time(EXPLORED)
        .for_each(|(stream, capturing, asked)| {
            let bytes = stream.bytes();
            let reads = stream.reads(&bytes);
            let cut = bounded(bytes.len(), || read(&reads, *capturing, *asked));
            let whole = bounded(bytes.len(), || read(&[&bytes], *capturing, *asked));
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

#[test]
fn what_a_real_server_answers_is_understood() {
    for bytes in ANSWERS {
        let (read_messages, broken) = messages(&[bytes]);
        assert!(broken.is_none() && !read_messages.is_empty());
        let of_a_session = read_messages.iter().all(|(tag, _)| !b"RKG".contains(tag));
        for capturing in [false, true] {
            let seen = read(&[bytes], capturing, true);
            let complete = bytes.ends_with(b"Z\0\0\0\x05I");
            if of_a_session {
                assert_eq!((seen.completed, seen.broken), (u32::from(complete), None));
            }
        }
    }
}
