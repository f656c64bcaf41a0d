//! Servers that go wrong where TLS is asked for.

use crate::script::{
    Act, SOON, assert_line, authentication, error, message, serve, target, welcome,
};
use dyno_loadgen::job;
use dyno_loadgen::session::postgres::PostgresSession;
use dyno_loadgen::session::{SessionError, Target, Tls};
use dyno_loadgen::wire::Wire;
use std::time::{Duration, Instant};

/// How long a server is waited for that says nothing of use.
const PATIENCE: Duration = Duration::from_millis(500);

/// TLS whatever the certificate, or only where the server has it.
pub(crate) fn tls(mode: &str) -> Tls {
    let tls = serde_json::json!({"mode": mode});
    let tls: job::Tls = serde_json::from_value(tls).unwrap();
    Tls::load(&tls, Wire::Postgres).expect("no certificates to load")
}

/// The error of a session that asks for TLS.
fn refused(acts: &[Act]) -> SessionError {
    refused_as("require", acts, SOON)
}

/// The same where the server may leave us waiting.
fn refused_soon(acts: &[Act]) -> SessionError {
    refused_as("require", acts, PATIENCE)
}

fn refused_as(mode: &str, acts: &[Act], patience: Duration) -> SessionError {
    let target = Target {
        tls: Some(tls(mode)),
        ..target(serve([&[Act::Startup], acts].concat()))
    };
    let start = Instant::now();
    let error = PostgresSession::connect(&target, patience).expect_err("no TLS");
    assert!(start.elapsed() < patience + SOON);
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
fn where_tls_is_preferred_a_no_leads_on_without_it_and_a_password_stays_here() {
    let no = Act::Send(b"N".to_vec());
    let script = [Act::Startup, no.clone(), Act::Startup, Act::Send(welcome())];
    let target = Target {
        tls: Some(tls("prefer")),
        ..target(serve([&script[..], &[Act::AnswerAll]].concat()))
    };
    let mut session = PostgresSession::connect(&target, SOON).expect("let in");
    session.query("SELECT 1").expect("an answer");
    let asks = Act::Send(authentication(3, b""));
    let error = refused_as("prefer", &[no, Act::Startup, asks, Act::Listen], SOON);
    assert!(
        matches!(&error, SessionError::Auth(text) if text.contains("in clear text")),
        "{error:?}"
    );
}

#[test]
fn where_tls_is_preferred_one_that_breaks_does_not_lead_on_without_it() {
    for acts in [
        vec![Act::Send(b"S".to_vec()), Act::Send(welcome()), Act::Listen],
        vec![Act::Send(b"S".to_vec())],
        vec![Act::Send(welcome()), Act::Listen],
        vec![],
    ] {
        let error = refused_as("prefer", &acts, SOON);
        let told = matches!(error, SessionError::Tls(_) | SessionError::Lost(_));
        assert!(
            told || matches!(error, SessionError::Protocol(_)),
            "{acts:?}: {error:?}"
        );
    }
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
        let error = refused_soon(&[Act::Send(b"S".to_vec()), Act::Send(bytes), Act::Listen]);
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
        let error = refused_soon(&acts);
        assert!(
            matches!(&error, SessionError::Connect(text) if text.contains("in time")),
            "{acts:?}: {error:?}"
        );
    }
    let error = refused_soon(&[Act::Send(b"S".to_vec()), Act::Endless(nothing.to_vec())]);
    assert!(
        matches!(error, SessionError::Tls(_) | SessionError::Connect(_)),
        "{error:?}"
    );
}
