//! A server over TCP that answers every request at once: one row, or every so often an error.

use crate::wire::{local, message};
use dyno_loadgen::session::Target;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Starts a server; each connection's request of a number that `error_every` divides gets an error (0: none does).
pub(crate) fn serve(error_every: u32) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Where the client has gone, the connection is over.
            std::thread::spawn(move || serve_one(&stream, error_every));
        }
    });
    local(port)
}

fn serve_one(mut stream: &TcpStream, error_every: u32) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    skip(stream, length)?;
    let ready = message(b'Z', b"I");
    let hello = [
        message(b'R', &[0; 4]),
        message(b'K', &[1; 8]),
        ready.clone(),
    ];
    stream.write_all(&hello.concat())?;
    let row = message(b'D', b"\0\x01\0\0\0\x04\0\0\0\x01");
    let answer = [row, message(b'C', b"SELECT 1\0"), ready.clone()].concat();
    let error = b"SERROR\0C40001\0Mcould not serialize access\0Dsome detail\0\0";
    let error = [message(b'E', error), ready.clone()].concat();
    // One parameter of type int4, no columns.
    let described = [message(b't', b"\0\x01\0\0\0\x17"), message(b'n', b"")].concat();
    for number in 1_u32.. {
        let statements = read_request(stream)?;
        if statements > 0 {
            stream.write_all(&[described.repeat(statements), ready.clone()].concat())?;
        } else if error_every > 0 && number % error_every == 0 {
            stream.write_all(&error)?;
        } else {
            stream.write_all(&answer)?;
        }
    }
    Ok(())
}

/// Reads messages up to a query or a Sync; how many statements are to be described.
fn read_request(mut stream: &TcpStream) -> io::Result<usize> {
    let mut describes = 0;
    loop {
        let mut header = [0; 5];
        stream.read_exact(&mut header)?;
        let [tag, length @ ..] = header;
        skip(stream, length)?;
        describes += usize::from(tag == b'D');
        if matches!(tag, b'Q' | b'S') {
            return Ok(describes);
        }
    }
}

fn skip(stream: &TcpStream, length: [u8; 4]) -> io::Result<()> {
    let count = u64::from(u32::from_be_bytes(length)) - 4;
    io::copy(&mut stream.take(count), &mut io::sink()).map(drop)
}
