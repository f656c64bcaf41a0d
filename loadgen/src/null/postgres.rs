//! The server's side of PostgreSQL's protocol.

mod command;
mod reply;
mod session;
mod startup;
#[cfg(test)]
mod tests;

pub(super) use session::Session;
