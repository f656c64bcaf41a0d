//! Runs the generator's program on a job and reads its events.

#![allow(dead_code, reason = "not every test program uses all of it")]

use crate::io_uring_here;
use dyno_loadgen::event::{Event, Status, Totals};
use rustix::process::Pid;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

/// A running generator.
pub(crate) struct Generator {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) lines: Lines<BufReader<ChildStdout>>,
    pub(crate) events: Vec<Event>,
}

impl Generator {
    pub(crate) fn start(job: &Value) -> Self {
        Self::spawn(&mut Command::new(env!("CARGO_BIN_EXE_dyno-loadgen")), job)
    }

    /// The same with so many descriptors at most.
    pub(crate) fn limited(job: &Value, descriptors: u32) -> Self {
        let limited = format!("ulimit -n {descriptors} && exec \"$0\"");
        let program = env!("CARGO_BIN_EXE_dyno-loadgen");
        Self::spawn(Command::new("sh").args(["-c", &limited, program]), job)
    }

    fn spawn(command: &mut Command, job: &Value) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{}", waiting(job)).unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            input: Some(input),
            lines,
            events: Vec::new(),
        }
    }

    pub(crate) fn command(&mut self, command: &str) {
        writeln!(self.input.as_mut().unwrap(), "{{\"do\":\"{command}\"}}").unwrap();
    }

    /// Reads events up to one of this name; the number of those read so far.
    pub(crate) fn until(&mut self, name: &str) -> usize {
        let mark = format!("{{\"event\":\"{name}\"");
        for line in self.lines.by_ref() {
            let line = line.unwrap();
            self.events.push(serde_json::from_str(&line).unwrap());
            if line.starts_with(&mark) {
                return self.events.len();
            }
        }
        panic!("no `{name}` in {:?}", self.events);
    }

    /// The events read so far.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// Reads the rest; the exit status, all events and what stood on standard error.
    pub(crate) fn end(mut self) -> Ended {
        for line in self.lines.by_ref() {
            self.events
                .push(serde_json::from_str(&line.unwrap()).unwrap());
        }
        drop(self.input.take());
        let output = self.child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        Ended {
            exit: output.status,
            events: self.events,
            stderr,
        }
    }

    /// The threads that the generator has now.
    pub(crate) fn threads(&self) -> usize {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        tasks.unwrap().count()
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

/// The job, with connections waited for by what `DYNO_TEST_WAIT` says, unless the job does.
fn waiting(job: &Value) -> Value {
    let mut job = job.clone();
    if let Ok(wait) = std::env::var("DYNO_TEST_WAIT")
        && job.get("wait").is_none()
        && (wait != "io_uring" || io_uring_here::allowed())
    {
        job["wait"] = wait.into();
    }
    job
}

pub(crate) struct Ended {
    pub(crate) exit: ExitStatus,
    pub(crate) events: Vec<Event>,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn done(&self) -> (Status, Option<String>, &BTreeMap<String, Totals>) {
        match self.events.last() {
            Some(Event::Done {
                status,
                reason,
                totals,
                ..
            }) => (*status, reason.clone(), totals),
            other => panic!("{other:?} {}", self.stderr),
        }
    }

    pub(crate) fn closed(&self) -> bool {
        self.events
            .iter()
            .any(|event| matches!(event, Event::WindowClose { .. }))
    }
}

/// Runs a job that starts by itself.
pub(crate) fn run(job: &Value) -> Ended {
    Generator::start(job).end()
}
