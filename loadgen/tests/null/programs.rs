//! Runs both programs: the null server until it is dropped, the generator on a job to its end.

use dyno_loadgen::event::{Event, Status, ThreadUse, Totals};
use dyno_loadgen::session::postgres::{PostgresSession, Target};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A running null server.
pub(crate) struct NullServer {
    pub(crate) child: Child,
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl NullServer {
    pub(crate) fn start(options: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_dyno-loadgen"))
            .args(["null", "--postgres"])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let listening: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(listening["event"], "listening");
        assert_eq!(listening["pid"], child.id());
        Self {
            child,
            host: listening["host"].as_str().unwrap().to_owned(),
            port: u16::try_from(listening["port"].as_u64().unwrap()).unwrap(),
        }
    }

    pub(crate) fn session(&self) -> PostgresSession {
        let target = Target {
            host: self.host.clone(),
            port: self.port,
            user: "anyone".to_owned(),
            database: "any".to_owned(),
            password: None,
            application_name: "dyno-test".to_owned(),
            tls: None,
            timeout: None,
        };
        PostgresSession::connect(&target, Duration::from_secs(10)).unwrap()
    }

    /// A job of the contract on this server, which starts by itself.
    pub(crate) fn job(&self, example: &str) -> Value {
        let path = format!("{}/contract/job-{example}.json", env!("CARGO_MANIFEST_DIR"));
        let mut job: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        job["autostart"] = true.into();
        job["server"]["host"] = self.host.clone().into();
        job["server"]["port"] = self.port.into();
        job["server"]["password"] = Value::Null;
        job
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// A running generator.
pub(crate) struct Generator {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    events: Vec<Event>,
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
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{job}").unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            input: Some(input),
            lines,
            events: Vec::new(),
        }
    }

    pub(crate) fn command(&mut self, command: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{{\"do\":\"{command}\"}}").unwrap();
    }

    /// Reads events up to one of this name.
    pub(crate) fn until(&mut self, name: &str) {
        let mark = format!("{{\"event\":\"{name}\"");
        for line in self.lines.by_ref() {
            let line = line.unwrap();
            self.events.push(serde_json::from_str(&line).unwrap());
            if line.starts_with(&mark) {
                return;
            }
        }
        panic!("no `{name}` in {:?}", self.events);
    }

    /// The threads that the generator has now.
    pub(crate) fn threads(&self) -> usize {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        tasks.unwrap().count()
    }

    /// Reads the rest of the events.
    pub(crate) fn end(mut self) -> Ended {
        for line in self.lines.by_ref() {
            self.events
                .push(serde_json::from_str(&line.unwrap()).unwrap());
        }
        drop(self.input.take());
        self.child.wait().unwrap();
        Ended(self.events)
    }
}

/// The events of a generator that has ended.
pub(crate) struct Ended(pub(crate) Vec<Event>);

/// What the generator said at its end.
pub(crate) struct Done<'a> {
    pub(crate) status: Status,
    pub(crate) reason: Option<&'a str>,
    pub(crate) totals: &'a BTreeMap<String, Totals>,
    pub(crate) peak_rss_bytes: u64,
    pub(crate) threads: &'a [ThreadUse],
}

impl Ended {
    pub(crate) fn done(&self) -> Done<'_> {
        match self.0.last() {
            Some(Event::Done {
                status,
                reason,
                totals,
                peak_rss_bytes,
                threads,
                ..
            }) => Done {
                status: *status,
                reason: reason.as_deref(),
                totals,
                peak_rss_bytes: *peak_rss_bytes,
                threads,
            },
            other => panic!("the last event is {other:?}"),
        }
    }

    /// Completed operations in the window by connection of a role, from a job with `trace`.
    pub(crate) fn by_connection(&self, role: &str) -> BTreeMap<u32, u64> {
        let mut counts = BTreeMap::new();
        for event in &self.0 {
            if let Event::Operation {
                role: of,
                connection,
                ..
            } = event
                && of == role
            {
                *counts.entry(*connection).or_default() += 1;
            }
        }
        counts
    }
}

/// Runs a job that starts by itself, which has to go well.
pub(crate) fn run(job: &Value) -> Ended {
    let ended = Generator::start(job).end();
    let done = ended.done();
    assert_eq!((done.status, done.reason), (Status::Ok, None));
    ended
}
