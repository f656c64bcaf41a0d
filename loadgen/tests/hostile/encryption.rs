//! Servers that go wrong where TLS is asked for.

use crate::script::{Act, SOON, assert_line, error, message, serve, target, welcome};
use dyno_loadgen::job;
use dyno_loadgen::session::postgres::PostgresSession;
use dyno_loadgen::session::{SessionError, Target, Tls};
use std::time::{Duration, Instant};

/// How long a server is waited for that says nothing of use.
const PATIENCE: Duration = Duration::from_millis(500);

/// The error of a session that asks for TLS, whatever the certificate.
fn refused(acts: &[Act]) -> SessionError {
    let tls = serde_json::json!({"mode": "require"});
    let tls: job::Tls = serde_json::from_value(tls).unwrap();
    let target = Target {
        tls: Some(Tls::load(&tls).expect("no certificates to load")),
        ..target(serve([&[Act::Startup], acts].concat()))
    };
    let start = Instant::now();
    let error = PostgresSession::connect(&target, PATIENCE).expect_err("no TLS");
    assert!(start.elapsed() < PATIENCE + SOON);
    assert_line(&error.to_string());
    error
}

#[test]
fn an_answer_to_the_question_for_tls_that_is_none_is_refused() {
    for bytes in [
        welcome(),
        error(b'E', "28000", "no"),
        vec![0; 64],
        b"X".to_vec(),
    ] {
        let error = refused(&[Act::Send(bytes), Act::Listen]);
        assert!(
            matches!(&error, SessionError::Protocol(text) if text.contains("no PostgreSQL server")),
            "{error:?}"
        );
    }
    let error = refused(&[Act::Send(b"N".to_vec()), Act::Listen]);
    assert!(matches!(error, SessionError::Tls(_)), "{error:?}");
}

#[test]
fn what_follows_a_yes_has_to_be_tls() {
    // Plain messages, as a third between the two would slip them in; junk; an alert; a record without end.
    for bytes in [
        welcome(),
        vec![0xff; 4096],
        b"\x15\x03\x03\0\x02\x02\x28".to_vec(),
        b"\x16\x03\x03\xff\xff".repeat(3),
        message(b'E', b"Mno\0\0"),
    ] {
        let error = refused(&[Act::Send(b"S".to_vec()), Act::Send(bytes), Act::Listen]);
        assert!(
            matches!(error, SessionError::Tls(_) | SessionError::Connect(_)),
            "{error:?}"
        );
    }
    let error = refused(&[Act::Send(b"S".to_vec())]);
    assert!(matches!(error, SessionError::Lost(_)), "{error:?}");
}

#[test]
fn a_server_that_never_comes_to_tls_is_given_up_in_time() {
    // Records of a handshake's change of cipher, which TLS 1.3 passes over.
    let nothing = b"\x14\x03\x03\0\x01\x01";
    for acts in [
        vec![Act::Listen],
        vec![Act::Freeze],
        vec![Act::Send(b"S".to_vec()), Act::Listen],
        vec![Act::Send(b"S".to_vec()), Act::Freeze],
    ] {
        let error = refused(&acts);
        assert!(
            matches!(&error, SessionError::Connect(text) if text.contains("in time")),
            "{acts:?}: {error:?}"
        );
    }
    let error = refused(&[Act::Send(b"S".to_vec()), Act::Endless(nothing.to_vec())]);
    assert!(
        matches!(error, SessionError::Tls(_) | SessionError::Connect(_)),
        "{error:?}"
    );
}
