//! Sessions and fills against a real PostgreSQL server.

mod allocation;
mod connecting;
mod encrypted;
mod fills;
mod requests;
mod server;
