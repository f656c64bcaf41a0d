//! Sessions and fills against a real PostgreSQL server.

mod allocation;
mod connecting;
mod fills;
mod requests;
mod server;
