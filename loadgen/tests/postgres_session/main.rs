//! Sessions and fills against a real PostgreSQL server.

mod connecting;
mod fills;
mod requests;
mod server;
