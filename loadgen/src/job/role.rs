//! Roles: connections that do the same at the same pace, when they do it, and what follows errors.

use super::{Engine, is_default, nanoseconds, null_as_default};
use serde::{Deserialize, Serialize};

/// Connections that do the same at the same pace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// The role's name; part of its values' seed.
    pub name: String,
    /// Whether `connections` are counted for each client or for the step.
    pub per: Per,
    /// How many connections.
    pub connections: u32,
    /// The programs and how often each is taken.
    pub choose: Vec<Choice>,
    /// By which rule one of several programs is taken.
    #[serde(default, skip_serializing_if = "is_default")]
    pub choice: ChoiceRule,
    /// The table that its statements name; null where none does.
    #[serde(default)]
    pub table: Option<TableUse>,
    /// When operations become due.
    pub pace: Pace,
    /// How much it does; null: until the step ends.
    #[serde(default)]
    pub stop: Option<RoleStop>,
    /// Roles that must have ended on all clients before this one starts.
    #[serde(default, deserialize_with = "null_as_default")]
    pub after: Vec<String>,
    /// The longest response time that is wanted, in milliseconds; null: none is too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_limit_ms: Option<f64>,
    /// Which of the job's `endpoints` it connects to; null: the job's `server`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// SQL that each of its connections sends once, before all else: settings of the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub session: Vec<String>,
    /// How long a statement may take in the server, in seconds; null: as the server says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement_limit_s: Option<f64>,
    /// What follows an error.
    #[serde(default)]
    pub on_error: OnError,
    /// What follows the loss of a connection.
    #[serde(default)]
    pub on_lost: OnLost,
    /// How long a connection lasts.
    #[serde(default, skip_serializing_if = "Connect::is_once")]
    pub connect: Connect,
    /// What makes its connections anew after each pause; null: they last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renew: Option<Renew>,
    /// Who shares arrivals, where the role is of the step.
    #[serde(default, skip_serializing_if = "Queue::is_of_role")]
    pub queue: Queue,
    /// Where its one connection cuts a window for who counts the server's work; null: nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<Marks>,
}

/// How clients begin one after the other, as a script starts a process for each; roles of the step do not wait.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Apart {
    /// Seconds from the first client to the second.
    pub first_s: f64,
    /// Seconds from each further client to the next.
    pub each_s: f64,
}

impl Apart {
    /// How much later than the first a client begins.
    #[must_use]
    pub fn delay_ns(&self, client: u32) -> u64 {
        client.checked_sub(1).map_or(0, |further| {
            nanoseconds(self.first_s + f64::from(further) * self.each_s)
        })
    }
}

/// How connections end and begin anew where a pause ends, so that no session decides for a whole step how its statements
/// are planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Renew {
    /// How often a new connection binds each prepared statement that has values, without executing it: PostgreSQL plans
    /// it then, and chooses in time between plans for these values and one for any.
    pub binds: u32,
    /// SQL that a connection sends as its last, and whose rows are told; `dyno_prepared` in it is its first statement
    /// with values.
    pub ask: String,
}

/// Operations that cut a window out of a connection's others: [`Marks::BEFORE`] after the warm-up, and the last one.
///
/// Whoever counts the server's work (callgrind) writes its counts where a mark's function is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marks {
    /// The index of the program that is a mark.
    pub program: usize,
    /// How many operations come before the first mark.
    pub warmup: u64,
}

impl Marks {
    /// The marks before the window: the last two have nothing between them, which is what a mark costs.
    pub const BEFORE: u64 = 3;

    /// Whether the operation of this number is a mark; `left`: how many of the quota follow it.
    #[inline]
    #[must_use]
    pub fn cut(&self, number: u64, left: u64) -> bool {
        left == 0 || (self.warmup..self.warmup + Self::BEFORE).contains(&number)
    }
}

impl Role {
    /// The programs that it may run, that of its marks last.
    pub fn programs(&self) -> impl Iterator<Item = usize> {
        let choices = self.choose.iter().map(|choice| choice.program);
        choices.chain(self.marks.map(|marks| marks.program))
    }

    /// Whether its connections are idle between operations because nobody has anything for them to do.
    #[must_use]
    pub fn thinks(&self) -> bool {
        let mut choices = self.choose.iter();
        choices.any(|choice| choice.before.is_some() || choice.after.is_some())
    }

    /// The quota of operations: for each client, or in all where the role is of the step.
    #[must_use]
    pub fn quota(&self) -> Option<u64> {
        self.stop.and_then(|stop| stop.operations)
    }

    /// The SQL that each of its connections sends once: its own, and what limits its statements.
    #[must_use]
    pub fn session_of(&self, engine: Engine) -> Vec<String> {
        let limit = self.statement_limit_s.and_then(|seconds| {
            let ms = (seconds * 1e3).ceil();
            match engine {
                Engine::Postgres => Some(format!("SET statement_timeout = {ms}")),
                Engine::Mysql => Some(format!("SET SESSION max_execution_time = {ms}")),
                Engine::Mariadb => Some(format!("SET SESSION max_statement_time = {}", ms / 1e3)),
                Engine::Fake => None,
            }
        });
        self.session.iter().cloned().chain(limit).collect()
    }

    /// The longest response time that is wanted, in nanoseconds; `u64::MAX`: none is too long.
    #[must_use]
    pub fn latency_limit_ns(&self) -> u64 {
        let limit_ms = self.latency_limit_ms;
        limit_ms.map_or(u64::MAX, |limit_ms| nanoseconds(limit_ms / 1e3))
    }

    /// Its connections over all clients of a job with so many.
    #[must_use]
    pub fn connections_of(&self, clients: u32) -> u64 {
        let groups = match self.per {
            Per::Client => clients,
            Per::Step => 1,
        };
        u64::from(self.connections) * u64::from(groups)
    }
}

/// What a role's connections are counted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// For each client.
    Client,
    /// For the step as a whole.
    Step,
}

/// One program of a role and its weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The index of the program.
    pub program: usize,
    /// How often it is taken, relative to the other weights.
    pub weight: u32,
    /// How long its connection is idle before it; null: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<ThinkTime>,
    /// How long its connection is idle after it; null: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ThinkTime>,
}

/// A time in which nobody has anything for a connection to do, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ThinkTime {
    /// Always as long.
    Constant {
        /// How long.
        us: u64,
    },
    /// Drawn from the exponential distribution, and cut.
    Exponential {
        /// The distribution's mean.
        mean_us: u64,
        /// What a longer one is cut to.
        max_us: u64,
    },
}

/// By which rule a connection takes one of its role's programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceRule {
    /// Drawn by the weights.
    #[default]
    Random,
    /// What is furthest behind its share of the connection's operations; the first written of several.
    Deficit,
    /// From a deck with as many cards of each as it has weight, shuffled anew when it is used up.
    Deck,
    /// In the order in which they are written, each as often as it has weight, and from the start again.
    InOrder,
}

/// Which table a role's statements name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableUse {
    /// The tables' name without its number.
    pub of: String,
    /// How the number is found.
    pub by: TableBy,
}

/// How the number of a role's table is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableBy {
    /// The client's number modulo the count.
    Own,
    /// The connection's number modulo the count.
    ByConnection,
    /// From that table on the next with each operation, so that connections share the tables out.
    InTurn,
    /// Drawn for each operation and class of statement, all tables alike often.
    Uniform,
}

/// When operations become due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pace {
    /// The next one at once.
    Closed {},
    /// By a schedule.
    Rate {
        /// How the schedule is shaped.
        arrivals: Arrivals,
        /// Operations a second: for each client, or in all where the role is of the step.
        per_s: f64,
    },
    /// As a pair with another role.
    Tied {
        /// The other role.
        to: String,
        /// How many operations either may be ahead.
        lead: u64,
    },
}

/// The shape of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Operation k at start + k / rate; late ones catch up.
    Even,
    /// A whole second's operations together, as in the Insert Benchmark; lost time is not caught up.
    Burst,
    /// At random with exponential gaps of mean 1 / rate; late ones catch up.
    Poisson,
}

/// How much a role does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleStop {
    /// Operations for each client, or in all where the role is of the step; null: until the step ends.
    pub operations: Option<u64>,
}

/// What follows an error of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnError {
    /// The SQLSTATE codes after which the operation is tried again with the same values.
    #[serde(default)]
    pub retry: Vec<String>,
    /// How many times an operation is tried in all; 0: without limit.
    #[serde(default = "one")]
    pub tries: u32,
    /// What follows then, and after other codes.
    #[serde(default)]
    pub otherwise: Otherwise,
}

impl Default for OnError {
    fn default() -> Self {
        Self {
            retry: Vec::new(),
            tries: 1,
            otherwise: Otherwise::FailStep,
        }
    }
}

fn one() -> u32 {
    1
}

/// What follows an error that is not tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Otherwise {
    /// The step ends as failed.
    #[default]
    FailStep,
    /// It is counted and the next operation follows.
    Count,
    /// The same after codes that are tried again; after all others the step ends as failed.
    CountRetryable,
}

/// Which connections of a role of the step wait for the same arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// All of them, which are on one thread.
    #[default]
    Role,
    /// Those of a thread: arrivals are dealt out by their number.
    Thread,
}

impl Queue {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes what it asks about by reference"
    )]
    fn is_of_role(&self) -> bool {
        *self == Self::Role
    }
}

/// How long a connection lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connect {
    /// As long as the step.
    #[default]
    Once,
    /// As long as an operation, or the reading of a cursor: each has one of its own.
    Each,
}

impl Connect {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes what it asks about by reference"
    )]
    pub(super) fn is_once(&self) -> bool {
        *self == Self::Once
    }
}

/// What follows the loss of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLost {
    /// The step ends as failed.
    #[default]
    FailStep,
    /// The connection is made again; the operation in flight counts as an error.
    Reconnect,
}
