//! Bulk load into every table of a fill, over several connections: by COPY in binary form (PostgreSQL), or by LOAD DATA
//! LOCAL in chunks (MySQL and MariaDB).
//!
//! Tables are filled side by side, each over connections of its own (`fill/table.rs`). What a row
//! holds depends on seed, table, row and column only (`fill/row.rs`), so any number of connections
//! gives the same content. Rows that programs or files give come part by part (`fill/source.rs`), as CSV.

mod binary;
mod copy;
mod lines;
mod load;
mod pieces;
mod records;
mod row;
mod source;
mod supply;
mod table;

use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use crate::job::{Fill, Value};
use crate::message::{FillGave, FillProgress};
use crate::session::cancel::Canceller;
use crate::session::{ServerError, SessionError, Target};
use crate::wire::Wire;
use row::{Ranges, Rows};
use table::TableLoad;

/// The most connections that a fill makes by itself, where its job names no number: more would take
/// the cores from the server.
const STREAMS_OF_ITSELF_MAX: usize = 4;
/// How long a connection may take to be made.
const CONNECT_MAX: Duration = Duration::from_secs(30);
/// Where a fill has failed whose threads cannot be started.
const NO_THREAD: &str = "starting a thread of the fill";
/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// What a fill did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FillTotals {
    /// The rows that the server said it kept.
    pub rows: u64,
    /// The rows that it was to keep.
    pub planned: u64,
    /// The bytes of rows that were sent.
    pub bytes: u64,
    /// Whether `stop` ended it early. Nothing is left of a COPY, or of a LOAD DATA's chunk, that had not come to its end.
    pub stopped: bool,
    /// What each part gave, where rows come from programs or files.
    pub gave: Vec<FillGave>,
}

/// Fills the tables side by side over `fill.streams` connections in all: as many tables at a time
/// as there are connections, each with its share of them. When the rows of all are there, runs the
/// fill's `after` for each, as many side by side: not before, as a VACUUM beside a COPY cannot mark
/// a page as visible to all. `progress` is called from this thread for each connection at work,
/// about every 100 ms and at its end.
///
/// # Errors
/// The first failure, with its table and stream; all others are stopped then, and the server throws
/// away what they had sent. `Protocol` for a value that its column cannot hold.
pub fn run(
    fill: &Fill,
    values: &[Value],
    target: &Target,
    seed: u64,
    tables: &[String],
    stop: &AtomicBool,
    mut progress: impl FnMut(FillProgress),
) -> Result<FillTotals, SessionError> {
    let streams = streams(fill);
    let form = Form::of(target);
    let each = if fill.frozen && form == Form::Copy {
        1 // what is frozen is seen by nobody before its transaction ends
    } else {
        (streams / tables.len().max(1)).max(1)
    };
    let mut loads = Vec::new();
    for (index, name) in tables.iter().enumerate() {
        let rows = Rows::new(fill, values, seed, name, form.ranges()).map_err(|problem| {
            SessionError::Protocol(format!("cannot fill `{name}`: {problem}"))
        })?;
        loads.push(TableLoad::new(fill, (index, name), form, rows, each));
    }
    let work = Work {
        loads,
        target,
        halt: Halt {
            stop,
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        },
    };
    let at_once = streams.min(tables.len());
    work.run(at_once, TableLoad::fill, &mut progress)?;
    if !fill.after.is_empty() && !work.halt.is_on() {
        work.run(at_once, TableLoad::finish, &mut progress)?;
    }
    Ok(work.totals())
}

/// The form in which a server takes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// COPY's binary form.
    Copy,
    /// The lines of LOAD DATA.
    Lines,
}

impl Form {
    fn of(target: &Target) -> Self {
        match target.wire {
            Wire::MySql(_) => Self::Lines,
            Wire::Postgres => Self::Copy,
        }
    }

    fn ranges(self) -> Ranges {
        match self {
            Self::Copy => binary::RANGES,
            Self::Lines => lines::RANGES,
        }
    }
}

/// Returns the connections of a fill in all.
fn streams(fill: &Fill) -> usize {
    if fill.streams > 0 {
        return fill.streams as usize;
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    cores.min(STREAMS_OF_ITSELF_MAX)
}

/// What ends a fill early: the caller, or the first failure.
#[derive(Debug)]
struct Halt<'a> {
    stop: &'a AtomicBool,
    failed: AtomicBool,
    failure: Mutex<Option<SessionError>>,
}

impl Halt<'_> {
    fn is_on(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }

    /// Keeps the first failure of all, with its place.
    fn fail(&self, error: SessionError, place: &str) {
        let mut failure = self
            .failure
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if !self.failed.swap(true, Ordering::Relaxed) {
            *failure = Some(in_context(error, place));
        }
    }

    fn take_failure(&self) -> Option<SessionError> {
        self.failure
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .take()
    }
}

/// The tables of a fill while they are filled.
struct Work<'a> {
    loads: Vec<TableLoad<'a>>,
    target: &'a Target,
    halt: Halt<'a>,
}

/// What is done with each table: it is filled, or finished.
type Part<'a> = fn(&TableLoad<'a>, &Target, &Halt);

impl<'a> Work<'a> {
    /// Does a part for all tables, `at_once` at a time, and watches them from this thread.
    fn run(
        &self,
        at_once: usize,
        part: Part<'a>,
        progress: &mut impl FnMut(FillProgress),
    ) -> Result<(), SessionError> {
        let next = AtomicUsize::new(0);
        let take_tables = || {
            while !self.halt.is_on() {
                let Some(load) = self.loads.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    return;
                };
                part(load, self.target, &self.halt);
            }
        };
        let mut watch = Watch {
            told: vec![0; self.loads.len()],
            canceller: Canceller::new(self.target),
        };
        std::thread::scope(|scope| {
            // Each thread holds a sender as long as it runs; nothing is ever sent.
            let (alive, ended) = channel::<Infallible>();
            for _ in 0..at_once {
                let (alive, take_tables) = (alive.clone(), &take_tables);
                let started = Builder::new().spawn_scoped(scope, move || {
                    take_tables();
                    drop(alive);
                });
                if let Err(error) = started {
                    self.halt.fail(error.into(), NO_THREAD);
                    break;
                }
            }
            drop(alive);
            loop {
                let waited = ended.recv_timeout(PROGRESS_EVERY);
                watch.tell(&self.loads, progress);
                if waited == Err(RecvTimeoutError::Disconnected) {
                    break;
                }
                if self.halt.is_on() {
                    watch.cancel(&self.loads);
                }
            }
        });
        self.halt.take_failure().map_or(Ok(()), Err)
    }

    fn totals(&self) -> FillTotals {
        let whole = self.loads.iter().all(TableLoad::is_done);
        FillTotals {
            rows: self.loads.iter().map(TableLoad::kept).sum(),
            planned: self.loads.iter().map(TableLoad::planned).sum(),
            bytes: self.loads.iter().map(TableLoad::bytes).sum(),
            stopped: !whole && self.halt.stop.load(Ordering::Relaxed),
            gave: self.loads.iter().flat_map(TableLoad::gave).collect(),
        }
    }
}

/// What the watching thread keeps.
struct Watch<'a> {
    /// By the table's index: how many of its parts had ended when it was told.
    told: Vec<u32>,
    canceller: Canceller<'a>,
}

impl Watch<'_> {
    /// Tells how far the tables are that are at work or have just ended.
    fn tell(&mut self, loads: &[TableLoad], progress: &mut impl FnMut(FillProgress)) {
        for (load, told) in loads.iter().zip(&mut self.told) {
            // Asked first: where a part ends meanwhile, the next round tells of it.
            let ended = load.ended();
            if load.is_busy() || ended != *told {
                load.tell(&mut *progress);
            }
            *told = ended;
        }
    }

    /// Ends statements that would otherwise go on long after a stop, such as the making of an
    /// index. Where the server cannot be reached they end with it.
    fn cancel(&mut self, loads: &[TableLoad]) {
        let keys: Vec<_> = loads.iter().filter_map(TableLoad::finishing).collect();
        let _ = self.canceller.cancel(&keys);
    }
}

/// Returns an error with the place where it happened in front of its text.
fn in_context(error: SessionError, place: &str) -> SessionError {
    let with = |text: String| format!("{place}: {text}");
    match error {
        SessionError::Connect(text) => SessionError::Connect(with(text)),
        SessionError::Auth(text) => SessionError::Auth(with(text)),
        SessionError::Tls(text) => SessionError::Tls(with(text)),
        SessionError::Protocol(text) => SessionError::Protocol(with(text)),
        SessionError::Lost(text) => SessionError::Lost(with(text)),
        SessionError::Server(ServerError {
            code,
            number,
            message,
        }) => SessionError::Server(ServerError {
            code,
            number,
            message: with(message),
        }),
        SessionError::Io(error) => {
            SessionError::Io(std::io::Error::new(error.kind(), with(error.to_string())))
        }
    }
}
