//! What threads tell each other: the reader of the caller's commands, the thread that runs a step, its workers, a
//! fill, and the writer.

use crate::event::{Event, ThreadUse};
use crate::record::TickRecord;
use serde::Deserialize;
use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::Sender;

/// Something that the running step has to take into account.
#[derive(Debug)]
pub enum Message {
    /// A line of standard input.
    Command(Command),
    /// Standard input has ended.
    InputEnded,
    /// A line of standard input that is no command.
    BadCommand(String),
    /// SIGINT or SIGTERM.
    Signal,
    /// Nobody reads the events any more.
    OutputLost(String),
    /// A worker, by its number, has something to tell.
    Note(usize, Note),
    /// A fill has come further, or to its end.
    Fill(FillNote),
}

/// A command of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Start the step.
    Go,
    /// Start the step when CLOCK_MONOTONIC says so many nanoseconds; at once where that is past.
    #[serde(skip)]
    GoAt(u64),
    /// Complete what is in flight and begin nothing.
    Pause,
    /// Go on.
    Resume,
    /// End the step, or close the connections after it.
    Stop,
}

/// What a worker tells the thread that runs the step.
#[derive(Debug)]
pub enum Note {
    /// All sessions are prepared.
    Ready,
    /// The sessions cannot be had.
    Failed(String),
    /// All workers are quiet.
    Paused,
    /// This worker goes on after a pause.
    Resumed,
    /// The window is closed.
    Closed(Closed),
    /// Nothing is in flight any more.
    Drained,
    /// The connections are closed; why something may go on in the server, where it may.
    Ended(Option<String>),
}

/// What a worker knows when the window closes.
#[derive(Debug, Clone, PartialEq)]
pub struct Closed {
    /// When the window closed.
    pub end_ns: u64,
    /// The window's active time.
    pub active_ns: u64,
    /// By group: role, client, the last completion, and whether it has done its quota.
    pub groups: Vec<(usize, u32, Option<u64>, bool)>,
    /// What the thread spent.
    pub thread: ThreadUse,
}

/// How far one connection of a fill is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillProgress {
    /// The index of the table.
    pub table: usize,
    /// The number of the connection among the table's; the last one runs what comes after the rows.
    pub stream: usize,
    /// The rows that it has sent so far.
    pub rows: u64,
    /// The server's process of it, or its number of the connection.
    pub server_pid: u32,
}

/// What a part of a fill gave, where its rows come from a program or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FillGave {
    /// The table's name.
    pub table: String,
    /// The part's index.
    pub part: usize,
    /// Its rows.
    pub rows: u64,
    /// Its bytes, with those of a header.
    pub bytes: u64,
    /// The SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

/// What the thread of a fill tells.
#[derive(Debug)]
pub enum FillNote {
    /// A stream of the fill of this index has come so far.
    Progress(usize, FillProgress),
    /// What a part gave.
    Gave(FillGave),
    /// All fills are done, or have failed; of those that are made of values, the rows that the server has kept, and those
    /// that it was to keep.
    End(Result<(u64, u64), String>),
}

/// What a worker has for the writer.
#[derive(Debug)]
pub enum Output {
    /// An event as it is.
    Event(Event),
    /// A tick of the worker of this number.
    Tick(usize, Box<TickRecord>),
    /// Nothing comes any more.
    End,
}

/// A line of standard input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(rename = "do")]
    do_: Command,
    at_ns: Option<u64>,
}

/// Reads a command, or says why a line is none.
fn command(line: &str) -> Result<Command, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
    match (line.do_, line.at_ns) {
        (command, None) => Ok(command),
        (Command::Go, Some(at_ns)) => Ok(Command::GoAt(at_ns)),
        _ => Err("`at_ns` belongs to `go`; remove it".to_owned()),
    }
}

/// Reads the caller's commands until the input ends, and sends each as a [`Message`].
pub fn read_commands(input: impl Read, messages: &Sender<Message>) {
    for line in BufReader::new(input).lines() {
        let Ok(line) = line else { break };
        if line.trim().is_empty() {
            continue;
        }
        let message = match command(&line) {
            Ok(command) => Message::Command(command),
            Err(error) => Message::BadCommand(error),
        };
        if messages.send(message).is_err() {
            return;
        }
    }
    // Where the step is over nobody needs to know.
    let _ = messages.send(Message::InputEnded);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_may_have_a_time_and_no_other_command_may() {
        assert_eq!(command(r#"{"do": "go"}"#), Ok(Command::Go));
        let timed = r#"{"do": "go", "at_ns": 9007199254740993}"#;
        assert_eq!(command(timed), Ok(Command::GoAt(9_007_199_254_740_993)));
        for wrong in [
            r#"{"do": "stop", "at_ns": 5}"#,
            r#"{"do": "go", "at_ns": -5}"#,
            r#"{"do": "go", "at_s": 5}"#,
            r#"{"do": {"go_at": 5}}"#,
            r#"{"do": "go_at"}"#,
        ] {
            assert!(command(wrong).is_err(), "{wrong}");
        }
    }
}
