//! Sessions and fills against a real PostgreSQL server.

mod allocation;
mod connecting;
mod encrypted;
mod fills;
#[path = "../harness/memory.rs"]
mod memory;
mod requests;
mod server;
#[path = "../harness/wire.rs"]
mod wire;
