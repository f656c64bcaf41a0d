//! Servers of MySQL's protocol that go wrong: before the session is ready, in their answers, in a fill.

use crate::encryption::tls;
use crate::program::{failed, fill_job, filled, job, unhurried};
use crate::script::{Act, SOON, assert_line, serve, target};
use crate::wire::{mysql_greeting, mysql_packet};
use crate::worker::{ask, broken, worker};
use dyno_loadgen::session::mysql::MySqlSession;
use dyno_loadgen::session::{AnySession, SessionError, Target};
use dyno_loadgen::wire::{MySqlChoice, Wire};
use serde_json::Value;
use std::time::{Duration, Instant};

/// How long a server is waited for that says nothing of use.
const PATIENCE: Duration = Duration::from_millis(300);
const CONNECT_MAX: Duration = Duration::from_secs(20);

const OK: &[u8] = b"\0\0\0\x02\0\0\0";
const END_OF_ROWS: &[u8] = b"\xfe\0\0\x02\0\0\0";
const COLUMN: &[u8] = b"\x03def\0\0\0\x01c\0\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0";
const ASKS_FOR_DATA: &[u8] = b"\xfbrows";

/// The answer to `SELECT 1`.
fn answer() -> Vec<u8> {
    packets(&[b"\x01", COLUMN, b"\x011", END_OF_ROWS])
}

/// Payloads as packets from number 1 on.
fn packets(payloads: &[&[u8]]) -> Vec<u8> {
    let numbered = (1..).zip(payloads);
    let packets = numbered.map(|(number, payload)| mysql_packet(number, payload));
    packets.collect::<Vec<_>>().concat()
}

fn greet() -> Act {
    Act::Send(mysql_greeting())
}

/// A script that lets the client in first.
fn let_in(acts: &[Act]) -> Vec<Act> {
    let welcome = [greet(), Act::Packet, Act::Send(mysql_packet(2, OK))];
    [&welcome, acts].concat()
}

fn connect(script: Vec<Act>, timeout: Duration) -> Result<MySqlSession, SessionError> {
    let target = Target {
        wire: Wire::MySql(MySqlChoice::default()),
        ..target(serve(script))
    };
    let start = Instant::now();
    let outcome = MySqlSession::connect(&target, timeout);
    assert!(start.elapsed() < timeout + SOON, "{:?}", start.elapsed());
    outcome
}

/// The error of a session that must not come about.
fn refused(script: Vec<Act>, timeout: Duration) -> SessionError {
    let Err(error) = connect(script, timeout) else {
        panic!("let in")
    };
    assert_line(&error.to_string());
    error
}

#[test]
fn a_server_that_closes_at_any_byte_before_it_lets_in_is_lost() {
    let greeting = mysql_greeting();
    for cut in 0..greeting.len() {
        let error = refused(vec![Act::Send(greeting[..cut].to_vec())], CONNECT_MAX);
        assert!(matches!(error, SessionError::Lost(_)), "{cut}: {error:?}");
    }
    let ok = mysql_packet(2, OK);
    for cut in 0..ok.len() {
        let script = vec![greet(), Act::Packet, Act::Send(ok[..cut].to_vec())];
        let error = refused(script, CONNECT_MAX);
        assert!(matches!(error, SessionError::Lost(_)), "{cut}: {error:?}");
    }
}

#[test]
fn a_server_byte_by_byte_is_a_server() {
    let script = vec![
        Act::Trickle(mysql_greeting()),
        Act::Packet,
        Act::Trickle(mysql_packet(2, OK)),
        Act::Packet,
        Act::Trickle(answer()),
        Act::PacketsAnsweredWith(answer()),
    ];
    let mut session = connect(script, CONNECT_MAX).expect("let in");
    for _ in 0..2 {
        let seen = session.query("SELECT 1").expect("an answer");
        assert_eq!(seen.first_integer().expect("a number"), 1);
    }
}

#[test]
fn a_server_that_never_comes_to_an_end_is_given_up_in_time() {
    // A switch of methods again and again, and a packet that never ends.
    let switch = b"\xfemysql_native_password\0aaaaaaaaaaaaaaaaaaaa\0";
    for script in [
        vec![Act::Freeze],
        vec![Act::Listen],
        vec![Act::Send(b"\xff\xff\xff\0".to_vec()), Act::Listen],
        // Read as the head of a packet, that is one of 5 MB.
        vec![
            Act::Send(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
            Act::Listen,
        ],
        vec![greet(), Act::Listen],
        vec![greet(), Act::Freeze],
        vec![greet(), Act::PacketsAnsweredWith(mysql_packet(2, switch))],
    ] {
        let error = refused(script.clone(), PATIENCE);
        let late = matches!(&error, SessionError::Connect(text) if text.contains("in time"));
        let wrong = matches!(error, SessionError::Protocol(_) | SessionError::Auth(_));
        assert!(late || wrong, "{script:?}: {error:?}");
    }
}

#[test]
fn what_is_no_greeting_is_no_mysql_server() {
    let greeting = mysql_greeting();
    for bytes in [
        vec![0; 64],
        mysql_packet(0, b""),
        mysql_packet(0, b"\x09old"),
        mysql_packet(0, &greeting[4..30]),
        [&greeting[..], &greeting].concat(),
    ] {
        let error = refused(vec![Act::Send(bytes.clone()), Act::Listen], CONNECT_MAX);
        assert!(
            matches!(&error, SessionError::Protocol(text) if text.contains("no MySQL or MariaDB server")),
            "{bytes:?}: {error:?}"
        );
    }
}

#[test]
fn a_refusal_is_told_in_the_servers_words() {
    let full = mysql_packet(0, b"\xff\x10\x04Too many\nconnections");
    let error = refused(vec![Act::Send(full)], CONNECT_MAX);
    assert!(
        error.to_string().contains("Too many connections"),
        "{error}"
    );
    let denied = mysql_packet(2, b"\xff\x15\x04#28000Access denied for user 'dyno'");
    let error = refused(vec![greet(), Act::Packet, Act::Send(denied)], CONNECT_MAX);
    assert!(matches!(error, SessionError::Auth(_)), "{error:?}");
}

#[test]
fn a_server_that_asks_for_the_password_itself_does_not_get_it() {
    let switch = |method: &str| {
        let packet = [b"\xfe", method.as_bytes(), b"\0aaaaaaaaaaaaaaaaaaaa\0"].concat();
        Act::Send(mysql_packet(2, &packet))
    };
    for acts in [
        vec![switch("sha256_password"), Act::Listen],
        vec![
            switch("caching_sha2_password"),
            Act::Packet,
            Act::Send(mysql_packet(4, b"\x01\x04")),
            Act::Listen,
        ],
    ] {
        let error = refused([&[greet(), Act::Packet], &acts[..]].concat(), CONNECT_MAX);
        assert!(
            matches!(&error, SessionError::Auth(text) if text.contains("`insecure = true`")),
            "{error:?}"
        );
    }
}

#[test]
fn a_server_without_tls_is_taken_where_tls_is_only_preferred() {
    for (mode, taken) in [("prefer", true), ("require", false)] {
        let target = Target {
            wire: Wire::MySql(MySqlChoice::default()),
            tls: Some(tls(mode)),
            ..target(serve(let_in(&[Act::Listen])))
        };
        let outcome = MySqlSession::connect(&target, CONNECT_MAX);
        let refused = matches!(&outcome, Err(SessionError::Tls(text)) if text.contains("no TLS"));
        assert_eq!((outcome.is_ok(), refused), (taken, !taken), "{outcome:?}");
    }
}

fn worker_session(acts: &[Act]) -> AnySession {
    let session = connect(let_in(acts), CONNECT_MAX).expect("let in");
    worker(AnySession::MySql(session))
}

/// The error of a session whose requests are all answered with these bytes.
fn broken_by(bytes: &[u8], capturing: bool) -> SessionError {
    let acts = [Act::PacketsAnsweredWith(bytes.to_vec())];
    broken(worker_session(&acts), capturing)
}

#[test]
fn a_server_that_closes_at_any_byte_of_an_answer_is_lost() {
    let whole = answer();
    for cut in 0..whole.len() {
        let mut session = worker_session(&[Act::Packet, Act::Send(whole[..cut].to_vec())]);
        let error = ask(&mut session).expect_err("cut");
        assert!(matches!(error, SessionError::Lost(_)), "{cut}: {error:?}");
    }
}

#[test]
fn what_does_not_belong_into_an_answer_is_an_error() {
    for (bytes, words) in [
        ([answer(), answer()].concat(), "nobody had asked for"),
        (packets(&[OK, OK]), "nobody had asked for"),
        (packets(&[ASKS_FOR_DATA]), "use `fills`"),
        (mysql_packet(7, OK), "packet 7 where 1"),
        (packets(&[b"\x01", COLUMN, b"\x011", OK, b"", b"\xfe"]), ""),
        (packets(&[b"\0"]), ""),
        (
            packets(&[b"\0\xfe\xff\xff\xff\xff\xff\xff\xff\xff\0\x02\0\0\0"]),
            "more rows",
        ),
        (packets(&[b"\xff\x01"]), ""),
    ] {
        for capturing in [false, true] {
            let error = broken_by(&bytes, capturing);
            assert!(
                matches!(error, SessionError::Protocol(_)) && error.to_string().contains(words),
                "{bytes:?}: {error:?}"
            );
        }
    }
    for bytes in [
        packets(&[b"\x01", b"\xfc"]),
        packets(&[b"\x01", COLUMN, b"\x09short"]),
    ] {
        let error = broken_by(&bytes, true);
        assert!(matches!(error, SessionError::Protocol(_)), "{error:?}");
    }
}

#[test]
fn rows_without_end_leave_a_worker_its_time() {
    let begun = packets(&[b"\x01", COLUMN]);
    // All 256 numbers in turn, from the one that comes next.
    let rows: Vec<_> = (0..=255_u8)
        .flat_map(|number| mysql_packet(number.wrapping_add(3), b"\x011"))
        .collect();
    for capturing in [false, true] {
        let mut session = worker_session(&[
            Act::Packet,
            Act::Send(begun.clone()),
            Act::Endless(rows.clone()),
        ]);
        session.capture(capturing);
        assert!(ask(&mut session).expect("not wrong so far").is_none());
    }
}

/// A short step on a server of MySQL's protocol.
fn on_mysql(mut job: Value) -> Value {
    job["engine"] = "mysql".into();
    job
}

#[test]
fn a_step_on_mysql_that_goes_wrong_fails_with_its_reason() {
    for connections in [1, 3] {
        for (acts, words) in [
            (
                Act::PacketsAnsweredWith(packets(&[ASKS_FOR_DATA])),
                "use `fills`",
            ),
            (
                Act::PacketsAnsweredWith([answer(), answer()].concat()),
                "nobody had asked for",
            ),
            (Act::Packet, "closed the connection"),
        ] {
            let reason = failed(&on_mysql(job(let_in(&[acts]), connections)));
            assert!(reason.contains(words), "{reason}");
        }
    }
}

#[test]
fn a_fill_of_mysql_is_told_the_rows_that_the_server_kept() {
    let ok = || Act::Send(packets(&[OK]));
    let script = let_in(&[
        Act::Packet,
        ok(),
        Act::Packet,
        Act::Send(packets(&[ASKS_FOR_DATA])),
        // The lines, and the packet that ends them.
        Act::Packet,
        Act::Packet,
        Act::Send(mysql_packet(4, b"\0\x07\0\x02\0\0\0")),
        Act::Packet,
        ok(),
    ]);
    assert_eq!(filled(on_mysql(fill_job(script)), 7), 14, "two tables");
}

#[test]
fn a_fill_of_mysql_that_the_server_holds_up_or_refuses_ends_with_its_reason() {
    let asks = || Act::Send(packets(&[ASKS_FOR_DATA]));
    let begun = |acts: &[Act]| {
        let begin = [Act::Packet, Act::Send(packets(&[OK])), Act::Packet];
        [&begin, acts].concat()
    };
    let late = "0.2 s after the step's end";
    for (acts, words) in [
        (vec![Act::Listen], late),
        (begun(&[Act::Listen]), late),
        (begun(&[asks(), Act::Freeze]), late),
        (begun(&[asks(), Act::Listen]), late),
        (
            begun(&[Act::Send(packets(&[OK])), Act::Listen]),
            "did not ask for data",
        ),
        (
            begun(&[
                Act::Send(packets(&[
                    b"\xff\x6c\x0f#42000Loading local data is disabled",
                ])),
                Act::Listen,
            ]),
            "a fill needs `local_infile = ON`",
        ),
        (begun(&[]), "closed the connection"),
        (begun(&[asks()]), "closed the connection"),
        (
            begun(&[
                asks(),
                Act::Send(mysql_packet(2, b"\xff\xfb\x03#HY000disk full")),
                Act::Listen,
            ]),
            "disk full",
        ),
    ] {
        let job = on_mysql(fill_job(let_in(&acts)));
        let reason = failed(&if words == late { job } else { unhurried(job) });
        assert!(reason.contains(words), "{acts:?}: {reason}");
    }
}
