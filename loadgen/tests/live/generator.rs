//! Runs the generator's program on a job and reads its events.

use crate::server::{self, Server};
use dyno_loadgen::event::{Event, Status, Totals};
use rustix::process::Pid;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;

/// A running generator.
pub(crate) struct Generator {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) lines: Lines<BufReader<ChildStdout>>,
    pub(crate) events: Vec<Event>,
}

impl Generator {
    pub(crate) fn start(job: &Value) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_dyno-loadgen"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
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

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
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

/// A job of the contract on this server, on tables of `name` that are made anew, unless they are `unused`.
pub(crate) fn job(server: &Server, example: &str, name: &str) -> Value {
    let path = format!("{}/contract/job-{example}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path)
        .unwrap()
        .replace("\"pi\"", &format!("\"{name}\""));
    let mut job: Value = serde_json::from_str(&text).unwrap();
    let target = server.target();
    job["autostart"] = true.into();
    job["server"] = json!({"host": target.host, "port": target.port, "user": target.user, "database": target.database});
    if name == "unused" {
        return job;
    }
    let mut session = server.session();
    for number in 1..=2 {
        let sql = format!(
            "DROP TABLE IF EXISTS {name}{number};
             CREATE TABLE {name}{number} (transactionid bigserial PRIMARY KEY, dateandtime timestamp,
               cashregisterid int NOT NULL, customerid int NOT NULL, productid int NOT NULL, price int NOT NULL, data varchar(4000));
             ALTER SEQUENCE {name}{number}_transactionid_seq CACHE 1000"
        );
        session.query(&sql).unwrap();
    }
    session.close();
    job
}

pub(crate) fn number(server: &Server, sql: &str) -> i64 {
    let mut session = server.session();
    let answer = session.query(sql).unwrap();
    session.close();
    answer.rows[0][0].as_deref().unwrap().parse().unwrap()
}

/// A closed role of one statement on `clients` clients, for a time.
pub(crate) fn selects(server: &Server, clients: u32, seconds: f64) -> Value {
    let mut job = job(server, "l.i0", "unused");
    (job["clients"], job["tables"]["unused"]) = (clients.into(), 1.into());
    job["statements"][0]["pieces"] = json!(["SELECT 1"]);
    job["roles"][0]["name"] = "select".into();
    job["roles"][0]["stop"] = Value::Null;
    job["stop"] = json!({"seconds": seconds});
    job
}

pub(crate) fn server() -> Option<Arc<Server>> {
    server::shared()
}

/// The same without making the tables anew.
pub(crate) fn job_on(server: &Server, example: &str, name: &str) -> Value {
    let mut made = job(server, example, "unused");
    let text = made
        .to_string()
        .replace("\"unused\"", &format!("\"{name}\""));
    made = serde_json::from_str(&text).unwrap();
    made
}

/// The server's processes that were announced, as an SQL list.
pub(crate) fn pids(events: &[Event]) -> String {
    let pids = events.iter().filter_map(|event| match event {
        Event::Connected { server_pid, .. } => Some(server_pid.to_string()),
        _ => None,
    });
    format!("({})", pids.collect::<Vec<_>>().join(","))
}
