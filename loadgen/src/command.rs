//! What reaches the thread that runs a step: commands of the caller, signals, and notes of its own threads.

use crate::worker::Note;
use serde::Deserialize;
use std::io::{BufRead, Read};
use std::sync::mpsc::Sender;

/// Something that the running step has to take into account.
#[derive(Debug)]
pub enum Message {
    /// A line of standard input.
    Command(Do),
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
    Fill(crate::fill_step::FillNote),
}

/// A command of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Do {
    /// Start the step.
    Go,
    /// Complete what is in flight and begin nothing.
    Pause,
    /// Go on.
    Resume,
    /// End the step, or close the connections after it.
    Stop,
}

/// A line of standard input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(rename = "do")]
    do_: Do,
}

/// Reads commands until the input ends, and sends each.
pub fn read_commands(input: impl Read, messages: &Sender<Message>) {
    for line in std::io::BufReader::new(input).lines() {
        let Ok(line) = line else { break };
        if line.trim().is_empty() {
            continue;
        }
        let message = match serde_json::from_str::<Line>(&line) {
            Ok(line) => Message::Command(line.do_),
            Err(error) => Message::BadCommand(error.to_string()),
        };
        if messages.send(message).is_err() {
            return;
        }
    }
    // Where the step is over nobody needs to know.
    let _ = messages.send(Message::InputEnded);
}
