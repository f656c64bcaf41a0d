//! A broken or hostile server: whatever it does, a session and the generator end soon, with one clear line.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it stands"
)]

mod answers;
mod encryption;
#[path = "../live/generator.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of real servers, which use more of it"
)]
mod generator;
mod handshake;
mod program;
mod scram;
mod script;
#[path = "../postgres_session/server.rs"]
#[allow(dead_code, reason = "what `generator` asks for")]
mod server;
