//! dyno-loadgen: reads a job and commands from standard input, makes load, writes events to standard output.

use dyno_loadgen::canary;
use dyno_loadgen::event::{Status, print, standard_output};
use dyno_loadgen::job::Job;
use dyno_loadgen::message::{Message, read_commands};
use dyno_loadgen::null::{self, Protocol};
use dyno_loadgen::run::{Build, run};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;

const HELP: &str = "\
dyno-loadgen makes load on a database server and says what it did.

Usage:
  dyno-loadgen [run] < job.json       runs a job; events go to standard output, one JSON object a line
  dyno-loadgen canary --dir DIR       measures the idle host for about 0.3 s: CPU, memory, fsync in DIR
  dyno-loadgen canary --dir DIR --device BYTES
                                      writes and reads a file of so many bytes in DIR, too: the device's own ceiling
  dyno-loadgen null --postgres|--mysql
                                      a server that answers every statement at once and does nothing, to measure the
                                      generator itself; says at which unix socket it listens; ends with standard input
  dyno-loadgen --version | --help

Jobs, commands and events are described in contract/README.md. A job with \"autostart\": true needs no commands.
Exit status: 0 the step was done or was stopped; 1 it failed; 2 the job or the command line is wrong.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] | ["run"] => run_job(),
        ["canary", "--dir", dir] => run_canary(Path::new(dir), None),
        ["canary", "--dir", dir, "--device", bytes] => match canary::device_bytes(bytes) {
            Ok(bytes) => run_canary(Path::new(dir), Some(bytes)),
            Err(error) => wrong(&format!("canary: {error}")),
        },
        ["null", "--postgres"] => run_null(Protocol::Postgres),
        ["null", "--mysql"] => run_null(Protocol::Mysql),
        ["null", ..] => wrong("null: which protocol? `--postgres` or `--mysql`, and nothing else"),
        ["--help" | "-h" | "help"] => printed(HELP),
        ["--version" | "-V"] => printed(&version()),
        _ => wrong(&format!(
            "no such command: `{}`; see `dyno-loadgen --help`",
            arguments.join(" ")
        )),
    }
}

fn build() -> Build {
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("DYNO_COMMIT")
            .filter(|commit| !commit.is_empty())
            .map(str::to_owned),
    }
}

fn version() -> String {
    let build = build();
    let commit = build.commit.unwrap_or_else(|| "no commit known".to_owned());
    format!(
        "dyno-loadgen {} ({commit}, protocol {})",
        build.version,
        dyno_loadgen::job::PROTOCOL
    )
}

fn wrong(problem: &str) -> ExitCode {
    eprintln!("dyno-loadgen: {problem}");
    ExitCode::from(2)
}

fn failed(problem: &str) -> ExitCode {
    eprintln!("dyno-loadgen: {problem}");
    ExitCode::FAILURE
}

fn printed(text: &str) -> ExitCode {
    match print(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error.to_string()),
    }
}

fn run_canary(dir: &Path, device_bytes: Option<u64>) -> ExitCode {
    let measured =
        canary::run(dir, device_bytes).and_then(|canary| Ok(serde_json::to_string(&canary)?));
    match measured {
        Ok(text) => printed(&text),
        Err(error) => failed(&format!("canary: {error:#}")),
    }
}

fn run_null(protocol: Protocol) -> ExitCode {
    match null::run(protocol) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&format!("null: {error:#}")),
    }
}

fn run_job() -> ExitCode {
    let (sender, receiver) = channel();
    if let Err(error) = watch_signals(sender.clone()) {
        return failed(&format!("cannot watch for signals: {error}"));
    }
    let mut output = standard_output();
    if let Err(error) = build().hello().write(&mut output) {
        return failed(&format!("cannot write events: {error}"));
    }
    // The reader is handed on to the commands' thread, as it may have read more than the job.
    let mut input = BufReader::new(std::io::stdin());
    let job = match Job::read(&mut input) {
        Ok(job) => job,
        Err(error) => return wrong(&error.to_string()),
    };
    let commands = sender.clone();
    let thread = Builder::new().name("commands".to_owned());
    if let Err(error) = thread.spawn(move || read_commands(input, &commands)) {
        return failed(&format!(
            "no thread can be started to read commands: {error}"
        ));
    }
    match run(&job, (sender, &receiver), output) {
        Status::Ok | Status::Stopped => ExitCode::SUCCESS,
        Status::Failed => ExitCode::FAILURE,
    }
}

/// Turns SIGINT and SIGTERM into messages.
fn watch_signals(messages: Sender<Message>) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            if messages.send(Message::Signal).is_err() {
                break;
            }
        }
    })?;
    Ok(())
}
