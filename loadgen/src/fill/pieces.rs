//! The rows of one table, which its connections take piece by piece.
//!
//! Pieces are handed out in the order of the rows, so that rows that follow each other lie together
//! in the table too, as after a load over one connection: range queries and the planner depend on
//! that order.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::row::Rows;

/// The bytes of rows that are sent at once.
pub(super) const MESSAGE_BYTES: usize = 64 << 10;

/// One connection of a table, and how far it is; the server's number of it is 0 before it is made.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) sent: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) kept: AtomicU64,
    pub(super) server_pid: AtomicU32,
}

impl Stream {
    /// Takes note that the connection has been made.
    pub(super) fn is_connected(&self, server_pid: u32) {
        self.server_pid.store(server_pid, Ordering::Relaxed);
    }

    /// Takes note that so many more rows have been sent in so many bytes.
    pub(super) fn has_sent(&self, rows: u64, bytes: u64) {
        self.sent.fetch_add(rows, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes note that the server has kept so many more rows.
    pub(super) fn has_kept(&self, rows: u64) {
        self.kept.fetch_add(rows, Ordering::Relaxed);
    }
}

/// What the connections of a table send, and how far they have come.
pub(super) struct Pieces<'a> {
    pub(super) table: &'a str,
    /// The statement that asks the server to take rows.
    pub(super) request: String,
    /// Whether its rows are frozen as they come, in one transaction that empties it first.
    pub(super) frozen: bool,
    pub(super) rows: Rows<'a>,
    pub(super) row_count: u64,
    /// Rows that a connection takes at a time.
    pub(super) piece_rows: u64,
    /// The first row that no stream has taken.
    pub(super) next: AtomicU64,
}

impl Pieces<'_> {
    /// Takes the next piece of the table's rows; false where all have been taken.
    pub(super) fn take_piece(&self, share: &mut Share) -> bool {
        let first = self.next.fetch_add(self.piece_rows, Ordering::Relaxed);
        share.next = first.min(self.row_count);
        share.end = (first + self.piece_rows).min(self.row_count);
        share.next < share.end
    }
}

/// Where a stream is in the rows that it has taken.
#[derive(Debug, Default)]
pub(super) struct Share {
    pub(super) next: u64,
    pub(super) end: u64,
}
