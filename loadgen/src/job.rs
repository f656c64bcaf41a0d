//! The job: what the generator reads from standard input (`contract/README.md`, "The job").
//!
//! These are the types alone; what makes a job valid stands in `job/check.rs`.

mod check;
mod composed;
mod fill;
mod log;
mod maker;
mod piece;
mod program;
mod role;
mod script;
mod server;
mod source;
mod statement;
mod tls;
mod types;

pub use check::JobError;
pub use composed::{Computed, JoinPart, JoinValue, JoinWord, Permuted};
pub use fill::{Children, ColumnType, Fill, FillColumn};
pub use log::Log;
pub use maker::{
    Bound, ClientNumber, Count, ItemNumber, Maker, Newest, SampleColumn, Sequence, Value,
};
pub use piece::Piece;
pub use program::{Instruction, Program};
pub use role::{
    Apart, Arrivals, Choice, ChoiceRule, Connect, Marks, OnError, OnLost, Otherwise, Pace, Per,
    Queue, Renew, Role, RoleStop, TableBy, TableUse, ThinkTime,
};
pub use script::{
    ARGUMENTS_MAX, Assignment, Branch, Expression, FirstClient, Function, Initial, Into, Rest,
    SeedOf, Variable,
};
pub use server::{Password, PasswordPlace, Server};
pub use source::{Source, SourceFormat, SourcePart};
pub use statement::{Protocol, ResultForm, Statement};
pub use tls::{ChannelBinding, Tls, TlsMode};
pub use types::declared_oid;

use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The version of the contract that this generator speaks.
pub const PROTOCOL: u32 = 1;

/// Everything that one step needs; a job that was parsed by [`Job::read`] is valid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a key of the job by itself"
)]
pub struct Job {
    /// The version of the contract: [`PROTOCOL`].
    pub protocol: u32,
    /// Starts by itself and ignores the end of standard input.
    #[serde(default)]
    pub autostart: bool,
    /// The seed of every value.
    pub seed: u64,
    /// The step's name; part of every value's seed.
    pub step: String,
    /// What answers.
    pub engine: Engine,
    /// Where the server is; null with the fake engine.
    #[serde(default)]
    pub server: Option<Server>,
    /// Further servers by name, such as a standby, for the roles that name them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub endpoints: BTreeMap<String, Server>,
    /// The character set of connections; MySQL and MariaDB only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub character_set: CharacterSet,
    /// Whether an UPDATE counts the rows that it found, not those that it changed; MySQL and MariaDB only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub found_rows: bool,
    /// The in-process server; null with the other engines.
    #[serde(default)]
    pub fake: Option<Fake>,
    /// The workload's clients.
    pub clients: u32,
    /// How far apart they begin; null: together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<Apart>,
    /// Worker threads; 0 = max(1, cores / 8).
    #[serde(default)]
    pub threads: u32,
    /// The processors of worker threads, one each; empty: `threads` of them, wherever the kernel likes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub processors: Vec<u32>,
    /// How worker threads wait for their connections.
    #[serde(default, skip_serializing_if = "is_default")]
    pub wait: Wait,
    /// Which part of the clients this process runs.
    #[serde(default)]
    pub segment: Segment,
    /// What local time is ahead of UTC, in seconds, for values of `clock`.
    #[serde(default)]
    pub utc_offset_s: i32,
    /// How many tables there are of each name; 0: one, whose name has no number.
    #[serde(default)]
    pub tables: BTreeMap<String, u32>,
    /// The least number of digits of the tables' numbers, by the tables' name; 1 where it is missing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub table_digits: BTreeMap<String, usize>,
    /// The files that values are drawn from: their paths by the SHA-256 of their content, in hexadecimal.
    #[serde(default, skip_serializing_if = "is_default")]
    pub samples: BTreeMap<String, String>,
    /// The values that statements and fills use.
    #[serde(default)]
    pub values: Vec<Value>,
    /// Numbers that are read from the server now and then.
    #[serde(default)]
    pub cursors: Vec<Cursor>,
    /// Registers that programs compute with.
    #[serde(default, skip_serializing_if = "is_default")]
    pub variables: Vec<Variable>,
    /// What `set` does.
    #[serde(default, skip_serializing_if = "is_default")]
    pub assignments: Vec<Assignment>,
    /// What `unless` does.
    #[serde(default, skip_serializing_if = "is_default")]
    pub branches: Vec<Branch>,
    /// What `rest` does.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sleeps: Vec<Rest>,
    /// The statements.
    #[serde(default)]
    pub statements: Vec<Statement>,
    /// What is run: lists of draws and statements.
    #[serde(default)]
    pub programs: Vec<Program>,
    /// Groups of connections that do the same at the same pace.
    #[serde(default)]
    pub roles: Vec<Role>,
    /// Bulk loads; a job has these or roles.
    #[serde(default)]
    pub fills: Vec<Fill>,
    /// When the step ends.
    #[serde(default)]
    pub stop: Stop,
    /// Whether messages of the server go without what they may quote of values; always where values come from files.
    #[serde(default, skip_serializing_if = "is_default")]
    pub private: bool,
    /// Writes an `operation` event for each operation.
    #[serde(default)]
    pub trace: bool,
    /// Where operations are logged in pgbench's form; null: nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Log>,
    /// Keeps what statements return.
    #[serde(default)]
    pub capture: Vec<Capture>,
}

impl Job {
    /// Whether no message may quote what the server says of values.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.private || !self.samples.is_empty()
    }
}

/// Returns seconds as whole nanoseconds.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be at least 0; saturates"
)]
pub fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// How worker threads wait for their connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// As costs least with their number of connections, and as the kernel allows.
    #[default]
    Auto,
    /// By epoll.
    Epoll,
    /// By io_uring, except in TLS; the job fails where the kernel does not allow it.
    IoUring,
}

/// What answers the job's statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// A PostgreSQL server.
    Postgres,
    /// A MySQL server.
    Mysql,
    /// A MariaDB server.
    Mariadb,
    /// The in-process server with a virtual clock.
    Fake,
}

/// In which character set statements are sent and results come, with MySQL and MariaDB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CharacterSet {
    /// latin1, as the published benchmarks have it.
    #[default]
    Latin1,
    /// utf8mb4.
    Utf8mb4,
}

/// Which of the clients (and of a step's connections) this process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// Those whose number modulo `of` is this.
    pub index: u32,
    /// The number of processes.
    pub of: u32,
}

impl Engine {
    /// Its name in a job.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
            Self::Mariadb => "mariadb",
            Self::Fake => "fake",
        }
    }

    /// Whether its server speaks MySQL's protocol.
    #[must_use]
    pub fn is_mysql(self) -> bool {
        matches!(self, Self::Mysql | Self::Mariadb)
    }
}

impl Default for Segment {
    fn default() -> Self {
        Self { index: 0, of: 1 }
    }
}

/// How long a value stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Drawn anew for each repetition within a statement.
    #[default]
    Item,
    /// Drawn once for each statement.
    Statement,
    /// Drawn once for each transaction, by a `draw` of its program.
    Transaction,
}

/// How a value is written as a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Bare digits.
    Integer,
    /// Digits and `.00`.
    Decimal2,
    /// So many hundredths: 12345 is `123.45`.
    Hundredths,
    /// In single quotes, quotes doubled.
    Text,
    /// `'YYYY-MM-DD HH:MM:SS'`.
    Timestamp,
}

/// A number for each client that is read from the server now and then and counted up in between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cursor {
    /// The cursor's name.
    pub name: String,
    /// The SQL that reads it; `{t}` is the client's table.
    pub start: String,
    /// The statement whose generation advances it.
    #[serde(default)]
    pub on: Option<usize>,
    /// What it grows by after each generation of `on`.
    #[serde(default)]
    pub advance: i64,
    /// It is read again when more than this many of `on` have been generated since the last reading.
    #[serde(default)]
    pub resync_every: Option<u64>,
    /// Whether those readings happen when the statement would enter a queue, with earlier ones of it still to be sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
    /// How long the connection lasts that reads it: as the step, or as a reading. All cursors of a job have the same.
    #[serde(default, skip_serializing_if = "Connect::is_once")]
    pub connect: Connect,
}

impl Job {
    /// Returns the role of a tied pair whose operations are one execution of a statement, where there is one.
    #[must_use]
    pub fn queued_role(&self, statement: usize) -> Option<usize> {
        let paired = |role| self.tied_to(role).is_some() || self.tied_by(role).is_some();
        let sends = |code: &[Instruction]| {
            let mut sends = code
                .iter()
                .filter(|one| !matches!(one, Instruction::Draw(_)));
            (sends.next(), sends.next()) == (Some(&Instruction::Send(statement)), None)
        };
        (0..self.roles.len()).find(|role| {
            let choose = &self.roles[*role].choose;
            paired(*role)
                && choose
                    .iter()
                    .all(|one| sends(&self.programs[one.program].code))
        })
    }
}

/// When the step ends: with the quotas of roles, or after a time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The step ends when these roles have done their quota on all clients.
    #[serde(default)]
    pub roles: Vec<String>,
    /// The length of the window of a timed step.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// What a timed step runs before its window.
    #[serde(default)]
    pub warmup_s: f64,
    /// A hard limit on a step that is bound by work; null: none.
    #[serde(default)]
    pub seconds_max: Option<f64>,
    /// How long operations in flight may take after the step's end; null: [`DRAIN_MAX`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain_s_max: Option<f64>,
    /// What follows a pause and counts for nothing, neither operations nor CPU; null: [`SETTLE_NS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle_s: Option<f64>,
}

/// What follows a pause and counts for nothing, where the job does not say.
pub const SETTLE_NS: u64 = 200_000_000;

/// How long operations in flight may take after a step's end, where the job does not say.
pub const DRAIN_MAX: Duration = Duration::from_mins(10);

impl Stop {
    /// How long operations in flight may take after the step's end.
    #[must_use]
    pub fn drain_max(&self) -> Duration {
        self.drain_s_max.map_or(DRAIN_MAX, Duration::from_secs_f64)
    }
}

/// What is kept of what statements return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capture {
    /// The rows, as text.
    Rows,
    /// The notices.
    Notices,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The in-process server: what it takes how long for, and what goes wrong.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fake {
    /// Service time by statement, cursor, or `row` of a fill, in microseconds.
    #[serde(default)]
    pub service_us: BTreeMap<String, f64>,
    /// Service time of what `service_us` does not name.
    pub default_us: f64,
    /// Service times vary uniformly by ± this share.
    #[serde(default)]
    pub jitter: f64,
    /// Rows in the reply by statement; those not named reply their nominal rows.
    #[serde(default)]
    pub rows: BTreeMap<String, u64>,
    /// When it stands still.
    #[serde(default)]
    pub stalls: Vec<FakeStall>,
    /// Errors that it replies.
    #[serde(default)]
    pub errors: Vec<FakeError>,
    /// When it loses all connections, in seconds since the start; null: never.
    #[serde(default)]
    pub lost_at_s: Option<f64>,
    /// What cursors read.
    #[serde(default)]
    pub cursor: BTreeMap<String, i64>,
    /// How long its turns are, between which it pauses by itself, in seconds of what counts; null: it does not.
    #[serde(default)]
    pub turns_s: Option<f64>,
}

/// A time in which the fake stands still.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FakeStall {
    /// Its start, in seconds since the step's.
    pub at_s: f64,
    /// Its length in seconds.
    pub for_s: f64,
}

/// An error that the fake replies now and then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FakeError {
    /// The statement's name.
    pub statement: String,
    /// Each so many executions of it, over all connections.
    pub every: u64,
    /// The SQLSTATE.
    pub code: String,
}

/// Reads null as the type's default: for lists that a caller may leave out either way.
fn null_as_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
