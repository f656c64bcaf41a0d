//! What is kept of single operations, for jobs with `trace` or a `log`.

use super::Code;

/// One operation, for jobs with `trace`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceRecord {
    /// The role's index.
    pub role: usize,
    /// The client's number.
    pub client: u32,
    /// The connection's number within the role.
    pub connection: u32,
    /// The operation's index in its role.
    pub operation: usize,
    /// The operation's number on its connection.
    pub number: u64,
    /// When it was due.
    pub due_ns: u64,
    /// When it was sent first.
    pub start_ns: u64,
    /// When it completed.
    pub end_ns: u64,
    /// Rows of its replies.
    pub rows: u64,
    /// The error that it ended with.
    pub error: Option<Code>,
}

/// One operation that was begun or left out, for jobs with a `log`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// The role's index.
    pub role: usize,
    /// The connection's number within the role.
    pub connection: u32,
    /// How many the connection has come to, with this one.
    pub number: u64,
    /// The operation's index in its role.
    pub operation: usize,
    /// When it ended.
    pub end_ns: u64,
    /// What became of it.
    pub outcome: Outcome,
    /// How often it was tried again.
    pub retries: u32,
}

/// What became of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It completed without error.
    Done {
        /// Completion − due.
        response_ns: u64,
        /// First sending − due.
        late_ns: u64,
    },
    /// It ended with this error.
    Failed(Code),
    /// It was never begun.
    Skipped,
}
