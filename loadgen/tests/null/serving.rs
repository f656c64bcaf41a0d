//! How the null server listens, serves and ends.

use crate::programs::NullServer;
use dyno_loadgen::session::SessionError;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn it_ends_with_its_standard_input_and_removes_what_it_made() {
    let mut server = NullServer::start();
    let (host, port) = (server.host.clone(), server.port);
    let socket = Path::new(&host).join(format!(".s.PGSQL.{port}"));
    assert!(socket.exists());
    drop(server.child.stdin.take());
    assert!(server.child.wait().unwrap().success());
    assert!(!Path::new(&host).exists());
}

#[test]
fn it_ends_by_a_signal_while_it_has_connections() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = NullServer::start();
        let mut session = server.session();
        kill_process(Pid::from_child(&server.child), signal).unwrap();
        assert!(server.child.wait().unwrap().success());
        assert!(matches!(
            session.query("SELECT 1"),
            Err(SessionError::Lost(_))
        ));
        assert!(!Path::new(&server.host).exists());
    }
}

#[test]
fn a_place_that_is_not_to_be_had_and_a_wrong_command_line_get_one_line() {
    let folder = std::env::temp_dir().join(format!("dyno-test-{:0>100}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let long = folder.to_str().unwrap();
    for (arguments, place, exit, problem) in [
        (&["--postgres"][..], long, 1, "a shorter one, by TMPDIR"),
        (
            &["--mysql"],
            "/nowhere",
            1,
            "cannot make `/nowhere/dyno-null-",
        ),
        (&["--mysql", "--tcp"], long, 2, "`--postgres` or `--mysql`"),
        (&[], long, 2, "`--postgres` or `--mysql`"),
    ] {
        let refused = Command::new(env!("CARGO_BIN_EXE_dyno-loadgen"))
            .arg("null")
            .args(arguments)
            .env("TMPDIR", place)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let told = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(exit), "{told}");
        assert!(
            told.contains(problem) && told.lines().count() == 1,
            "{told}"
        );
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    std::fs::remove_dir(&folder).unwrap();
}

#[test]
fn a_client_that_does_not_read_holds_nobody_up_and_gets_all_in_the_end() {
    const REQUESTS: usize = 200_000;
    let server = NullServer::start();
    let socket = Path::new(&server.host).join(format!(".s.PGSQL.{}", server.port));
    let mut lazy = UnixStream::connect(socket).unwrap();
    lazy.write_all(b"\0\0\0\x08\0\x03\0\0").unwrap();
    let mut writer = lazy.try_clone().unwrap();
    let query = *b"Q\0\0\0\x0dSELECT 1\0";
    let writing = std::thread::spawn(move || writer.write_all(&query.repeat(REQUESTS)).unwrap());
    let mut other = server.session();
    for _ in 0..100 {
        assert_eq!(other.query("SELECT 1").unwrap().affected, 1);
    }
    // RowDescription, DataRow, CommandComplete and ReadyForQuery of each, after the welcome.
    let (answer, mut read, mut buffer) = (34 + 12 + 14 + 6, 0, vec![0; 1 << 16]);
    while read < answer * REQUESTS {
        let count = lazy.read(&mut buffer).unwrap();
        assert!(
            count > 0,
            "the server closed the connection after {read} bytes"
        );
        read += count;
    }
    writing.join().unwrap();
    other.close();
}

#[test]
fn a_client_that_talks_nonsense_is_told_so_and_the_others_go_on() {
    let server = NullServer::start();
    let socket = Path::new(&server.host).join(format!(".s.PGSQL.{}", server.port));
    let mut session = server.session();
    for nonsense in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 64], &[0xff; 64]] {
        let mut client = UnixStream::connect(&socket).unwrap();
        client.write_all(nonsense).unwrap();
        let mut told = Vec::new();
        // The server may close while something is unread, which the client sees as a reset.
        let _ = client.read_to_end(&mut told);
        assert!(told.is_empty() || told.starts_with(b"E"), "{told:?}");
        assert_eq!(session.query("SELECT 1").unwrap().affected, 1);
    }
    session.close();
}
