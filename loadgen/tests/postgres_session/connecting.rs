//! Getting in, and the clear words where that is not possible.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use dyno_loadgen::job::TlsMode;
use dyno_loadgen::session::postgres::PostgresSession;
use dyno_loadgen::session::{SessionError, Target};
use dyno_loadgen::wire::Wire;

use crate::server;
use crate::wire::local;

const TIMEOUT: Duration = Duration::from_secs(10);

/// The error of a connection that must not come about.
fn refused(target: &Target) -> SessionError {
    refused_within(target, TIMEOUT)
}

fn refused_within(target: &Target, timeout: Duration) -> SessionError {
    match PostgresSession::connect(target, timeout) {
        Ok(_) => panic!("{target:?} was let in"),
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "one line: {error}");
            error
        }
    }
}

/// Answers one connection's first bytes and keeps it open until the client closes.
fn answer_once(answer: Vec<u8>) -> (Target, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let target = local(listener.local_addr().expect("its address").port());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut bytes = [0; 1024];
        let _ = stream.read(&mut bytes);
        let _ = stream.write_all(&answer);
        while matches!(stream.read(&mut bytes), Ok(1..)) {}
    });
    (target, thread)
}

#[test]
fn a_session_knows_its_backend_over_the_socket_and_over_tcp() {
    let Some(server) = server::shared() else {
        return;
    };
    for target in [server.target(), server.tcp("dyno", None)] {
        let mut session = PostgresSession::connect(&target, TIMEOUT).expect("let in");
        let sql = "SELECT pid, application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()";
        let seen = session.query(sql).expect("an answer");
        assert_eq!(
            seen.first_integer().expect("a pid"),
            i64::from(session.server_pid())
        );
        assert_eq!(seen.rows[0][1].as_deref(), Some("dyno-test"));
        session.close();
    }
}

#[test]
fn passwords_are_proved_by_scram_by_md5_and_in_clear_text() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    for (user, stored) in [
        ("by_scram", "scram-sha-256"),
        ("by_text", "scram-sha-256"),
        ("by_md5", "md5"),
    ] {
        let sql = format!(
            "SET password_encryption = '{stored}'; DROP ROLE IF EXISTS {user}; \
             CREATE ROLE {user} LOGIN PASSWORD 'pä:ss'"
        );
        session.query(&sql).expect("a role");
        let as_user = |password| Target {
            insecure: user == "by_text",
            ..server.tcp(user, password)
        };
        let right = as_user(Some("pä:ss"));
        let mut session = PostgresSession::connect(&right, TIMEOUT).expect("let in");
        let who = session.query("SELECT current_user").expect("an answer");
        assert_eq!(who.rows[0][0].as_deref(), Some(user));

        let SessionError::Auth(text) = refused(&as_user(Some("wrong"))) else {
            panic!("another error")
        };
        assert!(
            text.contains(user) && text.contains("28P01") && !text.contains("wrong"),
            "{text}"
        );
        let SessionError::Auth(text) = refused(&as_user(None)) else {
            panic!("another error")
        };
        assert!(text.contains("`server.password`"), "{text}");
    }
}

#[test]
fn a_password_in_clear_text_without_tls_is_refused_unless_the_job_says_so() {
    let Some(server) = server::shared() else {
        return;
    };
    let preferred = server.tls("127.0.0.1", TlsMode::Prefer, None);
    for tls in [None, preferred.tls] {
        let target = Target {
            tls,
            ..server.tcp("by_text", Some("pä:ss"))
        };
        let SessionError::Auth(text) = refused(&target) else {
            panic!("another error")
        };
        assert!(
            text.contains("in clear text") && text.contains("`insecure = true`"),
            "{text}"
        );
    }
}

#[test]
fn a_user_who_is_rejected_is_told_by_whom() {
    let Some(server) = server::shared() else {
        return;
    };
    let text = refused(&server.tcp("nobody_else", None)).to_string();
    assert!(
        text.contains("`nobody_else`") && text.contains("pg_hba.conf"),
        "{text}"
    );
}

#[test]
fn a_database_that_is_missing_is_the_servers_own_error() {
    let Some(server) = server::shared() else {
        return;
    };
    let target = Target {
        database: "no_such".to_owned(),
        ..server.target()
    };
    let SessionError::Server(error) = refused(&target) else {
        panic!("another error")
    };
    assert_eq!(error.code_text(), "3D000");
}

#[test]
fn where_nothing_answers_the_place_and_the_remedy_are_named() {
    let socket = Target {
        wire: Wire::Postgres,
        host: "/no/such/folder".to_owned(),
        port: 5444,
        ..local(0)
    };
    let SessionError::Connect(text) = refused(&socket) else {
        panic!("another error")
    };
    assert!(
        text.contains("`/no/such/folder/.s.PGSQL.5444`") && text.contains("start"),
        "{text}"
    );

    let port = server::free_port();
    let SessionError::Connect(text) = refused(&local(port)) else {
        panic!("another error")
    };
    assert!(text.contains(&format!("`127.0.0.1:{port}`")), "{text}");

    let long = Target {
        wire: Wire::Postgres,
        host: format!("/{}", "x".repeat(200)),
        ..local(5432)
    };
    let SessionError::Connect(text) = refused(&long) else {
        panic!("another error")
    };
    assert!(text.contains("too long"), "{text}");

    let nowhere = Target {
        wire: Wire::Postgres,
        host: "no-such-host.invalid".to_owned(),
        ..local(5432)
    };
    let SessionError::Connect(text) = refused(&nowhere) else {
        panic!("another error")
    };
    assert!(text.contains("`no-such-host.invalid`"), "{text}");
}

#[test]
fn what_is_no_postgresql_server_is_told_as_such() {
    let greeting = [&b"J\0\0\0\x0a9.7.0\0"[..], &[1; 60]].concat();
    for answer in [
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        greeting,
        vec![0; 64],
        vec![255; 64],
    ] {
        let (target, thread) = answer_once(answer);
        let error = refused(&target);
        assert!(matches!(error, SessionError::Protocol(_)), "{error:?}");
        assert!(
            error.to_string().contains("no PostgreSQL server"),
            "{error}"
        );
        thread.join().expect("ended");
    }
}

#[test]
fn a_server_that_says_nothing_or_goes_away_does_not_hold_us() {
    let (target, thread) = answer_once(Vec::new());
    let start = Instant::now();
    let error = refused_within(&target, Duration::from_millis(300));
    assert!(matches!(error, SessionError::Connect(_)), "{error:?}");
    assert!(start.elapsed() < Duration::from_mins(1));
    thread.join().expect("ended");

    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let target = local(listener.local_addr().expect("its address").port());
    let thread = std::thread::spawn(move || drop(listener.accept()));
    let error = refused(&target);
    assert!(
        matches!(error, SessionError::Lost(_) | SessionError::Connect(_)),
        "{error:?}"
    );
    thread.join().expect("ended");
}

#[test]
fn a_server_whose_queue_is_full_is_tried_again_until_the_time_is_over() {
    let folder = std::env::temp_dir().join(format!("dyno-backlog-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder");
    let file = folder.join(".s.PGSQL.5432");
    let listener = std::os::unix::net::UnixListener::bind(&file).expect("a socket");
    let waiting: Vec<_> = std::iter::repeat_with(|| {
        let client = std::os::unix::net::UnixStream::connect(&file);
        client.map(|client| client.set_nonblocking(true).map(|()| client))
    })
    .take(8)
    .collect();
    let host = folder.to_str().expect("a plain path").to_owned();
    let error = refused_within(
        &Target {
            wire: Wire::Postgres,
            host,
            ..local(5432)
        },
        Duration::from_millis(200),
    );
    std::fs::remove_dir_all(&folder).expect("removed");
    drop((listener, waiting));
    assert!(matches!(error, SessionError::Connect(_)), "{error:?}");
    assert!(
        error.to_string().contains("did not answer in time"),
        "{error}"
    );
}

#[test]
fn a_server_that_says_nothing_takes_no_longer_than_the_limit() {
    let (silent, thread) = answer_once(Vec::new());
    let start = Instant::now();
    let refused = PostgresSession::connect(&silent, Duration::from_millis(200));
    assert!(matches!(refused, Err(SessionError::Connect(_))));
    assert!(start.elapsed() < Duration::from_mins(1));
    thread.join().expect("ended");
}
