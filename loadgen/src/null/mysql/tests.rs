//! Conversations with the null server in MySQL's protocol.

use super::Session;
use proptest::prelude::*;

/// PROTOCOL_41, SECURE_CONNECTION and PLUGIN_AUTH.
const CAPABILITIES: u32 = 1 << 9 | 1 << 15 | 1 << 19;
const DEPRECATE_EOF: u32 = 1 << 24;

fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap().to_le_bytes();
    [&length[..3], &[number], body].concat()
}

fn hello(capabilities: u32, answer: &[u8], plugin: &str) -> Vec<u8> {
    let mut body = capabilities.to_le_bytes().to_vec();
    body.extend([0, 0, 0, 1, 8]);
    body.extend([0; 23]);
    body.extend(b"anyone\0");
    body.push(u8::try_from(answer.len()).unwrap());
    body.extend(answer);
    body.extend(plugin.as_bytes());
    body.push(0);
    packet(1, &body)
}

fn query(sql: &str) -> Vec<u8> {
    packet(0, &[b"\x03", sql.as_bytes()].concat())
}

fn prepare(sql: &str) -> Vec<u8> {
    packet(0, &[b"\x16", sql.as_bytes()].concat())
}

/// An execution of statement `id` with one number.
fn execute(id: u8) -> Vec<u8> {
    let mut body = vec![0x17, id, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 8, 0];
    body.extend(7_i64.to_le_bytes());
    packet(0, &body)
}

/// A session whose client has been let in.
fn begun(capabilities: u32) -> Session {
    let mut session = Session::new(&mut Vec::new());
    let hello = hello(capabilities, &[7; 20], "mysql_native_password");
    let (said, goes_on) = answer(&mut session, &hello);
    assert_eq!((said, goes_on), (vec!["2 ok 0".to_owned()], true));
    session
}

/// What a session answers, and whether it goes on.
fn answer(session: &mut Session, input: &[u8]) -> (Vec<String>, bool) {
    let mut out = Vec::new();
    let goes_on = session.take(input, &mut out);
    (said(&out), goes_on)
}

fn answers(capabilities: u32, input: &[u8]) -> Vec<String> {
    let (said, goes_on) = answer(&mut begun(capabilities), input);
    assert!(goes_on);
    said
}

/// The server's packets in words, with their numbers.
fn said(mut bytes: &[u8]) -> Vec<String> {
    let mut said = Vec::new();
    while !bytes.is_empty() {
        let length = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        assert_eq!(bytes[2], 0, "short");
        let (body, rest) = bytes[4..].split_at(length);
        said.push(format!("{} {}", bytes[3], words(body)));
        bytes = rest;
    }
    said
}

fn words(body: &[u8]) -> String {
    let state = |at: usize| match u16::from_le_bytes([body[at], body[at + 1]]) {
        2 => "",
        3 => " in transaction",
        other => panic!("state {other}"),
    };
    match *body {
        // OK: of a statement that was prepared, with columns and parameters; or with changed rows.
        [0, id, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0] => {
            format!("prepared {id}: {columns} {parameters}")
        }
        [0, rows, 0, _, _, 0, 0] => format!("ok {rows}{}", state(3)),
        [0xfe, 0, 0, _, _] => format!("eof{}", state(3)),
        [0xfe, 0, 0, _, _, 0, 0] => format!("end{}", state(3)),
        [0xff, low, high, b'#', ref rest @ ..] => {
            let state = String::from_utf8_lossy(&rest[..5]);
            format!("error {} {state}", u16::from_le_bytes([low, high]))
        }
        [1] => "1 column".to_owned(),
        [3, b'd', b'e', b'f', ..] => "column".to_owned(),
        [1, b'0'] => "row".to_owned(),
        [0, 0, 0, 0, 0, 0] => "binary row".to_owned(),
        [10, ..] => "greeting".to_owned(),
        _ => format!("{body:?}"),
    }
}

#[test]
fn statements_change_a_row_or_return_one() {
    for (sql, expected) in [
        ("INSERT INTO t VALUES (1)", vec!["1 ok 1"]),
        ("ALTER TABLE t ADD INDEX (k)", vec!["1 ok 0"]),
        ("BEGIN", vec!["1 ok 0 in transaction"]),
        (
            "SELECT 1",
            vec!["1 1 column", "2 column", "3 eof", "4 row", "5 eof"],
        ),
        (" ; ", vec!["1 error 1295 HY000"]),
        ("EXECUTE s", vec!["1 error 1295 HY000"]),
        (
            "LOAD DATA LOCAL INFILE 'x' INTO TABLE t",
            vec!["1 error 1295 HY000"],
        ),
    ] {
        assert_eq!(answers(CAPABILITIES, &query(sql)), expected, "{sql}");
    }
    let said = answers(CAPABILITIES | DEPRECATE_EOF, &query("SELECT 1"));
    assert_eq!(said, ["1 1 column", "2 column", "3 row", "4 end"]);
}

#[test]
fn anybody_is_let_in_by_one_answer() {
    let mut greeting = Vec::new();
    Session::new(&mut greeting);
    assert_eq!(said(&greeting), ["0 greeting"]);
    assert!(greeting.ends_with(b"mysql_native_password\0"));
    for proof in [&[7; 20][..], b""] {
        let mut session = Session::new(&mut Vec::new());
        let hello = hello(CAPABILITIES, proof, "mysql_native_password");
        assert_eq!(answer(&mut session, &hello).0, ["2 ok 0"]);
    }
}

#[test]
fn a_transaction_is_told_until_it_ends() {
    let statements = ["BEGIN", "DELETE FROM t", "ROLLBACK TO s", "COMMIT"].map(query);
    let expected = [
        "1 ok 0 in transaction",
        "1 ok 1 in transaction",
        "1 ok 0 in transaction",
    ];
    let said = answers(CAPABILITIES, &statements.concat());
    assert_eq!(said, [&expected[..], &["1 ok 0"]].concat());
}

#[test]
fn a_ping_is_answered_and_what_is_not_known_refused() {
    assert_eq!(answers(CAPABILITIES, &packet(0, b"\x0e")), ["1 ok 0"]);
    let said = answers(CAPABILITIES, &packet(0, b"\x11"));
    assert_eq!(said, ["1 error 1047 08S01"]);
    assert!(
        !answer(&mut begun(CAPABILITIES), &packet(0, b"\x01")).1,
        "goodbye"
    );
}

#[test]
fn what_is_prepared_can_be_executed_until_it_is_closed() {
    let both = [prepare("SELECT c FROM t WHERE id = ?"), execute(1)].concat();
    let said = answers(CAPABILITIES, &both);
    let described = [
        "1 prepared 1: 1 1",
        "2 column",
        "3 eof",
        "4 column",
        "5 eof",
    ];
    let row = ["1 1 column", "2 column", "3 eof", "4 binary row", "5 eof"];
    assert_eq!(said, [described, row].concat());
    let closed = packet(0, b"\x19\x01\0\0\0");
    let all = [
        prepare("UPDATE t SET a = ?"),
        execute(1),
        closed,
        execute(1),
    ]
    .concat();
    let said = answers(CAPABILITIES | DEPRECATE_EOF, &all);
    let expected = [
        "1 prepared 1: 0 1",
        "2 column",
        "1 ok 1",
        "1 error 1243 HY000",
    ];
    assert_eq!(said, expected);
}

#[test]
fn what_cannot_be_understood_gets_an_error_and_an_end() {
    for broken in [&b""[..], b"\x17\x01", b"\x19"] {
        let (said, goes_on) = answer(&mut begun(CAPABILITIES), &packet(0, broken));
        assert_eq!(
            (said, goes_on),
            (vec!["1 error 1043 08S01".to_owned()], false)
        );
    }
    let (said, goes_on) = answer(&mut begun(CAPABILITIES), &packet(1, b"\x0e"));
    assert_eq!((said.len(), goes_on), (1, false), "out of turn");
    let long = [&[0xff, 0xff, 0xff, 0][..], &vec![b'x'; 0xff_ffff]].concat();
    assert!(!answer(&mut begun(CAPABILITIES), &long).1, "16 MiB");
    let cut = [
        prepare("SELECT ?"),
        packet(0, b"\x17\x01\0\0\0\0\x01\0\0\0"),
    ]
    .concat();
    assert!(!answer(&mut begun(CAPABILITIES), &cut).1, "no types");
    for greeting in [
        packet(1, b"GET / HTTP/1.1"),
        hello(CAPABILITIES & !(1 << 9), b"", ""),
        packet(0, b""),
    ] {
        assert!(!answer(&mut Session::new(&mut Vec::new()), &greeting).1);
    }
}

/// A stream with everything in it.
fn everything() -> Vec<u8> {
    [
        hello(CAPABILITIES, &[7; 20], "mysql_native_password"),
        query("SELECT 1"),
        query("BEGIN"),
        prepare("UPDATE t SET a = ?"),
        execute(1),
        query(&format!("INSERT INTO t VALUES ('{}')", "x;".repeat(100))),
    ]
    .concat()
}

proptest! {
    #[test]
    fn requests_cut_anywhere_get_the_same_answers(sizes in prop::collection::vec(1_usize..200, 1..20)) {
        let stream = everything();
        let whole = answer(&mut Session::new(&mut Vec::new()), &stream);
        prop_assert_eq!(whole.0.len(), 12);
        let (mut session, mut out) = (Session::new(&mut Vec::new()), Vec::new());
        let (mut rest, mut sizes) = (&stream[..], sizes.into_iter().cycle());
        while !rest.is_empty() {
            let (front, after) = rest.split_at(sizes.next().unwrap().min(rest.len()));
            prop_assert!(session.take(front, &mut out));
            rest = after;
        }
        prop_assert_eq!(said(&out), whole.0);
    }

    #[test]
    fn any_requests_end_in_answers_or_an_error(
        requests in prop::collection::vec((0_u8..0x22, prop::collection::vec(any::<u8>(), 0..40)), 0..20),
    ) {
        let mut session = begun(CAPABILITIES);
        for (kind, body) in requests {
            if !answer(&mut session, &packet(0, &[&[kind][..], &body].concat())).1 {
                break;
            }
        }
    }

    #[test]
    fn any_sql_is_answered(sql in "[-a-z'\"`\\\\#;/*?() \n0-9]{0,60}") {
        prop_assert!(!answers(CAPABILITIES, &query(&sql)).is_empty());
        prop_assert!(!answers(CAPABILITIES, &prepare(&sql)).is_empty());
    }
}
