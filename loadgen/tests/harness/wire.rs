//! What a server of a test says, and where it is.

#![allow(dead_code, reason = "not every test program uses all of it")]

use dyno_loadgen::session::postgres::Target;

/// A message of the server.
pub(crate) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
    [&[tag], &length[..], body].concat()
}

/// A target that nothing but the test's own listener answers at.
pub(crate) fn local(port: u16) -> Target {
    Target {
        host: "127.0.0.1".to_owned(),
        port,
        user: "dyno".to_owned(),
        database: "ib".to_owned(),
        password: None,
        application_name: "dyno-test".to_owned(),
        tls: None,
        timeout: None,
    }
}
