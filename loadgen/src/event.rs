//! The events that the generator writes, one JSON object a line (`contract/README.md`, "Events").
//!
//! This module alone writes standard output.

use crate::record::RoleRecord;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// One line of standard output. Times are nanoseconds of CLOCK_MONOTONIC.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
#[expect(
    missing_docs,
    reason = "contract/README.md describes each key, for both languages"
)]
pub enum Event {
    /// The first line.
    Hello {
        mono_ns: u64,
        protocol: u32,
        version: String,
        commit: Option<String>,
        profile: String,
        pid: u32,
    },
    /// A connection has been let in.
    Connected {
        mono_ns: u64,
        role: String,
        client: u32,
        connection: u32,
        server_pid: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server_tid: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        processor: Option<u32>,
    },
    /// Everything is prepared; `go` is awaited.
    Ready {
        mono_ns: u64,
        connections: usize,
        threads: usize,
        setup_us: u64,
        #[serde(default)]
        histogram_bytes_max: u64,
    },
    /// The step has started.
    Started { mono_ns: u64, unix_ns: u64 },
    /// Counting begins.
    WindowOpen { mono_ns: u64 },
    /// One role's second.
    Tick(Tick),
    /// A part of a fill's rows that a program or a file gave has come to its end.
    Gave {
        mono_ns: u64,
        table: String,
        part: usize,
        rows: u64,
        bytes: u64,
        sha256: String,
    },
    /// All is quiet.
    Paused { mono_ns: u64 },
    /// The step goes on.
    Resumed { mono_ns: u64 },
    /// What a statement returned.
    Captured {
        mono_ns: u64,
        role: String,
        client: u32,
        connection: u32,
        statement: String,
        columns: Vec<String>,
        rows: Vec<Vec<Option<String>>>,
        notices: Vec<String>,
    },
    /// A session ends and another takes its place, or the step is over: what it was asked last, and answered.
    SessionEnd {
        mono_ns: u64,
        role: String,
        client: u32,
        connection: u32,
        rows: Vec<Vec<Option<String>>>,
    },
    /// One operation, with `trace`.
    Operation {
        mono_ns: u64,
        role: String,
        client: u32,
        connection: u32,
        operation: String,
        number: u64,
        due_ns: u64,
        start_ns: u64,
        end_ns: u64,
        rows: u64,
        error: Option<String>,
    },
    /// An error of the server, or a lost connection.
    Error {
        mono_ns: u64,
        role: String,
        client: u32,
        connection: u32,
        operation: String,
        code: String,
        message: String,
        fatal: bool,
    },
    /// Counting has ended.
    WindowClose {
        mono_ns: u64,
        active_ns: u64,
        ended: BTreeMap<String, Vec<Option<u64>>>,
        clients_end_ns: Vec<Option<u64>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<Status>,
    },
    /// The last line.
    Done {
        mono_ns: u64,
        status: Status,
        reason: Option<String>,
        totals: BTreeMap<String, Totals>,
        peak_rss_bytes: u64,
        cpu_us: u64,
        threads: Vec<ThreadUse>,
    },
}

/// One role's tick.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tick {
    /// When the tick ended.
    pub mono_ns: u64,
    /// Its number: tick k ends k seconds after the window's start.
    pub tick: i64,
    /// Its length without pauses.
    pub active_ns: u64,
    /// Whether it lies in the window.
    pub measured: bool,
    /// The role.
    pub role: String,
    /// For each client: count, rows, errors, max_us.
    pub per_client: Vec<[u64; 4]>,
    /// By the operation's name.
    pub operations: BTreeMap<String, OperationTick>,
    /// The longest that an operation was sent after it was due.
    pub late_us_max: u64,
    /// Operations due and not sent.
    pub backlog: u64,
    /// CPU of the whole generator in this tick.
    pub cpu_us: u64,
    /// HDR histogram of first sending − the moment when the operation was due and its connection free.
    pub lag: String,
    /// HDR histogram of a reply's handling − the earliest moment at which it may have been readable.
    pub queue: String,
    /// For how long connections had operations that count, all together; none where that did not end in the tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_ns: Option<u64>,
    /// Connections that operations opened for themselves; none where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connects: Option<Box<ConnectsTick>>,
}

/// Connections that operations opened for themselves, and how long that took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectsTick {
    /// How many.
    pub count: u64,
    /// All together.
    pub sum_us: u64,
    /// The longest.
    pub max_us: u64,
}

/// One operation's part of a tick.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationTick {
    /// Completed without error.
    pub count: u64,
    /// Rows of their replies.
    pub rows: u64,
    /// Those of which no reply had a row.
    pub empty: u64,
    /// The longest response time.
    pub max_us: u64,
    /// Errors by code.
    pub errors: BTreeMap<String, u64>,
    /// How often one was tried again.
    pub retries: u64,
    /// Those that were tried again at least once, whatever became of them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub retried: u64,
    /// Those that ended without success, by the code of their last error.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, u64>,
    /// Those that ended by rolling back what they did, as they were to.
    #[serde(default, skip_serializing_if = "is_none")]
    pub rolled_back: u64,
    /// Those that were never begun, as they were later already than the latency limit.
    #[serde(default, skip_serializing_if = "is_none")]
    pub skipped: u64,
    /// Completed without error, but later than the latency limit.
    #[serde(default, skip_serializing_if = "is_none")]
    pub over_limit: u64,
    /// HDR histogram of completion − due, V2 deflate in base64.
    pub response: String,
    /// HDR histogram of completion − sent.
    pub service: String,
    /// Exact sums of what completed without error; none where nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sums_us: Option<SumsTick>,
}

/// Of times in microseconds, each time: their sum, and the sum of their squares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SumsTick {
    /// Completion − due.
    pub response: [f64; 2],
    /// Completion − sent.
    pub service: [f64; 2],
    /// First sending − due.
    pub late: [f64; 2],
}

/// Whether a count is of nothing, so that it is not written.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes what it asks about by reference"
)]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// As the job said.
    Ok,
    /// By an error.
    Failed,
    /// By the caller, a signal, or `seconds_max`.
    Stopped,
}

/// What a role did from the start to the end, also what was not counted in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// Completed operations without error.
    pub count: u64,
    /// Rows of their replies.
    pub rows: u64,
    /// Errors, those that were tried again too.
    pub errors: u64,
    /// How often an operation was tried again.
    pub retries: u64,
    /// Operations that were tried again at least once.
    #[serde(default, skip_serializing_if = "is_none")]
    pub retried: u64,
    /// Operations that ended without success.
    #[serde(default, skip_serializing_if = "is_none")]
    pub failed: u64,
    /// Operations that ended by rolling back what they did, as they were to.
    #[serde(default, skip_serializing_if = "is_none")]
    pub rolled_back: u64,
    /// Operations that were never begun.
    #[serde(default, skip_serializing_if = "is_none")]
    pub skipped: u64,
    /// Operations that completed later than the latency limit.
    #[serde(default, skip_serializing_if = "is_none")]
    pub over_limit: u64,
    /// What of it the ticks have, by which a reader knows that none is missing; none of a fill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_ticks: Option<InTicks>,
}

/// What all ticks of a role add up to, those of the warm-up too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InTicks {
    /// The clients' operations.
    pub count: u64,
    /// The clients' rows.
    pub rows: u64,
    /// The clients' errors.
    pub errors: u64,
    /// The counts of all operations, statements in transactions too.
    pub operations: u64,
}

impl InTicks {
    /// Adds a tick of the role.
    pub fn add(&mut self, tick: &RoleRecord) {
        for client in &tick.per_client {
            self.count += client.count;
            self.rows += client.rows;
            self.errors += client.errors;
        }
        for operation in &tick.operations {
            self.operations += operation.count;
        }
    }

    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.rows += other.rows;
        self.errors += other.errors;
        self.operations += other.operations;
    }
}

impl Totals {
    /// Adds another part.
    pub fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.rows += other.rows;
        self.errors += other.errors;
        self.retries += other.retries;
        self.retried += other.retried;
        self.failed += other.failed;
        self.rolled_back += other.rolled_back;
        self.skipped += other.skipped;
        self.over_limit += other.over_limit;
        if let Some(ticks) = other.in_ticks {
            self.in_ticks.get_or_insert_default().merge(ticks);
        }
    }
}

/// What a worker thread spent from the start to the window's close.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadUse {
    /// CPU time.
    pub cpu_us: u64,
    /// CPU time divided by the time that passed.
    pub busy_share: f64,
    /// How it waited for its connections; none with the fake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Way>,
    /// Time in which it was ready to run and had no processor, divided by the time that passed; none with the fake, and where
    /// the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runnable_share: Option<f64>,
    /// How often a receive by io_uring ended for want of a buffer, and began anew.
    #[serde(default, skip_serializing_if = "is_none")]
    pub no_buffers: u64,
    /// Why it did not wait by io_uring, where the kernel refused that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_uring_refused: Option<String>,
}

/// How a worker waits for its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// In the receive of its only connection.
    Receive,
    /// By epoll.
    Epoll,
    /// By io_uring, which receives as well.
    IoUring,
}

impl Event {
    /// Writes the event as one line and flushes it.
    ///
    /// # Errors
    /// As the output's.
    pub fn write(&self, output: &mut impl Write) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        output.write_all(&line)?;
        output.flush()
    }
}

/// Where events go: standard output, or a list in tests.
#[must_use]
pub fn standard_output() -> Box<dyn Write + Send> {
    Box::new(io::stdout())
}

/// Writes a text to standard output that is no event: what `--help` and `canary` print.
///
/// # Errors
/// As standard output's.
pub fn print(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.write_all(b"\n")?;
    output.flush()
}
