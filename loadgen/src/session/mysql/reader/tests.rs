//! Answers as servers give them, cut anywhere, and what is no answer.

use super::*;
use crate::wire::Keep;
use proptest::prelude::*;

fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    mysql::packet(&mut out, number, payload);
    out
}

/// A reader that the answer to a request may come to.
fn asked(ends_descriptions: bool, request: &[u8]) -> Reader {
    let mut reader = Reader::after(Framing::new(), ends_descriptions);
    reader.ask_by(request);
    reader
}

/// The description of a column.
fn column(name: &str, type_: u8, flags: u8) -> Vec<u8> {
    let mut out = Vec::new();
    for text in ["def", "ib", "t", "t1", name, name] {
        mysql::text(&mut out, |out| out.extend_from_slice(text.as_bytes()));
    }
    out.extend_from_slice(&[0x0c, 8, 0, 20, 0, 0, 0, type_, flags, 0, 0, 0, 0]);
    out
}

const INSERTED: &[u8] = b"\0\x32\0\x02\0\0\0";
const UPDATED: &[u8] = b"\0\x02\0\x0a\0\0\0(Rows matched: 3  Changed: 2  Warnings: 0";
const EXECUTE: &[u8] = b"\x0a\0\0\0\x17\x01\0\0\0\0\x01\0\0\0";
const END_OF_ROWS: &[u8] = b"\xfe\0\0\x02\0\0\0";
const EOF: &[u8] = b"\xfe\0\0\x02\0";

/// Packets with their numbers from 1 on.
fn stream(payloads: &[Vec<u8>]) -> Vec<u8> {
    let numbered = (1..).zip(payloads);
    numbered
        .flat_map(|(number, payload)| packet(number, payload))
        .collect()
}

/// An UPDATE, and a result of two rows of texts behind it.
fn texts(ends_descriptions: bool) -> Vec<u8> {
    let mut payloads = vec![UPDATED.to_vec(), b"\x02".to_vec()];
    payloads.extend([column("id", 8, 0), column("c", 253, 0)]);
    payloads.extend(ends_descriptions.then(|| EOF.to_vec()));
    payloads.extend([b"\x0212\x02ab".to_vec(), b"\x03-13\xfb".to_vec()]);
    payloads.push(if ends_descriptions { EOF } else { END_OF_ROWS }.to_vec());
    stream(&payloads)
}

#[test]
fn an_answer_cut_at_any_byte_is_understood_the_same() {
    for (ends_descriptions, capturing) in
        [(false, false), (true, false), (false, true), (true, true)]
    {
        let stream = texts(ends_descriptions);
        for cut in 0..=stream.len() {
            let (mut reader, mut reply) = (asked(ends_descriptions, b""), Reply::default());
            reader.capture(capturing);
            let first = reader.feed(&stream[..cut], &mut reply).expect("valid");
            let second = reader.feed(&stream[cut..], &mut reply).expect("valid");
            assert_eq!(
                (first, second),
                (cut == stream.len(), cut < stream.len()),
                "{cut}"
            );
            assert_eq!((reply.rows, reply.error), (4, None));
            if capturing {
                let captured = reader.take_captured();
                assert_eq!(captured.columns, ["id", "c"]);
                let text = |text: &str| Some(text.to_owned());
                assert_eq!(
                    captured.rows,
                    [[text("12"), text("ab")], [text("-13"), None]]
                );
                assert_eq!(captured.notices, ["Rows matched: 3 Changed: 2 Warnings: 0"]);
                assert_eq!(captured.affected, 4);
            }
        }
    }
}

#[test]
fn rows_in_binary_form_are_shown_as_texts() {
    let columns = [
        ("tiny", 1, 0),
        ("big", 8, 0x20),
        ("none", 3, 0),
        ("double", 5, 0),
        ("time", 12, 0),
        ("day", 10, 0),
        ("midnight", 12, 0),
        ("span", 11, 0),
        ("text", 253, 0),
    ];
    let mut row = vec![0, 0b1_0000, 0, 0xff];
    row.extend_from_slice(&u64::MAX.to_le_bytes());
    row.extend_from_slice(&1.5_f64.to_le_bytes());
    row.extend_from_slice(b"\x0b\xd0\x07\x02\x1d\x17\x3b\x3a\x07\0\0\0");
    row.extend_from_slice(b"\x04\xd0\x07\x02\x1d");
    row.extend_from_slice(b"\x04\xd0\x07\x02\x1d");
    row.extend_from_slice(b"\x08\x01\x01\0\0\0\x02\x03\x04\x02ab");
    let mut payloads = vec![vec![9]];
    payloads.extend(columns.map(|(name, type_, flags)| column(name, type_, flags)));
    payloads.extend([row, END_OF_ROWS.to_vec()]);
    let (mut reader, mut reply) = (asked(false, EXECUTE), Reply::default());
    reader.capture(true);
    assert!(reader.feed(&stream(&payloads), &mut reply).expect("valid"));
    let captured = reader.take_captured();
    let row: Vec<_> = captured.rows[0].iter().map(Option::as_deref).collect();
    let expected = [
        Some("-1"),
        Some("18446744073709551615"),
        None,
        Some("1.5"),
        Some("2000-02-29 23:59:58.000007"),
        Some("2000-02-29"),
        Some("2000-02-29 00:00:00"),
        Some("-26:03:04"),
        Some("ab"),
    ];
    assert_eq!(row, expected);
}

#[test]
fn a_prepared_statement_is_known_by_its_number_and_parameters() {
    for (ends_descriptions, more) in [(false, 0), (true, 2)] {
        let mut payloads = vec![b"\0\x07\0\0\0\x01\0\x02\0\0\0\0".to_vec()];
        payloads.extend(vec![column("?", 253, 0); 3 + more]);
        let mut reader = asked(ends_descriptions, b"");
        reader.ask_to_prepare();
        let fed = reader.feed(&stream(&payloads), &mut Reply::default());
        assert!(fed.expect("valid"));
        let expected = Prepared {
            id: 7,
            parameters: 2,
        };
        assert_eq!(reader.prepared(), expected);
    }
    let mut reader = asked(false, b"");
    reader.ask_to_prepare();
    let fed = reader.feed(
        &packet(1, b"\0\x07\0\0\0\0\0\0\0\0\0\0"),
        &mut Reply::default(),
    );
    assert!(fed.expect("nothing to describe"));
}

#[test]
fn an_error_ends_an_answer_and_one_after_it_is_a_parting() {
    let deadlock = b"\xff\xbd\x04#40001Deadlock";
    let (mut reader, mut reply) = (asked(false, b""), Reply::default());
    let parting = packet(0, b"\xff\xbf\x0f#HY000The client was disconnected");
    let stream = [packet(1, deadlock), parting].concat();
    assert!(reader.feed(&stream, &mut reply).expect("valid"));
    assert_eq!(reply.error.expect("an error").number, 1213);
    assert_eq!(reader.take_parting().expect("a parting").number, 4031);
    let (mut reader, mut reply) = (asked(false, b""), Reply::default());
    let within = [
        vec![1],
        column("c", 253, 0),
        b"\x01a".to_vec(),
        deadlock.to_vec(),
    ];
    assert!(
        reader
            .feed(&self::stream(&within), &mut reply)
            .expect("valid")
    );
    assert_eq!(
        (reply.error.expect("an error").number, reply.rows),
        (1213, 0)
    );
}

#[test]
fn what_does_not_belong_into_an_answer_is_an_error() {
    for stream in [
        packet(2, INSERTED),
        packet(1, b""),
        packet(1, b"\xfbfile"),
        packet(1, b"\xfd\x01\0\x01"),
        packet(1, b"\0\xfe\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0"),
        [packet(1, INSERTED), packet(1, INSERTED)].concat(),
    ] {
        let refused = asked(false, b"").feed(&stream, &mut Reply::default());
        assert!(
            matches!(refused, Err(SessionError::Protocol(_))),
            "{stream:?}"
        );
    }
}

#[test]
fn a_row_of_several_packets_is_one_row() {
    let mut long = Vec::new();
    mysql::text(&mut long, |out| out.resize(out.len() + (17 << 20), b'x'));
    let mut stream = stream(&[vec![1], column("c", 253, 0)]);
    mysql::packet(&mut stream, 3, &long);
    stream.extend(packet(5, END_OF_ROWS));
    let (mut reader, mut reply) = (asked(false, b""), Reply::default());
    let mut ready = false;
    for piece in stream.chunks(1 << 16) {
        ready = reader.feed(piece, &mut reply).expect("valid");
    }
    assert!(ready);
    assert_eq!(reply.rows, 1);
}

/// Feeds a stream in pieces and stops at an error, as a session does.
fn feed_pieces(reader: &mut Reader, stream: &[u8], piece_bytes: usize) {
    let mut reply = Reply {
        results: Some(Box::default()),
        ..Reply::default()
    };
    reply.begin(Keep::Every);
    for piece in stream.chunks(piece_bytes) {
        if reader.feed(piece, &mut reply).is_err() {
            break;
        }
    }
    reply.results.expect("kept").visit(|_, _| {});
}

proptest! {
    #[test]
    fn an_answer_with_any_bytes_replaced_neither_panics_nor_hangs(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        piece_bytes in 1usize..64,
        capturing: bool,
        binary: bool,
    ) {
        let mut stream = texts(false);
        for (place, byte) in changes {
            let length = stream.len();
            stream[place.index(length)] = byte;
        }
        let mut reader = asked(false, if binary { EXECUTE } else { b"" });
        reader.capture(capturing);
        feed_pieces(&mut reader, &stream, piece_bytes);
    }

    #[test]
    fn any_bytes_neither_panic_nor_hang(
        stream in prop::collection::vec(any::<u8>(), 0..300),
        piece_bytes in 1usize..64,
        capturing: bool,
    ) {
        let mut reader = asked(false, b"");
        reader.capture(capturing);
        feed_pieces(&mut reader, &stream, piece_bytes);
    }
}
