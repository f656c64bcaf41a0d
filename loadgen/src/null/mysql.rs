//! The server's side of MySQL's protocol.

mod command;
mod handshake;
mod packet;
mod reply;
mod session;
#[cfg(test)]
mod tests;

pub(super) use session::Session;
