//! One table while it is filled: its connections share its rows piece by piece; later one makes
//! keys and indexes.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

use super::pieces::{Pieces, Stream};
use super::records::Gave;
use super::row::Rows;
use super::source::Parts;
use super::{CONNECT_MAX, Form, Halt, NO_THREAD, copy, load};
use crate::job::Fill;
use crate::message::{FillGave, FillProgress};
use crate::session::{AnySession, CancelKey, SessionError, Target};

/// One table while it is filled.
pub(super) struct TableLoad<'a> {
    /// Its index among the fill's tables.
    index: usize,
    form: Form,
    /// The rows that it is to have.
    planned: u64,
    pieces: Pieces<'a>,
    /// The rows, where programs or files give them in place of the pieces.
    parts: Option<Parts<'a>>,
    after: Vec<String>,
    streams: Vec<Stream>,
    /// Whether something of it runs.
    busy: AtomicBool,
    /// How many of its parts have ended.
    ended: AtomicU32,
    /// Whether all that was asked for has been done.
    done: AtomicBool,
    /// The connection that runs the statements after the rows; while it does, by what they are cancelled.
    finisher: Stream,
    finishing: Mutex<Option<CancelKey>>,
}

impl<'a> TableLoad<'a> {
    /// Plans the load of a table of that index and name, over at most `streams` connections.
    pub(super) fn new(
        fill: &'a Fill,
        table: (usize, &'a str),
        form: Form,
        rows: Rows<'a>,
        streams: usize,
    ) -> Self {
        let (index, name) = table;
        let columns: Vec<_> = fill.columns.iter().map(|one| one.name.as_str()).collect();
        let columns = columns.join(", ");
        let number = name.strip_prefix(fill.table.as_str());
        let (request, piece_rows) = match form {
            Form::Copy => (
                copy::statement(name, &columns, fill.frozen),
                copy::PIECE_ROWS,
            ),
            Form::Lines => (
                load::statement(name, &columns),
                load::piece_rows(&rows, fill.rows, streams),
            ),
        };
        let parts = fill
            .from
            .as_ref()
            .map(|source| Parts::new(source, name, form, fill.frozen));
        let pieces = parts.as_ref().map_or_else(
            || usize::try_from(fill.rows.div_ceil(piece_rows)).unwrap_or(usize::MAX),
            Parts::len,
        );
        Self {
            index,
            form,
            planned: rows.there(fill.rows),
            pieces: Pieces {
                table: name,
                request,
                frozen: fill.frozen,
                rows,
                row_count: fill.rows,
                piece_rows,
                next: AtomicU64::new(0),
            },
            parts,
            after: fill
                .after
                .iter()
                .map(|sql| {
                    sql.replace("{t}", name)
                        .replace("{number}", number.unwrap_or_default())
                })
                .collect(),
            streams: (0..streams.clamp(1, pieces))
                .map(|_| Stream::default())
                .collect(),
            busy: AtomicBool::new(false),
            ended: AtomicU32::new(0),
            done: AtomicBool::new(false),
            finisher: Stream::default(),
            finishing: Mutex::new(None),
        }
    }

    /// Fills the table; failures go to `halt`.
    pub(super) fn fill(&self, target: &Target, halt: &Halt) {
        self.busy.store(true, Ordering::Relaxed);
        std::thread::scope(|scope| {
            for (index, stream) in self.streams.iter().enumerate() {
                let started = Builder::new().spawn_scoped(scope, move || {
                    let outcome = match (&self.parts, self.form) {
                        (Some(parts), form) => parts.send(form, stream, target, halt),
                        (None, Form::Copy) => copy::send(&self.pieces, stream, target, halt),
                        (None, Form::Lines) => load::send(&self.pieces, stream, target, halt),
                    };
                    if let Err(error) = outcome {
                        let place = format!("filling `{}`, stream {index}", self.name());
                        halt.fail(error, &place);
                    }
                });
                if let Err(error) = started {
                    halt.fail(error.into(), NO_THREAD);
                    break;
                }
            }
        });
        let whole = self.parts.as_ref().map_or_else(
            || self.kept() == self.planned,
            |parts| parts.gave().len() == parts.len(),
        );
        let done = self.after.is_empty() && whole;
        self.done.store(done, Ordering::Relaxed);
        self.busy.store(false, Ordering::Relaxed);
        self.ended.fetch_add(1, Ordering::Release);
    }

    /// Runs what comes after the rows; failures go to `halt`.
    pub(super) fn finish(&self, target: &Target, halt: &Halt) {
        self.busy.store(true, Ordering::Relaxed);
        match self.run_after(target, halt) {
            Ok(done) => self.done.store(done, Ordering::Relaxed),
            Err(error) => halt.fail(error, &format!("after filling `{}`", self.name())),
        }
        self.set_finishing(None);
        self.busy.store(false, Ordering::Relaxed);
        self.ended.fetch_add(1, Ordering::Release);
    }

    /// Runs the statements; false where it is halted before their end.
    fn run_after(&self, target: &Target, halt: &Halt) -> Result<bool, SessionError> {
        let mut session = AnySession::connect(target, CONNECT_MAX)?;
        self.finisher.is_connected(session.server_pid());
        self.set_finishing(Some(session.cancel_key()));
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

    /// Returns the table's name.
    pub(super) fn name(&self) -> &str {
        self.pieces.table
    }

    /// Tells whether something of it runs.
    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }

    /// Returns how many of its parts have ended: its rows, and what comes after them.
    pub(super) fn ended(&self) -> u32 {
        self.ended.load(Ordering::Acquire)
    }

    /// Tells whether all that was asked for has been done.
    pub(super) fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed)
    }

    /// Returns by what the making of keys and indexes is cancelled, while that goes on.
    pub(super) fn finishing(&self) -> Option<CancelKey> {
        *self
            .finishing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn set_finishing(&self, key: Option<CancelKey>) {
        *self
            .finishing
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = key;
    }

    /// Returns the rows that it is to have.
    pub(super) fn planned(&self) -> u64 {
        self.planned
    }

    /// Returns the rows that the server said it kept.
    pub(super) fn kept(&self) -> u64 {
        self.streams
            .iter()
            .map(|stream| stream.kept.load(Ordering::Relaxed))
            .sum()
    }

    /// Returns what each part gave, where programs or files give the rows.
    pub(super) fn gave(&self) -> Vec<FillGave> {
        let Some(parts) = &self.parts else {
            return Vec::new();
        };
        let of_table = |(part, gave): (usize, Gave)| FillGave {
            table: self.name().to_owned(),
            part,
            rows: gave.rows,
            bytes: gave.bytes,
            sha256: gave.sha256,
        };
        parts.gave().into_iter().map(of_table).collect()
    }

    /// Returns the bytes of rows that were sent.
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
                    table: self.index,
                    stream,
                    rows: state.sent.load(Ordering::Relaxed),
                    server_pid,
                });
            }
        }
    }
}
