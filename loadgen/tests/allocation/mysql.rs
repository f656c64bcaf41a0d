//! A server of MySQL's protocol over TCP that answers every request at once: one row, or every so often an error.

use crate::wire::{local, mysql_greeting, mysql_packet};
use dyno_loadgen::session::Target;
use dyno_loadgen::wire::{MySqlChoice, Wire};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

const OK: &[u8] = b"\0\0\0\x02\0\0\0";
const END_OF_ROWS: &[u8] = b"\xfe\0\0\x02\0\0\0";
/// A column of four bytes.
const COLUMN: &[u8] = b"\x03def\0\0\0\x01c\0\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0";

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
    Target {
        wire: Wire::MySql(MySqlChoice::default()),
        ..local(port)
    }
}

fn serve_one(mut stream: &TcpStream, error_every: u32) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.write_all(&mysql_greeting())?;
    read_request(stream)?;
    stream.write_all(&mysql_packet(2, OK))?;
    let answer = |row: &[u8]| {
        let payloads = [&b"\x01"[..], COLUMN, row, END_OF_ROWS];
        let numbered = (1..).zip(payloads);
        let packets = numbered.map(|(number, payload)| mysql_packet(number, payload));
        packets.collect::<Vec<_>>().concat()
    };
    let (texts, binary) = (answer(b"\x017"), answer(b"\0\0\x07\0\0\0"));
    // Number 1, a column, a parameter.
    let prepared = [
        mysql_packet(1, b"\0\x01\0\0\0\x01\0\x01\0\0\0\0"),
        mysql_packet(2, COLUMN),
        mysql_packet(3, COLUMN),
    ];
    let (prepared, error) = (prepared.concat(), b"\xff\xbd\x04#40001Deadlock found");
    let error = mysql_packet(1, error);
    for number in 1_u32.. {
        let kind = read_request(stream)?;
        stream.write_all(match kind {
            0x16 => &prepared,
            _ if error_every > 0 && number.is_multiple_of(error_every) => &error,
            0x17 => &binary,
            _ => &texts,
        })?;
    }
    Ok(())
}

/// Reads a packet; the first byte of its payload.
fn read_request(mut stream: &TcpStream) -> io::Result<u8> {
    let mut head = [0; 5];
    stream.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], 0]);
    io::copy(&mut stream.take(u64::from(length) - 1), &mut io::sink())?;
    Ok(head[4])
}
