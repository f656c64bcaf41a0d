//! What a server of a test says, and where it is.

#![allow(dead_code, reason = "not every test program uses all of it")]

use dyno_loadgen::session::Target;
use dyno_loadgen::wire::Wire;

/// A message of the server.
pub(crate) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
    [&[tag], &length[..], body].concat()
}

/// A target that nothing but the test's own listener answers at.
pub(crate) fn local(port: u16) -> Target {
    Target {
        wire: Wire::Postgres,
        host: "127.0.0.1".to_owned(),
        ip: None,
        port,
        user: "dyno".to_owned(),
        database: "ib".to_owned(),
        options: String::new(),
        password: None,
        insecure: false,
        application_name: "dyno-test".to_owned(),
        tls: None,
    }
}

/// A packet of MySQL's protocol.
pub(crate) fn mysql_packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short").to_le_bytes();
    [&length[..3], &[number], payload].concat()
}

/// What a server of MySQL's protocol says first: version 8.4, without TLS, mysql_native_password.
pub(crate) fn mysql_greeting() -> Vec<u8> {
    let flags = 0x01ff_ffff_u32 & !(1 << 11);
    let [low, next, high, last] = flags.to_le_bytes();
    let body = [
        &b"\x0a8.4.0\0"[..],
        &[7, 0, 0, 0],
        b"scramble\0",
        &[low, next, 8, 2, 0, high, last, 21],
        &[0; 10],
        b"of a server.\0",
        b"mysql_native_password\0",
    ];
    mysql_packet(0, &body.concat())
}
