//! One table while it is filled: its connections share its rows piece by piece; later one makes
//! keys and indexes.
//!
//! Pieces are handed out in the order of the rows, so that rows that follow each other lie together
//! in the table too, as after a load over one connection: range queries and the planner depend on
//! that order.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::row::{self, RowWriter};
use super::{CONNECT_MAX, FillProgress, Halt};
use crate::job::Fill;
use crate::session::postgres::{PostgresSession, ReadBuffer, SessionError, Target, encode};

/// The size of a message of COPY data.
const MESSAGE_BYTES: usize = 64 << 10;
/// Rows that a connection takes at a time: about as many as the server writes in one go.
const PIECE_ROWS: u64 = 1024;

/// One connection of a table, and how far it is; its backend is 0 before it is made.
#[derive(Debug, Default)]
struct Stream {
    sent: AtomicU64,
    bytes: AtomicU64,
    kept: AtomicU64,
    server_pid: AtomicU32,
}

/// One table while it is filled.
pub(super) struct TableLoad<'a> {
    /// Its index among the fill's tables, and its name.
    table: (usize, &'a str),
    copy: String,
    after: Vec<String>,
    rows: RowWriter<'a>,
    row_count: u64,
    /// The first row that no stream has taken.
    next: AtomicU64,
    streams: Vec<Stream>,
    /// Whether something of it runs.
    busy: AtomicBool,
    /// How many of its parts have ended.
    ended: AtomicU32,
    /// Whether all that was asked for has been done.
    done: AtomicBool,
    /// The connection that runs the statements after the rows, and whether it runs them now.
    finisher: Stream,
    finishing: AtomicBool,
}

impl<'a> TableLoad<'a> {
    /// A table of that index and name, over at most `streams` connections.
    pub(super) fn new(
        fill: &'a Fill,
        table: (usize, &'a str),
        rows: RowWriter<'a>,
        streams: usize,
    ) -> Self {
        let (index, name) = table;
        let columns: Vec<_> = fill.columns.iter().map(|one| one.name.as_str()).collect();
        let columns = columns.join(", ");
        let number = (index + 1).to_string();
        let pieces = usize::try_from(fill.rows.div_ceil(PIECE_ROWS)).unwrap_or(usize::MAX);
        Self {
            table,
            copy: format!("COPY {name} ({columns}) FROM STDIN (FORMAT binary)"),
            after: fill
                .after
                .iter()
                .map(|sql| sql.replace("{t}", name).replace("{number}", &number))
                .collect(),
            rows,
            row_count: fill.rows,
            next: AtomicU64::new(0),
            streams: (0..streams.clamp(1, pieces))
                .map(|_| Stream::default())
                .collect(),
            busy: AtomicBool::new(false),
            ended: AtomicU32::new(0),
            done: AtomicBool::new(false),
            finisher: Stream::default(),
            finishing: AtomicBool::new(false),
        }
    }

    /// Fills the table; failures go to `halt`.
    pub(super) fn fill(&self, targets: &[Target], halt: &Halt) {
        self.busy.store(true, Ordering::Relaxed);
        std::thread::scope(|scope| {
            for (index, stream) in self.streams.iter().enumerate() {
                scope.spawn(move || {
                    if let Err(error) = self.copy(stream, targets, halt) {
                        let place = format!("filling `{}`, stream {index}", self.table.1);
                        halt.fail(error, &place);
                    }
                });
            }
        });
        let done = self.after.is_empty() && self.kept() == self.row_count;
        self.done.store(done, Ordering::Relaxed);
        self.busy.store(false, Ordering::Relaxed);
        self.ended.fetch_add(1, Ordering::Release);
    }

    /// Runs what comes after the rows; failures go to `halt`.
    pub(super) fn finish(&self, targets: &[Target], halt: &Halt) {
        self.busy.store(true, Ordering::Relaxed);
        match self.run_after(targets, halt) {
            Ok(done) => self.done.store(done, Ordering::Relaxed),
            Err(error) => halt.fail(error, &format!("after filling `{}`", self.table.1)),
        }
        self.finishing.store(false, Ordering::Relaxed);
        self.busy.store(false, Ordering::Relaxed);
        self.ended.fetch_add(1, Ordering::Release);
    }

    /// Sends rows until none is left. One that is halted gives its rows up.
    fn copy(&self, stream: &Stream, targets: &[Target], halt: &Halt) -> Result<(), SessionError> {
        let mut session = stream.connect(targets)?;
        session.copy_begin(&self.copy)?;
        let mut buffer = ReadBuffer::new();
        session.output().reserve(2 * MESSAGE_BYTES);
        let mut share = Share::default();
        while !share.is_last {
            if halt.is_on() {
                return give_up(session);
            }
            let rows_before = share.rows;
            let bytes = self.write_message(session.output(), &mut share);
            session.copy_send(&mut buffer)?;
            stream
                .sent
                .fetch_add(share.rows - rows_before, Ordering::Relaxed);
            stream.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        let output = session.output();
        output.clear();
        encode::copy_done(output);
        stream.kept.store(session.copy_end()?, Ordering::Relaxed);
        session.close();
        Ok(())
    }

    /// Encodes rows until a message is full or none is left; returns its bytes of COPY data.
    fn write_message(&self, output: &mut Vec<u8>, share: &mut Share) -> u64 {
        output.clear();
        let mark = encode::copy_data_begin(output);
        if !share.has_begun {
            row::write_header(output);
            share.has_begun = true;
        }
        while output.len() < MESSAGE_BYTES {
            if share.next == share.end && !self.take_piece(share) {
                row::write_trailer(output);
                share.is_last = true;
                break;
            }
            self.rows.write(output, share.next);
            share.next += 1;
            share.rows += 1;
        }
        encode::copy_data_end(output, mark);
        (output.len() - mark - 4) as u64
    }

    /// Takes the next piece of the table's rows; false where all have been taken.
    fn take_piece(&self, share: &mut Share) -> bool {
        let first = self.next.fetch_add(PIECE_ROWS, Ordering::Relaxed);
        share.next = first.min(self.row_count);
        share.end = (first + PIECE_ROWS).min(self.row_count);
        share.next < share.end
    }

    /// Runs the statements; false where it is halted before their end.
    fn run_after(&self, targets: &[Target], halt: &Halt) -> Result<bool, SessionError> {
        let mut session = self.finisher.connect(targets)?;
        self.finishing.store(true, Ordering::Relaxed);
        for sql in &self.after {
            if halt.is_on() {
                return Ok(false);
            }
            match session.query(sql) {
                // A halt ends the statement by an error.
                Err(SessionError::Server(_)) if halt.is_on() => return Ok(false),
                outcome => outcome?,
            };
        }
        session.close();
        Ok(true)
    }

    /// Whether something of it runs.
    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }

    /// How many of its parts have ended: its rows, and what comes after them.
    pub(super) fn ended(&self) -> u32 {
        self.ended.load(Ordering::Acquire)
    }

    /// Whether all that was asked for has been done.
    pub(super) fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed)
    }

    /// The backend that makes keys and indexes at the moment.
    pub(super) fn finishing_pid(&self) -> Option<u32> {
        let finishing = self.finishing.load(Ordering::Relaxed);
        finishing.then(|| self.finisher.server_pid.load(Ordering::Relaxed))
    }

    /// The rows that the server said it kept.
    pub(super) fn kept(&self) -> u64 {
        self.streams
            .iter()
            .map(|stream| stream.kept.load(Ordering::Relaxed))
            .sum()
    }

    /// The bytes of COPY data that were sent.
    pub(super) fn bytes(&self) -> u64 {
        self.streams
            .iter()
            .map(|stream| stream.bytes.load(Ordering::Relaxed))
            .sum()
    }

    /// Tells how far each connection is that has been made.
    pub(super) fn tell(&self, mut progress: impl FnMut(FillProgress)) {
        for (stream, state) in self.streams.iter().chain([&self.finisher]).enumerate() {
            let server_pid = state.server_pid.load(Ordering::Relaxed);
            if server_pid > 0 {
                progress(FillProgress {
                    table: self.table.0,
                    stream,
                    rows: state.sent.load(Ordering::Relaxed),
                    server_pid,
                });
            }
        }
    }
}

impl Stream {
    fn connect(&self, targets: &[Target]) -> Result<PostgresSession, SessionError> {
        let session = PostgresSession::connect_any(targets, CONNECT_MAX)?;
        self.server_pid
            .store(session.server_pid(), Ordering::Relaxed);
        Ok(session)
    }
}

/// Where a stream is in the rows that it has taken.
#[derive(Debug, Default)]
struct Share {
    next: u64,
    end: u64,
    /// Rows that it has written so far.
    rows: u64,
    has_begun: bool,
    is_last: bool,
}

/// Ends a COPY without keeping its rows. The server's error about it is what was asked for.
fn give_up(mut session: PostgresSession) -> Result<(), SessionError> {
    let output = session.output();
    output.clear();
    encode::copy_fail(output, "stopped by the load generator");
    match session.copy_end() {
        Ok(_) | Err(SessionError::Server(_)) => Ok(()),
        Err(other) => Err(other),
    }
}
