//! The generator against the null server in MySQL's protocol.

use crate::programs::{NullServer, done, run};
use dyno_loadgen::session::SessionError;
use dyno_loadgen::session::Target;
use dyno_loadgen::session::mysql::MySqlSession;
use dyno_loadgen::wire::{MySqlChoice, Wire};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const OPERATIONS: u64 = 60;

fn target(server: &NullServer, password: Option<&str>) -> Target {
    Target {
        wire: Wire::MySql(MySqlChoice::default()),
        host: server.host.clone(),
        ip: None,
        port: server.port,
        user: "anyone".to_owned(),
        database: "any".to_owned(),
        options: String::new(),
        password: password.map(str::to_owned),
        insecure: false,
        application_name: "dyno-test".to_owned(),
        tls: None,
    }
}

fn session(server: &NullServer, password: Option<&str>) -> MySqlSession {
    MySqlSession::connect(&target(server, password), Duration::from_secs(10)).unwrap()
}

/// A job of the contract on this server, which starts by itself.
fn job(server: &NullServer, example: &str) -> Value {
    let mut job = server.job(example);
    job["engine"] = "mysql".into();
    job
}

#[test]
fn anybody_is_let_in_with_any_password() {
    let server = NullServer::mysql();
    for password in [None, Some("secret")] {
        let mut session = session(&server, password);
        let row = session.query("SELECT 1").unwrap();
        assert_eq!(row.first_integer().unwrap(), 0);
        let inserted = session.query("INSERT INTO t VALUES (1)").unwrap();
        assert_eq!(inserted.affected, 1);
        let refused = session.query("EXECUTE s");
        assert!(matches!(refused, Err(SessionError::Server(error)) if error.number == 1295));
        session.close();
    }
}

#[test]
fn its_socket_is_a_file_that_goes_with_it() {
    let mut server = NullServer::mysql();
    let socket = Path::new(&server.host).to_owned();
    assert!(socket.ends_with("mysql.sock") && socket.exists());
    drop(server.child.stdin.take());
    assert!(server.child.wait().unwrap().success());
    assert!(!socket.parent().unwrap().exists());
}

#[test]
fn texts_and_prepared_statements_get_their_row() {
    let server = NullServer::mysql();
    for protocol in ["simple", "prepared"] {
        let mut job = job(&server, "l.i0");
        job["values"] =
            json!([{"name": "id", "per": "item", "format": "integer", "uniform": [1, 9]}]);
        job["statements"] = json!([{"name": "point", "protocol": protocol, "types": [], "rows": 1,
            "pieces": ["SELECT c FROM ", {"table": "pi"}, " WHERE id=", {"value": 0}]}]);
        job["programs"] = json!([{"name": "point", "code": [["send", 0]]}]);
        job["roles"][0]["stop"]["operations"] = OPERATIONS.into();
        let ended = run(&job);
        let insert = done(&ended).totals["insert"];
        let all = OPERATIONS * 2;
        assert_eq!((insert.count, insert.rows), (all, all), "{protocol}");
    }
}

#[test]
fn a_client_that_talks_nonsense_is_told_so_and_the_others_go_on() {
    let server = NullServer::mysql();
    let mut session = session(&server, None);
    for nonsense in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 64], &[0xff; 64]] {
        let mut client = UnixStream::connect(&server.host).unwrap();
        client.write_all(nonsense).unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let mut told = Vec::new();
        // The server may close while something is unread, which the client sees as a reset.
        let _ = client.read_to_end(&mut told);
        assert!(told.starts_with(b"U\0\0\0\x0a"), "a greeting: {told:?}");
        session.query("SELECT 1").unwrap();
    }
}
