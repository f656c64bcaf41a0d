//! Fills a PostgreSQL table over one connection: one COPY in binary form.

use super::binary;
use super::pieces::{MESSAGE_BYTES, Pieces, Share, Stream};
use super::{CONNECT_MAX, Halt};
use crate::session::postgres::PostgresSession;
use crate::session::{ReadBuffer, SessionError, Target};
use crate::wire::postgres;

/// Rows that a connection takes at a time: about as many as the server writes in one go.
pub(super) const PIECE_ROWS: u64 = 1024;

/// Returns the statement that asks for the rows of some columns of a table.
pub(super) fn statement(table: &str, columns: &str, frozen: bool) -> String {
    let freeze = if frozen { ", FREEZE" } else { "" };
    format!("COPY {table} ({columns}) FROM STDIN (FORMAT binary{freeze})")
}

/// Sends rows until none is left. One that is halted gives its rows up.
///
/// # Errors
/// The server's, or the connection's; the server has kept nothing then.
pub(super) fn send(
    pieces: &Pieces,
    stream: &Stream,
    target: &Target,
    halt: &Halt,
) -> Result<(), SessionError> {
    let mut session = PostgresSession::connect(target, CONNECT_MAX)?;
    stream.is_connected(session.server_pid());
    if pieces.frozen {
        // FREEZE wants a table that its own transaction has made or emptied.
        session.query("BEGIN")?;
        session.query(&format!("TRUNCATE {}", pieces.table))?;
    }
    session.bulk_begin(&pieces.request)?;
    let mut buffer = ReadBuffer::new();
    session.output().reserve(2 * MESSAGE_BYTES);
    let mut copying = Copying::default();
    while !copying.is_last {
        if halt.is_on() {
            return give_up(&mut session);
        }
        let rows_before = copying.rows;
        let bytes = write_message(pieces, session.output(), &mut copying);
        session.copy_send(&mut buffer)?;
        stream.has_sent(copying.rows - rows_before, bytes);
    }
    let output = session.output();
    output.clear();
    postgres::copy_done(output);
    let kept = session.copy_end()?;
    if pieces.frozen {
        session.query("COMMIT")?;
    }
    stream.has_kept(kept);
    session.close();
    Ok(())
}

/// How far a COPY is.
#[derive(Debug, Default)]
struct Copying {
    share: Share,
    /// Rows that have been written so far.
    rows: u64,
    has_begun: bool,
    is_last: bool,
}

/// Encodes rows until a message is full or none is left; returns its bytes of COPY data.
fn write_message(pieces: &Pieces, output: &mut Vec<u8>, copying: &mut Copying) -> u64 {
    output.clear();
    let mark = postgres::copy_data_begin(output);
    if !copying.has_begun {
        binary::write_header(output);
        copying.has_begun = true;
    }
    let share = &mut copying.share;
    while output.len() < MESSAGE_BYTES {
        if share.next == share.end && !pieces.take_piece(share) {
            binary::write_trailer(output);
            copying.is_last = true;
            break;
        }
        if pieces.rows.is_there(share.next) {
            binary::write(output, &pieces.rows, share.next);
            copying.rows += 1;
        }
        share.next += 1;
    }
    postgres::copy_data_end(output, mark);
    (output.len() - mark - 4) as u64
}

/// Ends a COPY without keeping its rows. The server's error about it is what was asked for.
pub(super) fn give_up(session: &mut PostgresSession) -> Result<(), SessionError> {
    let output = session.output();
    output.clear();
    postgres::copy_fail(output, "stopped by the load generator");
    match session.copy_end() {
        Ok(_) | Err(SessionError::Server(_)) => Ok(()),
        Err(other) => Err(other),
    }
}
