//! Bulk load: COPY in binary form into every table of a fill, over several connections.
//!
//! What a row holds depends on seed, table, row and column only (`fill/row.rs`), so any number of
//! connections gives the same tables.

mod row;

use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::job::{Fill, Value};
use crate::session::postgres::{
    PostgresSession, ReadBuffer, ServerError, SessionError, Target, encode,
};
use row::RowWriter;

/// The size of a piece of COPY data.
const PIECE_BYTES: usize = 64 << 10;
/// How long a connection may take to be made.
const CONNECT_MAX: Duration = Duration::from_secs(30);
/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// How far one connection of a fill is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillProgress {
    /// The index of the table.
    pub table: usize,
    /// The number of the connection among the table's.
    pub stream: usize,
    /// The rows that it has sent so far.
    pub rows: u64,
    /// The process number of its server backend; 0 before it is connected.
    pub server_pid: u32,
}

/// What a fill did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FillTotals {
    /// The rows that the server said it kept.
    pub rows: u64,
    /// The bytes of COPY data that were sent.
    pub bytes: u64,
    /// Whether `stop` ended it early. Streams that had not come to their end have left nothing.
    pub stopped: bool,
}

/// Fills the tables one after the other, each over `fill.streams` connections that share its rows
/// in contiguous ranges. `progress` is called from this thread for each stream of the table at
/// work, about every 100 ms and at its end.
///
/// # Errors
/// The first failure, with its table and stream; the other streams of the table are stopped then,
/// and their rows thrown away by the server. `Protocol` for a value that its column cannot hold.
pub fn run(
    fill: &Fill,
    values: &[Value],
    targets: &[Target],
    seed: u64,
    tables: &[String],
    stop: &AtomicBool,
    mut progress: impl FnMut(FillProgress),
) -> Result<FillTotals, SessionError> {
    let mut totals = FillTotals::default();
    for (table, name) in tables.iter().enumerate() {
        let rows = RowWriter::new(fill, values, seed, name).map_err(|problem| {
            SessionError::Protocol(format!("cannot fill `{name}`: {problem}"))
        })?;
        let columns: Vec<&str> = fill
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        let load = TableLoad {
            name,
            sql: format!(
                "COPY {name} ({}) FROM STDIN (FORMAT binary)",
                columns.join(", ")
            ),
            rows: &rows,
            targets,
            stop,
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
            streams: streams(fill),
        };
        let finished = load.run(|stream, state| {
            progress(FillProgress {
                table,
                stream,
                rows: state.sent.load(Ordering::Relaxed),
                server_pid: state.pid(),
            });
        })?;
        totals.rows += finished.rows;
        totals.bytes += finished.bytes;
        totals.stopped |= finished.stopped;
        if totals.stopped {
            break;
        }
    }
    Ok(totals)
}

/// The ranges of rows of a table's streams, as even as can be; none for a stream without rows.
fn streams(fill: &Fill) -> Vec<Stream> {
    let count = u64::from(fill.streams).clamp(1, fill.rows.max(1));
    let bound = |index: u64| {
        let product = u128::from(fill.rows) * u128::from(index) / u128::from(count);
        u64::try_from(product).expect("at most `rows`")
    };
    (0..count)
        .map(|index| Stream {
            first: bound(index),
            end: bound(index + 1),
            ..Stream::default()
        })
        .collect()
}

/// One connection's share of a table, and how far it is.
#[derive(Debug, Default)]
struct Stream {
    first: u64,
    end: u64,
    sent: AtomicU64,
    bytes: AtomicU64,
    kept: AtomicU64,
    server_pid: AtomicU64,
}

impl Stream {
    fn pid(&self) -> u32 {
        u32::try_from(self.server_pid.load(Ordering::Relaxed)).unwrap_or(0)
    }
}

/// One table while it is filled.
struct TableLoad<'a> {
    name: &'a str,
    sql: String,
    rows: &'a RowWriter<'a>,
    targets: &'a [Target],
    stop: &'a AtomicBool,
    /// Whether a stream has failed, so that the others stop.
    failed: AtomicBool,
    failure: Mutex<Option<SessionError>>,
    streams: Vec<Stream>,
}

impl TableLoad<'_> {
    /// Runs all streams, each on a thread of its own, and watches them from this one.
    fn run(self, mut progress: impl FnMut(usize, &Stream)) -> Result<FillTotals, SessionError> {
        std::thread::scope(|scope| {
            // A stream holds its sender as long as it runs; nothing is ever sent.
            let (alive, ended) = channel::<Infallible>();
            for (index, stream) in self.streams.iter().enumerate() {
                let (load, alive) = (&self, alive.clone());
                scope.spawn(move || {
                    load.run_stream(index, stream);
                    drop(alive);
                });
            }
            drop(alive);
            loop {
                let waited = ended.recv_timeout(PROGRESS_EVERY);
                for (index, stream) in self.streams.iter().enumerate() {
                    progress(index, stream);
                }
                if waited == Err(RecvTimeoutError::Disconnected) {
                    break;
                }
            }
        });
        let stopped = self.stop.load(Ordering::Relaxed);
        let failure = self
            .failure
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(failure) = failure {
            return Err(failure);
        }
        let sum = |of: fn(&Stream) -> &AtomicU64| {
            self.streams
                .iter()
                .map(|stream| of(stream).load(Ordering::Relaxed))
                .sum::<u64>()
        };
        let rows = sum(|stream| &stream.kept);
        let wanted: u64 = self
            .streams
            .iter()
            .map(|stream| stream.end - stream.first)
            .sum();
        Ok(FillTotals {
            rows,
            bytes: sum(|stream| &stream.bytes),
            stopped: stopped && rows < wanted,
        })
    }

    /// Runs one stream to its end; the first failure of all is kept.
    fn run_stream(&self, index: usize, stream: &Stream) {
        if let Err(error) = self.copy(stream) {
            let place = format!("filling `{}`, stream {index}", self.name);
            let mut failure = self
                .failure
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            if !self.failed.swap(true, Ordering::Relaxed) {
                *failure = Some(in_context(error, &place));
            }
        }
    }

    fn halted(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }

    /// Sends a stream's rows. One that is halted gives its rows up.
    fn copy(&self, stream: &Stream) -> Result<(), SessionError> {
        let mut session = PostgresSession::connect_any(self.targets, CONNECT_MAX)?;
        stream
            .server_pid
            .store(session.server_pid().into(), Ordering::Relaxed);
        session.copy_begin(&self.sql)?;
        let mut buffer = ReadBuffer::new();
        session.output().reserve(2 * PIECE_BYTES);
        let mut row = stream.first;
        while row < stream.end {
            if self.halted() {
                return give_up(session);
            }
            let first = row == stream.first;
            let bytes = self.fill_piece(session.output(), &mut row, stream.end, first);
            session.copy_send(&mut buffer)?;
            stream.sent.store(row - stream.first, Ordering::Relaxed);
            stream.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        let output = session.output();
        output.clear();
        encode::copy_done(output);
        stream.kept.store(session.copy_end()?, Ordering::Relaxed);
        session.close();
        Ok(())
    }

    /// Encodes rows until a piece is full or there are no more; returns its bytes of COPY data.
    fn fill_piece(&self, output: &mut Vec<u8>, row: &mut u64, end: u64, first: bool) -> u64 {
        output.clear();
        let mark = encode::copy_data_begin(output);
        if first {
            row::write_header(output);
        }
        while *row < end && output.len() < PIECE_BYTES {
            self.rows.write(output, *row);
            *row += 1;
        }
        if *row == end {
            row::write_trailer(output);
        }
        encode::copy_data_end(output, mark);
        (output.len() - mark - 4) as u64
    }
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

/// An error with the place where it happened in front of its text.
fn in_context(error: SessionError, place: &str) -> SessionError {
    let with = |text: String| format!("{place}: {text}");
    match error {
        SessionError::Connect(text) => SessionError::Connect(with(text)),
        SessionError::Auth(text) => SessionError::Auth(with(text)),
        SessionError::Tls(text) => SessionError::Tls(with(text)),
        SessionError::Protocol(text) => SessionError::Protocol(with(text)),
        SessionError::Lost(text) => SessionError::Lost(with(text)),
        SessionError::Server(ServerError { code, message }) => SessionError::Server(ServerError {
            code,
            message: with(message),
        }),
        SessionError::Io(error) => {
            SessionError::Io(std::io::Error::new(error.kind(), with(error.to_string())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_share_all_rows_in_contiguous_ranges_of_even_size() {
        for (rows, count) in [(10, 3), (1, 4), (1_000_000, 7), (5, 5)] {
            let fill = Fill {
                table: "t".into(),
                streams: count,
                rows,
                columns: Vec::new(),
            };
            let streams = streams(&fill);
            let mut next = 0;
            for stream in &streams {
                assert_eq!(stream.first, next);
                assert!(stream.end > stream.first);
                next = stream.end;
            }
            assert_eq!(next, rows);
            let sizes = streams.iter().map(|stream| stream.end - stream.first);
            assert!(sizes.clone().max() <= sizes.min().map(|size| size + 1));
        }
    }
}
