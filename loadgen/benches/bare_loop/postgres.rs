//! The point query in PostgreSQL's protocol: Bind, Execute and Sync of a prepared statement.

use super::Request;
use anyhow::Result;
use dyno_loadgen::session::postgres::PostgresSession;
use dyno_loadgen::wire::postgres;

const STATEMENT: &str = "point";
/// ReadyForQuery outside a transaction, with which every answer ends.
const READY: &[u8] = b"Z\0\0\0\x05I";

/// Prepares the SQL, and returns the request for it.
pub(super) fn prepare(session: &mut PostgresSession, sql: &str) -> Result<Request> {
    session.prepare(STATEMENT, sql)?;
    let (mut bytes, mut key_at) = (Vec::new(), 0);
    let mark = postgres::bind_begin(&mut bytes, STATEMENT.as_bytes(), &[true]);
    postgres::parameter(&mut bytes, |out| {
        key_at = out.len();
        out.extend_from_slice(&key(0));
    });
    postgres::bind_end(&mut bytes, mark);
    postgres::execute_sync(&mut bytes);
    Ok(Request { bytes, key_at })
}

/// A key as requests have it: an int4.
pub(super) fn key(key: i32) -> [u8; 4] {
    key.to_be_bytes()
}

/// Tells whether an answer ends here.
pub(super) fn is_whole(answer: &[u8]) -> bool {
    answer.ends_with(READY)
}
