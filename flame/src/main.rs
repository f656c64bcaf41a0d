//! `dyno-flame` draws a differential flame graph: two columns of folded stacks in, an SVG out.
//!
//! Exit status: 0 done; 1 the picture could not be written; 2 bad arguments or stacks, in one line.

mod picture;
mod stacks;

use std::fmt::Display;
use std::io::{Read, Write};
use std::process::ExitCode;

use picture::Words;
use stacks::Stacks;

const HELP: &str = "\
usage: dyno-flame [--title TEXT] [--subtitle TEXT] [--unit TEXT] < stacks > graph.svg

Draws a flame graph. A line of standard input is a call stack and what it costs in the base and in
the arm, whole numbers: `owner;caller;callee 120 250`. A frame is as wide as its cost in the arm;
red costs more there than in the base by itself, blue less. --unit says what the numbers count,
such as `ns per query`.";

/// What the command line asks for.
#[derive(Debug, PartialEq)]
enum Command {
    Draw(Words),
    Print(String),
}

/// Why there is no picture, as one line, and whose fault it is.
#[derive(Debug, PartialEq)]
enum Failure {
    /// The arguments or the stacks: exit status 2.
    Input(String),
    /// Standard input or output: exit status 1.
    World(String),
}

fn main() -> ExitCode {
    let outcome = parse(std::env::args().skip(1)).and_then(|command| match command {
        Command::Draw(words) => drawn(&words),
        Command::Print(text) => Ok(format!("{text}\n")),
    });
    let outcome = outcome.and_then(|text| {
        let written = std::io::stdout().write_all(text.as_bytes());
        written.map_err(|error| Failure::World(format!("the picture cannot be written: {error}")))
    });
    let (text, status) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Input(text)) => (text, 2),
        Err(Failure::World(text)) => (text, 1),
    };
    tell(text);
    ExitCode::from(status)
}

/// Reads the command line.
fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Command, Failure> {
    let mut words = Words::default();
    while let Some(argument) = arguments.next() {
        let place = match argument.as_str() {
            "--help" | "-h" => return Ok(Command::Print(HELP.to_owned())),
            "--version" => {
                let version = format!("dyno-flame {}", env!("CARGO_PKG_VERSION"));
                return Ok(Command::Print(version));
            }
            "--title" => &mut words.title,
            "--subtitle" => &mut words.subtitle,
            "--unit" => &mut words.unit,
            other => {
                return Err(Failure::Input(format!(
                    "unknown argument `{other}`: see --help"
                )));
            }
        };
        let missing = || Failure::Input(format!("`{argument}` needs a text"));
        *place = arguments.next().ok_or_else(missing)?;
    }
    Ok(Command::Draw(words))
}

/// The picture of the stacks on standard input.
fn drawn(words: &Words) -> Result<String, Failure> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Failure::World(format!("standard input cannot be read: {error}")))?;
    let stacks = Stacks::parse(&text).map_err(Failure::Input)?;
    picture::draw(&stacks, words).map_err(Failure::World)
}

/// Writes a line for a person on standard error.
fn tell(text: impl Display) {
    // A closed standard error is no reason to stop.
    let _ = writeln!(std::io::stderr(), "dyno-flame: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &[&str]) -> Result<Command, Failure> {
        parse(line.iter().map(|&word| word.to_owned()))
    }

    #[test]
    fn words_of_the_picture_are_taken_from_the_command_line() {
        let words = Words {
            title: "pg18".to_owned(),
            subtitle: String::new(),
            unit: "ns per query".to_owned(),
        };
        let line = ["--title", "pg18", "--unit", "ns per query"];
        assert_eq!(parsed(&line), Ok(Command::Draw(words)));
    }

    #[test]
    fn an_argument_that_is_not_known_is_named() {
        let said = "unknown argument `--colour`: see --help".to_owned();
        assert_eq!(parsed(&["--colour"]), Err(Failure::Input(said)));
    }

    #[test]
    fn an_option_without_its_text_is_named() {
        let said = "`--unit` needs a text".to_owned();
        assert_eq!(parsed(&["--unit"]), Err(Failure::Input(said)));
    }
}
