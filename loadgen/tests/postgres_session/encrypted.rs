//! Sessions in TLS: what lets in, what does not and why, and that nothing gets stuck in between.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use dyno_loadgen::job::TlsMode;
use dyno_loadgen::session::postgres::PostgresSession;
use dyno_loadgen::session::{ReadBuffer, Reply, SessionError, Target};
use dyno_loadgen::wire::postgres;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::sockopt::{Timeout, set_socket_timeout};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::server::{self, Server};
use crate::wire::message;

const TIMEOUT: Duration = Duration::from_secs(10);
/// As long as a worker's receive on a single connection waits.
const RECEIVE_TIMEOUT: Duration = Duration::from_millis(20);

fn connect(target: &Target) -> PostgresSession {
    PostgresSession::connect(target, TIMEOUT).expect("let in")
}

/// The text of a connection that must not come about for reasons of TLS.
fn refused(target: &Target) -> String {
    match PostgresSession::connect(target, TIMEOUT) {
        Ok(_) => panic!("{target:?} was let in"),
        Err(SessionError::Tls(text)) => {
            assert!(!text.contains('\n'), "one line: {text}");
            text
        }
        Err(other) => panic!("another error: {other:?}"),
    }
}

fn in_tls(server: &Server) -> PostgresSession {
    connect(&server.tls("localhost", TlsMode::VerifyFull, Some("root.crt")))
}

/// Sends what is in the output and receives until the answer is complete, as a worker does.
fn exchange(session: &mut PostgresSession, buffer: &mut ReadBuffer, reply: &mut Reply) {
    reply.clear();
    while !session.flush().expect("sent") {
        poll(&mut [PollFd::new(session, PollFlags::OUT)], None).expect("poll");
    }
    while !session.receive(buffer, reply).expect("received") {
        let readable = PollFd::new(session, PollFlags::IN);
        let time_limit = rustix::event::Timespec {
            tv_sec: 10,
            tv_nsec: 0,
        };
        let ready = poll(&mut [readable], Some(&time_limit)).expect("poll");
        assert_eq!(ready, 1, "waits for what has been received already");
    }
}

fn encode_simple(session: &mut PostgresSession, sql: &str) {
    let output = session.output();
    output.clear();
    let mark = postgres::simple_begin(output);
    output.extend_from_slice(sql.as_bytes());
    postgres::simple_end(output, mark);
}

#[test]
fn each_mode_lets_in_where_what_it_checks_is_right() {
    let Some(server) = server::encrypted() else {
        return;
    };
    for (host, mode, root) in [
        ("127.0.0.1", TlsMode::Require, None),
        ("127.0.0.1", TlsMode::VerifyCa, Some("root.crt")),
        ("localhost", TlsMode::VerifyFull, Some("root.crt")),
    ] {
        let mut session = connect(&server.tls(host, mode, root));
        let sql = "SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        let seen = session.query(sql).expect("an answer").rows;
        assert_eq!(seen[0][0].as_deref(), Some("t"), "{mode:?}");
        assert_eq!(seen[0][1].as_deref(), Some("TLSv1.3"), "{mode:?}");
        session.close();
    }
    let mut plain = connect(&server.tcp("dyno", None));
    let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let seen = plain.query(sql).expect("an answer").rows;
    assert_eq!(seen[0][0].as_deref(), Some("f"));
}

#[test]
fn a_certificate_for_another_host_is_refused_with_the_names_that_it_has() {
    let Some(server) = server::encrypted() else {
        return;
    };
    let text = refused(&server.tls("127.0.0.1", TlsMode::VerifyFull, Some("root.crt")));
    assert!(
        text.contains("`127.0.0.1`") && text.contains("localhost") && text.contains("verify-ca"),
        "{text}"
    );
}

#[test]
fn a_certificate_that_nobody_trusted_has_signed_is_refused() {
    let Some(server) = server::encrypted() else {
        return;
    };
    for mode in [TlsMode::VerifyCa, TlsMode::VerifyFull] {
        for root in [Some("other.crt"), Some("server.crt")] {
            let text = refused(&server.tls("localhost", mode, root));
            assert!(
                text.contains("nobody whom we trust") && text.contains("root certificate"),
                "{text}"
            );
        }
    }
}

#[test]
fn a_server_without_tls_is_told_as_such() {
    let Some(server) = server::shared() else {
        return;
    };
    let text = refused(&server.tls("127.0.0.1", TlsMode::Require, None));
    assert!(
        text.contains("has no TLS") && text.contains("ssl = on"),
        "{text}"
    );
}

#[test]
fn where_tls_is_preferred_the_server_decides() {
    for (server, encrypted) in [(server::encrypted(), "t"), (server::shared(), "f")] {
        let Some(server) = server else {
            return;
        };
        let mut session = connect(&server.tls("127.0.0.1", TlsMode::Prefer, None));
        let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        let seen = session.query(sql).expect("an answer");
        assert_eq!(seen.rows[0][0].as_deref(), Some(encrypted));
    }
}

#[test]
fn passwords_are_proved_within_tls() {
    let Some(server) = server::encrypted() else {
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
        let target = |password: &str| Target {
            user: user.to_owned(),
            password: Some(password.to_owned()),
            ..server.tls("localhost", TlsMode::VerifyFull, Some("root.crt"))
        };
        let mut session = connect(&target("pä:ss"));
        let who = session.query("SELECT current_user").expect("an answer");
        assert_eq!(who.rows[0][0].as_deref(), Some(user));
        let Err(SessionError::Auth(text)) = PostgresSession::connect(&target("no"), TIMEOUT) else {
            panic!("let in, or another error")
        };
        assert!(text.contains("28P01"), "{text}");
    }
}

#[test]
fn a_thousand_operations_of_all_sizes_neither_stick_nor_mix() {
    let Some(server) = server::encrypted() else {
        return;
    };
    for blocking in [false, true] {
        let mut session = in_tls(&server);
        let sql = "SELECT repeat('x', $1 / 10) FROM generate_series(1, 10)";
        session.prepare("some", sql).expect("prepared");
        if blocking {
            set_socket_timeout(&session, Timeout::Recv, Some(RECEIVE_TIMEOUT)).expect("set");
        } else {
            session.set_nonblocking().expect("set");
        }
        let (mut buffer, mut reply) = (ReadBuffer::new(), Reply::default());
        for number in 0..1000_i32 {
            // Up to 160 KB, with answers that end just before, at and behind the ends of records
            // and of the buffer.
            let bytes = 160 * number;
            let output = session.output();
            output.clear();
            let mark = postgres::bind_begin(output, b"some", &[true]);
            postgres::parameter(output, |out| out.extend_from_slice(&bytes.to_be_bytes()));
            postgres::bind_end(output, mark);
            postgres::execute_sync(output);
            exchange(&mut session, &mut buffer, &mut reply);
            assert_eq!((reply.rows, &reply.error), (10, &None), "{number}");
        }
    }
}

#[test]
fn requests_and_rows_of_megabytes_pass_a_stream_that_is_full() {
    let Some(server) = server::encrypted() else {
        return;
    };
    let mut session = in_tls(&server);
    session.set_nonblocking().expect("set");
    session.capture(true);
    let (mut buffer, mut reply) = (ReadBuffer::new(), Reply::default());
    let text = "0123456789".repeat(800_000);
    encode_simple(&mut session, &format!("SELECT '{text}', md5('{text}')"));
    exchange(&mut session, &mut buffer, &mut reply);
    let kept = session.take_captured();
    assert_eq!((reply.rows, reply.error.take()), (1, None));
    assert_eq!(kept.rows[0][0].as_deref(), Some(&*text));
    encode_simple(&mut session, &format!("SELECT md5('{text}')"));
    exchange(&mut session, &mut buffer, &mut reply);
    assert_eq!(session.take_captured().rows[0][0], kept.rows[0][1]);
}

#[test]
fn a_wait_longer_than_a_receive_waits_is_no_end() {
    let Some(server) = server::encrypted() else {
        return;
    };
    let mut session = in_tls(&server);
    set_socket_timeout(&session, Timeout::Recv, Some(RECEIVE_TIMEOUT)).expect("set");
    let (mut buffer, mut reply) = (ReadBuffer::new(), Reply::default());
    encode_simple(&mut session, "SELECT pg_sleep(0.2)");
    assert!(session.flush().expect("sent"));
    let mut empty = 0;
    while !session.receive(&mut buffer, &mut reply).expect("received") {
        empty += 1;
    }
    assert_eq!(reply.rows, 1);
    assert!(empty >= 2, "{empty} receives came back without an answer");
}

#[test]
fn a_backend_that_is_killed_is_lost_with_the_servers_reason() {
    let Some(server) = server::encrypted() else {
        return;
    };
    for blocking in [true, false] {
        let mut session = in_tls(&server);
        let pid = session.server_pid();
        if !blocking {
            session.set_nonblocking().expect("set");
        }
        encode_simple(&mut session, "SELECT pg_sleep(60)");
        assert!(session.flush().expect("sent"));
        let kill = format!("SELECT pg_terminate_backend({pid})");
        server.session().query(&kill).expect("killed it");
        let (mut buffer, mut reply) = (ReadBuffer::new(), Reply::default());
        let error = loop {
            poll(&mut [PollFd::new(&session, PollFlags::IN)], None).expect("poll");
            match session.receive(&mut buffer, &mut reply) {
                Ok(complete) => assert!(!complete),
                Err(error) => break error,
            }
        };
        let SessionError::Lost(text) = error else {
            panic!("another error: {error:?}")
        };
        assert!(text.contains("57P01"), "{text}");
    }
}

#[test]
fn what_breaks_off_in_the_middle_of_tls_is_one_clear_line() {
    let Some(server) = server::encrypted() else {
        return;
    };
    for (answer, words) in [
        (&b"S"[..], "closed the connection"),
        (b"", "closed the connection"),
        (b"SHTTP/1.1 400 Bad Request\r\n\r\n", "TLS"),
        (b"E", "SSLRequest"),
        (b"N", "has no TLS"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut request = [0; 8];
            stream.read_exact(&mut request).expect("a request");
            stream.write_all(answer).expect("answered");
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
            request
        });
        let target = Target {
            port,
            ..server.tls("127.0.0.1", TlsMode::Require, None)
        };
        let error = PostgresSession::connect(&target, TIMEOUT).expect_err("no TLS");
        assert!(error.to_string().contains(words), "{error}");
        let request = thread.join().expect("ended");
        assert_eq!(request, [0, 0, 0, 8, 4, 210, 22, 47]);
    }
}

type Stream = StreamOwned<ServerConnection, TcpStream>;

/// A server of our own, with the certificate of `server`: `serve` goes on after the startup message.
fn serving<T: Send + 'static>(
    server: &Server,
    serve: impl FnOnce(&mut Stream) -> T + Send + 'static,
) -> (Target, JoinHandle<T>) {
    let certificates = CertificateDer::pem_file_iter(server.data().join("server.crt"));
    let chain = certificates.expect("a file").collect::<Result<_, _>>();
    let key = PrivateKeyDer::from_pem_file(server.data().join("server.key")).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(chain.expect("certificates"), key)
        .expect("a pair");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let target = Target {
        port: listener.local_addr().expect("its address").port(),
        password: Some("secret".to_owned()),
        ..server.tls("127.0.0.1", TlsMode::Require, None)
    };
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.read_exact(&mut [0; 8]).expect("a request");
        stream.write_all(b"S").expect("answered");
        let connection = ServerConnection::new(Arc::new(config)).expect("a connection");
        let mut stream = StreamOwned::new(connection, stream);
        read(&mut stream);
        serve(&mut stream)
    });
    (target, thread)
}

/// What one read gives.
fn read(stream: &mut Stream) -> Vec<u8> {
    let mut bytes = vec![0; 64 << 10];
    let count = stream.read(&mut bytes).unwrap_or(0);
    bytes.truncate(count);
    bytes
}

/// Lets the client in.
fn let_in(stream: &mut Stream) {
    let welcome = [
        message(b'R', &[0; 4]),
        message(b'K', &[0; 8]),
        message(b'Z', b"I"),
    ]
    .concat();
    stream.write_all(&welcome).expect("let in");
}

#[test]
fn an_answer_that_is_larger_than_the_buffer_does_not_wait_for_more() {
    let Some(server) = server::encrypted() else {
        return;
    };
    // One record, of the size that a pooler may send; PostgreSQL's own are of 8 KB.
    let row = message(
        b'D',
        &[&[0, 1, 0, 0, 0x3f, 0], &vec![b'x'; 0x3f00][..]].concat(),
    );
    let answer = [row, message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat();
    assert!(answer.len() < 16 << 10);
    let (target, thread) = serving(&server, move |stream| {
        let_in(stream);
        read(stream);
        stream.write_all(&answer).expect("answered");
        // A client that waits for more is let down in the end.
        let limit = stream.sock.set_read_timeout(Some(TIMEOUT));
        limit.expect("a limit");
        read(stream);
    });
    let mut session = connect(&target);
    let answer = session.query("SELECT").expect("an answer");
    assert_eq!((answer.rows.len(), answer.affected), (1, 1));
    session.close();
    thread.join().expect("ended");
}

#[test]
fn what_counts_as_sent_is_on_its_way() {
    const BYTES: usize = 8 << 20;
    let Some(server) = server::encrypted() else {
        return;
    };
    let (target, thread) = serving(&server, |stream| {
        let_in(stream);
        let mut count = 0;
        loop {
            // So slowly that the stream is full whenever the client looks.
            std::thread::sleep(Duration::from_millis(2));
            match read(stream).len() {
                0 => return count,
                more => count += more,
            }
        }
    });
    let mut session = connect(&target);
    session.set_nonblocking().expect("set");
    let output = session.output();
    output.clear();
    output.resize(BYTES, b'x');
    let mut full = 0;
    while !session.flush().expect("sent") {
        poll(&mut [PollFd::new(&session, PollFlags::OUT)], None).expect("poll");
        full += 1;
    }
    // Nothing more can be written now: what the server gets is what counted as sent.
    drop(session);
    assert_eq!(thread.join().expect("ended"), BYTES);
    assert!(full > 0, "the stream was never full");
}

/// What a server that offers these mechanisms is answered.
fn first_answer(server: &Server, mechanisms: &[u8]) -> Vec<u8> {
    let offer = message(b'R', &[&10_u32.to_be_bytes(), mechanisms].concat());
    let (target, thread) = serving(server, move |stream| {
        stream.write_all(&offer).expect("offered");
        read(stream)
    });
    let gone = PostgresSession::connect(&target, TIMEOUT);
    assert!(matches!(gone, Err(SessionError::Lost(_))));
    thread.join().expect("ended")
}

#[test]
fn a_proof_is_bound_to_the_certificate_that_was_shown() {
    let Some(server) = server::encrypted() else {
        return;
    };
    for (mechanisms, words) in [
        (
            &b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"[..],
            ["SCRAM-SHA-256-PLUS\\x00", "p=tls-server-end-point,,"],
        ),
        (b"SCRAM-SHA-256\0\0", ["SCRAM-SHA-256\\x00", "y,,"]),
    ] {
        let answer = first_answer(&server, mechanisms).escape_ascii().to_string();
        assert!(words.iter().all(|word| answer.contains(word)), "{answer}");
    }
}
