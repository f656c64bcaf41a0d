//! Reads the caller's commands from standard input.

use crate::message::{Command, Message};
use serde::Deserialize;
use std::io::{BufRead, Read};
use std::sync::mpsc::Sender;

/// A line of standard input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(rename = "do")]
    do_: Command,
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
