//! Fills a table of MySQL or MariaDB over one connection: a LOAD DATA LOCAL for each of its chunks of rows.
//!
//! A chunk is a transaction of its own, so that what the server has to keep in order to undo it stays small. Its rows
//! follow each other: rows lie in the order of their primary key there, and pages that are filled in that order are full.

use super::lines;
use super::pieces::{MESSAGE_BYTES, Pieces, Share, Stream};
use super::row::Rows;
use super::{CONNECT_MAX, Halt};
use crate::session::mysql::{Loaded, MySqlSession};
use crate::session::{ServerError, SessionError, Target};

pub(super) use super::lines::statement;

/// About the most bytes of lines in a chunk.
pub(super) const CHUNK_BYTES_MAX: u64 = 16 << 20;

/// How servers say that they take no data from clients: MySQL, MariaDB, both before.
const LOCAL_IS_OFF: [u16; 3] = [3948, 4166, 1148];

/// Returns the rows of a chunk, by the length of the first: as many for each connection, and as many in each chunk.
pub(super) fn piece_rows(rows: &Rows, row_count: u64, streams: usize) -> u64 {
    let mut line = Vec::new();
    lines::write(&mut line, rows, 0);
    let most = (CHUNK_BYTES_MAX / line.len().max(1) as u64).max(1);
    let share = row_count.div_ceil(streams.max(1) as u64).max(1);
    share.div_ceil(share.div_ceil(most))
}

/// Sends chunks until no row is left. One that is halted gives its chunk up.
///
/// # Errors
/// The server's, or the connection's; `Protocol` for a chunk whose values or rows the server has changed or left out.
/// The server has kept nothing of that chunk then.
pub(super) fn send(
    pieces: &Pieces,
    stream: &Stream,
    target: &Target,
    halt: &Halt,
) -> Result<(), SessionError> {
    let mut session = MySqlSession::connect(target, CONNECT_MAX)?;
    stream.is_connected(session.server_pid());
    let (mut lines, mut share) = (Vec::with_capacity(2 * MESSAGE_BYTES), Share::default());
    while !halt.is_on() && pieces.take_piece(&mut share) {
        session.query("START TRANSACTION")?;
        session.bulk_begin(&pieces.request).map_err(explained)?;
        while share.next < share.end && !halt.is_on() {
            let rows = write_lines(&pieces.rows, &mut lines, &mut share);
            session.local_send(&lines)?;
            stream.has_sent(rows, lines.len() as u64);
        }
        let loaded = session.local_end()?;
        if halt.is_on() {
            session.query("ROLLBACK")?;
            break;
        }
        if loaded.warnings > 0 {
            return Err(doubted(&mut session, loaded)?);
        }
        session.query("COMMIT")?;
        stream.has_kept(loaded.rows);
    }
    session.close();
    Ok(())
}

/// Writes rows until there is enough for a message or the chunk is at its end; returns how many.
fn write_lines(rows: &Rows, out: &mut Vec<u8>, share: &mut Share) -> u64 {
    out.clear();
    let mut written = 0;
    while share.next < share.end && out.len() < MESSAGE_BYTES {
        if rows.is_there(share.next) {
            lines::write(out, rows, share.next);
            written += 1;
        }
        share.next += 1;
    }
    written
}

/// Returns what the server doubts first, as an error: with data of a client it only warns where it would refuse a statement's.
pub(super) fn doubted(
    session: &mut MySqlSession,
    loaded: Loaded,
) -> Result<SessionError, SessionError> {
    let told = session.query("SHOW WARNINGS LIMIT 1")?;
    let words = told.rows.into_iter().flatten().flatten();
    let words: Vec<_> = words.collect();
    Ok(SessionError::Protocol(format!(
        "the server did not take the rows as they are ({} warnings); the first: {}",
        loaded.warnings,
        words.join(" ")
    )))
}

/// Returns an error with the way out where the server takes no data from clients.
pub(super) fn explained(error: SessionError) -> SessionError {
    match error {
        SessionError::Server(ServerError {
            code,
            number,
            message,
        }) if LOCAL_IS_OFF.contains(&number) => SessionError::Server(ServerError {
            code,
            number,
            message: format!(
                "a fill needs `local_infile = ON` in the server's settings, or `SET GLOBAL local_infile = ON`: {message}"
            ),
        }),
        other => other,
    }
}
