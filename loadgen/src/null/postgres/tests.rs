//! Conversations with the null server, read by the reference decoder of the protocol.

use super::Session;
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use proptest::prelude::*;

/// A startup packet.
fn startup() -> Vec<u8> {
    let mut out = BytesMut::new();
    frontend::startup_message([("user", "anyone"), ("database", "any")], &mut out).unwrap();
    out.to_vec()
}

/// What messages `write` makes.
fn requests(write: impl FnOnce(&mut BytesMut)) -> Vec<u8> {
    let mut out = BytesMut::new();
    write(&mut out);
    out.to_vec()
}

fn query(sql: &str) -> Vec<u8> {
    requests(|out| frontend::query(sql, out).unwrap())
}

fn bind(statement: &str, value: &[u8], binary: i16, out: &mut BytesMut) {
    let write = |value: &[u8], out: &mut BytesMut| {
        out.extend_from_slice(value);
        Ok(IsNull::No)
    };
    assert!(frontend::bind("", statement, [1], [value], write, [binary], out).is_ok());
}

/// What a session answers, and whether it goes on.
fn answer(session: &mut Session, input: &[u8]) -> (Vec<String>, bool) {
    let mut out = Vec::new();
    let goes_on = session.take(input, &mut out);
    (said(&out), goes_on)
}

/// What a session that has begun answers.
fn answers(input: &[u8]) -> Vec<String> {
    let mut session = Session::new();
    assert!(answer(&mut session, &startup()).1);
    answer(&mut session, input).0
}

/// Messages of the server in words.
fn said(bytes: &[u8]) -> Vec<String> {
    let mut bytes = BytesMut::from(bytes);
    let mut said = Vec::new();
    while let Some(message) = Message::parse(&mut bytes).unwrap() {
        said.push(words(message));
    }
    assert!(bytes.is_empty(), "no message: {bytes:?}");
    said
}

fn words(message: Message) -> String {
    match message {
        Message::AuthenticationOk => "welcome".to_owned(),
        Message::ParameterStatus(body) => format!("{}=", body.name().unwrap()),
        Message::BackendKeyData(body) => {
            assert_eq!(body.process_id().unsigned_abs(), std::process::id());
            "key".to_owned()
        }
        Message::ReadyForQuery(body) => format!("ready {}", char::from(body.status())),
        Message::CommandComplete(body) => body.tag().unwrap().to_owned(),
        Message::ParseComplete => "parsed".to_owned(),
        Message::BindComplete => "bound".to_owned(),
        Message::CloseComplete => "closed".to_owned(),
        Message::NoData => "no data".to_owned(),
        Message::ParameterDescription(body) => {
            let types: Vec<_> = body.parameters().collect().unwrap();
            format!("parameters {types:?}")
        }
        Message::RowDescription(body) => {
            let fields = body.fields().map(|field| {
                Ok(format!(
                    "column {} of {} as {}",
                    field.name(),
                    field.type_oid(),
                    field.format()
                ))
            });
            fields.collect::<Vec<_>>().unwrap().join(", ")
        }
        Message::DataRow(body) => {
            let ranges: Vec<_> = body.ranges().collect().unwrap();
            let values = ranges
                .into_iter()
                .map(|range| &body.buffer()[range.unwrap()]);
            format!("row {:?}", values.collect::<Vec<_>>())
        }
        Message::ErrorResponse(body) => {
            let fields = body.fields().map(|field| {
                Ok((
                    field.type_(),
                    String::from_utf8_lossy(field.value_bytes()).into_owned(),
                ))
            });
            let fields: Vec<_> = fields.collect().unwrap();
            let field = |kind| &fields.iter().find(|field| field.0 == kind).unwrap().1;
            format!("{} {}", field(b'S'), field(b'C'))
        }
        _ => panic!("a message that the null server never sends"),
    }
}

#[test]
fn anybody_is_let_in_and_encryption_is_declined() {
    let mut session = Session::new();
    let mut out = Vec::new();
    let ssl = requests(frontend::ssl_request);
    assert!(session.take(&ssl, &mut out));
    assert_eq!(out, b"N");
    let (said, goes_on) = answer(&mut session, &startup());
    assert!(goes_on);
    assert_eq!(said[0], "welcome");
    assert!(said.contains(&"client_encoding=".to_owned()));
    assert_eq!(said[said.len() - 2..], ["key", "ready I"]);
}

#[test]
fn simple_queries_have_their_tags_and_a_select_its_row() {
    let column = "column ?column? of 23 as 0";
    for (sql, expected) in [
        (
            "SELECT 1",
            vec![column, "row [[48]]", "SELECT 1", "ready I"],
        ),
        ("INSERT INTO t VALUES ($1)", vec!["INSERT 0 1", "ready I"]),
        ("BEGIN", vec!["BEGIN", "ready T"]),
        ("CREATE INDEX i ON t (a)", vec!["OK", "ready I"]),
        (" ;", vec!["ERROR 0A000", "ready I"]),
        ("COPY t FROM STDIN", vec!["ERROR 0A000", "ready I"]),
        ("EXECUTE s(1)", vec!["ERROR 0A000", "ready I"]),
        ("BEGIN; DELETE FROM t", vec!["ERROR 0A000", "ready I"]),
    ] {
        assert_eq!(answers(&query(sql)), expected, "{sql}");
    }
}

#[test]
fn a_transaction_is_told_until_it_ends() {
    let statements = ["BEGIN", "DELETE FROM t", "ROLLBACK TO s", "END"].map(query);
    let expected = [
        "BEGIN", "ready T", "DELETE 1", "ready T", "ROLLBACK", "ready T",
    ];
    let said = answers(&statements.concat());
    assert_eq!(said, [&expected[..], &["COMMIT", "ready I"]].concat());
}

#[test]
fn an_error_in_the_extended_protocol_passes_over_what_follows_up_to_the_sync() {
    let requests = requests(|out| {
        frontend::parse("s", "COPY t FROM STDIN", None, out).unwrap();
        frontend::execute("", 0, out).unwrap();
        frontend::sync(out);
        frontend::execute("", 0, out).unwrap();
        frontend::sync(out);
    });
    let expected = ["ERROR 0A000", "ready I", "ERROR 34000", "ready I"];
    assert_eq!(answers(&requests), expected);
}

#[test]
fn a_prepared_statement_is_described_bound_and_executed() {
    let parse = requests(|out| {
        frontend::parse("s", "SELECT c FROM t WHERE a=$1 AND b<$2", None, out).unwrap();
        frontend::describe(b'S', "s", out).unwrap();
        frontend::sync(out);
    });
    let execute = requests(|out| {
        bind("s", b"\0\0\0\0\0\0\0\x07", 1, out);
        frontend::describe(b'P', "", out).unwrap();
        frontend::execute("", 0, out).unwrap();
        frontend::sync(out);
        frontend::close(b'S', "s", out).unwrap();
        bind("s", b"7", 0, out);
        frontend::execute("", 0, out).unwrap();
        frontend::sync(out);
    });
    let expected = [
        "parsed",
        "parameters [20, 20]",
        "column ?column? of 23 as 0",
        "ready I",
        "bound",
        "column ?column? of 23 as 1",
        "row [[0, 0, 0, 0]]",
        "SELECT 1",
        "ready I",
        "closed",
        "ERROR 26000",
        "ready I",
    ];
    assert_eq!(answers(&[parse, execute].concat()), expected);
}

#[test]
fn what_cannot_be_understood_gets_an_error_and_an_end() {
    for broken in [
        &b"Q\0\0\0\x06ab"[..],
        b"Q\0\0\0\x01",
        b"?\0\0\0\x04",
        b"B\0\0\0\x06\0\0",
        b"d\0\0\0\x04",
    ] {
        let mut session = Session::new();
        answer(&mut session, &startup());
        let (said, goes_on) = answer(&mut session, broken);
        assert_eq!((said, goes_on), (vec!["FATAL 08P01".to_owned()], false));
    }
    let another = [0, 0, 0, 8, 0, 2, 0, 0];
    for packet in [&[0, 0, 0, 4][..], &[0xff; 4], &[0, 1, 0, 0], &another] {
        let (said, goes_on) = answer(&mut Session::new(), packet);
        assert_eq!((said, goes_on), (vec!["FATAL 08P01".to_owned()], false));
    }
    assert!(
        !answer(&mut Session::new(), &[0, 0, 0, 8, 4, 0xd2, 0x16, 0x2e]).1,
        "a cancel request"
    );
    let goodbye = [startup(), requests(frontend::terminate)].concat();
    assert!(!answer(&mut Session::new(), &goodbye).1);
}

/// A stream with everything in it.
fn everything() -> Vec<u8> {
    let extended = requests(|out| {
        frontend::parse("", "UPDATE t SET a=$1", None, out).unwrap();
        bind("", b"12345678", 0, out);
        frontend::execute("", 0, out).unwrap();
        frontend::sync(out);
    });
    let long = query(&format!("INSERT INTO t VALUES ('{}')", "x;".repeat(100)));
    [startup(), query("SELECT 1"), query("BEGIN"), extended, long].concat()
}

proptest! {
    #[test]
    fn requests_cut_anywhere_get_the_same_answers(sizes in prop::collection::vec(1_usize..200, 1..20)) {
        let stream = everything();
        let whole = answer(&mut Session::new(), &stream);
        prop_assert_eq!(whole.0.len(), 21);
        let (mut session, mut out) = (Session::new(), Vec::new());
        let (mut rest, mut sizes) = (&stream[..], sizes.into_iter().cycle());
        while !rest.is_empty() {
            let (front, after) = rest.split_at(sizes.next().unwrap().min(rest.len()));
            prop_assert!(session.take(front, &mut out));
            rest = after;
        }
        prop_assert_eq!(said(&out), whole.0);
    }

    #[test]
    fn any_bytes_end_in_answers_or_an_error(
        messages in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..40)), 0..20),
    ) {
        let mut session = Session::new();
        answer(&mut session, &startup());
        for (tag, body) in messages {
            let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
            if !answer(&mut session, &[&[tag][..], &length, &body].concat()).1 {
                break;
            }
        }
    }

    #[test]
    fn any_sql_is_answered(sql in "[-a-z'\"$;/*() \n0-9]{0,60}") {
        let said = answers(&query(&sql));
        prop_assert!(said.last().unwrap().starts_with("ready"));
    }
}
