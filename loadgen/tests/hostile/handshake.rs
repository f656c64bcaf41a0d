//! Servers that go wrong before the session is ready.

use crate::script::{
    Act, assert_line, authentication, error, let_in, message, ready, refused, refused_within,
    serve, session, target, welcome,
};
use dyno_loadgen::session::SessionError;
use dyno_loadgen::session::postgres::PostgresSession;
use std::time::Duration;

/// How long a server is waited for that says nothing of use.
const PATIENCE: Duration = Duration::from_millis(300);

#[test]
fn a_server_that_closes_at_any_byte_of_the_welcome_is_lost() {
    let welcome = welcome();
    for cut in 0..welcome.len() {
        let script = vec![Act::Startup, Act::Send(welcome[..cut].to_vec())];
        let error = refused(script);
        assert!(matches!(error, SessionError::Lost(_)), "{cut}: {error:?}");
    }
}

#[test]
fn a_welcome_byte_by_byte_is_a_welcome() {
    let mut session = session(vec![Act::Startup, Act::Trickle(welcome()), Act::AnswerAll]);
    assert_eq!(session.server_pid(), 256);
    let seen = session.query("SELECT 1").expect("an answer");
    assert_eq!(seen.first_integer().expect("a number"), 1);
}

#[test]
fn a_server_that_never_comes_to_an_end_is_given_up_in_time() {
    let parameter = message(b'S', b"a\0b\0");
    for script in [
        vec![Act::Freeze],
        vec![Act::Startup, Act::Listen],
        vec![Act::Startup, Act::Endless(error(b'N', "00000", "note"))],
        vec![Act::Startup, Act::Endless(parameter.clone())],
        vec![
            Act::Startup,
            Act::Send(authentication(0, b"")),
            Act::Endless(parameter),
        ],
        // A long message that never ends, and a password that is never good enough.
        vec![
            Act::Startup,
            Act::Send(b"N\x03\0\0\0".to_vec()),
            Act::Listen,
        ],
        vec![
            Act::Startup,
            Act::Send(authentication(5, b"salt")),
            Act::AnswerAllWith(authentication(5, b"salt")),
        ],
    ] {
        let error = refused_within(script, PATIENCE);
        assert!(
            matches!(&error, SessionError::Connect(text) if text.contains("in time")),
            "{error:?}"
        );
    }
}

#[test]
fn what_does_not_belong_to_a_welcome_is_no_postgresql_server() {
    let ok = authentication(0, b"");
    for bytes in [
        ready(),
        message(b'K', &[0; 8]),
        message(b'G', b"\0\0\0"),
        message(b'H', b"\0\0\0"),
        message(b'W', b"\0\0\0"),
        message(b'd', b"data"),
        message(b'C', b"SELECT 1\0"),
        message(b'D', b"\0\0"),
        message(b'R', b""),
        message(b'E', b"Mno end"),
        b"R\x7f\xff\xff\xff".to_vec(),
        b"S\xff\xff\xff\xff".to_vec(),
        b"N\0\0\0\x03".to_vec(),
        [&ok[..], &message(b'K', b"\0")].concat(),
        [&ok[..], &ok].concat(),
        [&ok[..], &authentication(3, b"")].concat(),
        [&ok[..], &message(b'G', b"\0\0\0")].concat(),
        [&welcome()[..], &ready()].concat(),
        [&welcome()[..], &message(b'C', b"SELECT 1\0")].concat(),
    ] {
        let error = refused(vec![Act::Startup, Act::Send(bytes.clone()), Act::Listen]);
        assert!(
            matches!(&error, SessionError::Protocol(text) if text.contains("no PostgreSQL server")),
            "{bytes:?}: {error:?}"
        );
    }
}

#[test]
fn a_server_that_asks_for_the_password_in_clear_text_does_not_get_it() {
    let error = refused(vec![
        Act::Startup,
        Act::Send(authentication(3, b"")),
        // Who answered would be let in.
        Act::Answer(1),
        Act::Send(welcome()),
        Act::Listen,
    ]);
    assert!(
        matches!(&error, SessionError::Auth(text) if text.contains("`insecure = true`")),
        "{error:?}"
    );
}

#[test]
fn a_method_that_is_not_supported_is_named() {
    for method in [2, 4, 6, 7, 8, 9, 13, u32::MAX] {
        let script = vec![
            Act::Startup,
            Act::Send(authentication(method, b"salt")),
            Act::Listen,
        ];
        let error = refused(script);
        assert!(
            matches!(&error, SessionError::Auth(text) if text.contains(&method.to_string())),
            "{error:?}"
        );
    }
}

#[test]
fn an_error_in_place_of_a_welcome_is_told_in_the_servers_words() {
    let refuse = |code, text| {
        let bytes = error(b'E', code, text);
        refused(vec![Act::Startup, Act::Send(bytes), Act::Listen])
    };
    let error = refuse("53300", "sorry,\nthere are too many\x1b[2J clients already");
    assert!(matches!(error, SessionError::Server(_)), "{error:?}");
    assert_eq!(
        error.to_string(),
        "the server answered: sorry, there are too many [2J clients already (SQLSTATE 53300)"
    );
    let error = refuse("28000", &"no ".repeat(1 << 20));
    assert!(matches!(error, SessionError::Auth(_)), "{error:?}");
}

#[test]
fn news_right_after_the_welcome_are_taken_wherever_they_are_cut() {
    let news = [error(b'N', "00000", "note"), message(b'S', b"a\0b\0")].concat();
    for cut in 0..=news.len() {
        let (front, rest) = news.split_at(cut);
        let first = [&welcome()[..], front].concat();
        let mut session = session(vec![
            Act::Startup,
            Act::Send(first),
            Act::Send(rest.to_vec()),
            Act::AnswerAll,
        ]);
        session.query("SELECT 1").expect("an answer");
    }
}

#[test]
fn a_server_that_hangs_after_the_welcome_does_not_hold_who_set_a_limit() {
    let notices = error(b'N', "00000", "note");
    for act in [Act::Listen, Act::Freeze, Act::Endless(notices)] {
        let target = target(serve(let_in(&[Act::Request, act])));
        let mut session = PostgresSession::connect(&target, PATIENCE * 10).expect("let in");
        session.set_nonblocking().expect("set");
        session.limit(Some(std::time::Instant::now() + PATIENCE));
        let error = session.prepare("one", "SELECT $1").expect_err("a hang");
        assert!(matches!(error, SessionError::Lost(_)), "{error:?}");
        assert_line(&error.to_string());
    }
}
