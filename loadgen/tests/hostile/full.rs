//! A server that has no room for all connections: those that were let in are closed when the generator has ended.

use crate::process::run;
use crate::program::job;
use crate::script::{error, welcome};
use dyno_loadgen::event::Status;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Of the job; the last finds no room.
const CONNECTIONS: u32 = 30;

/// Answers the request to be let in.
fn answer(mut stream: TcpStream, with: &[u8]) -> io::Result<TcpStream> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let rest = u64::from(u32::from_be_bytes(length)) - 4;
    io::copy(&mut (&stream).take(rest), &mut io::sink())?;
    stream.write_all(with)?;
    Ok(stream)
}

#[test]
fn who_was_let_in_is_gone_when_the_generator_has_failed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut job = job(Vec::new(), CONNECTIONS);
    job["server"]["port"] = listener.local_addr().unwrap().port().into();
    let server = std::thread::spawn(move || {
        let let_in: Vec<_> = (1..CONNECTIONS)
            .map(|_| answer(listener.accept().unwrap().0, &welcome()).unwrap())
            .collect();
        let full = error(b'E', "53300", "sorry, too many clients already");
        answer(listener.accept().unwrap().0, &full).unwrap();
        let_in
    });
    let ended = run(&job);
    let (status, reason, _) = ended.done();
    assert_eq!(status, Status::Failed);
    assert!(reason.unwrap().contains("too many clients"));
    for mut stream in server.join().unwrap() {
        stream.set_nonblocking(true).unwrap();
        let mut said = Vec::new();
        let end = stream.read_to_end(&mut said).map_err(|error| error.kind());
        assert_ne!(end, Err(io::ErrorKind::WouldBlock), "it is still open");
    }
}
