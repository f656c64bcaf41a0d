//! Runs the null server until it is dropped, and the generator on jobs against it.

use crate::process::{self, Ended};
use crate::wire::local;
use dyno_loadgen::event::{Event, Status, ThreadUse, Totals};
use dyno_loadgen::session::Target;
use dyno_loadgen::session::postgres::PostgresSession;
use dyno_loadgen::wire::Wire;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running null server.
pub(crate) struct NullServer {
    pub(crate) child: Child,
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl NullServer {
    /// Starts one that speaks PostgreSQL's protocol.
    pub(crate) fn start() -> Self {
        Self::speaking("--postgres")
    }

    /// Starts one that speaks MySQL's protocol.
    pub(crate) fn mysql() -> Self {
        Self::speaking("--mysql")
    }

    fn speaking(protocol: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_dyno-loadgen"))
            .args(["null", protocol])
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
            wire: Wire::Postgres,
            host: self.host.clone(),
            user: "anyone".to_owned(),
            ..local(self.port)
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

/// What the generator said at its end.
pub(crate) struct Done<'a> {
    pub(crate) status: Status,
    pub(crate) reason: Option<&'a str>,
    pub(crate) totals: &'a BTreeMap<String, Totals>,
    pub(crate) peak_rss_bytes: u64,
    pub(crate) threads: &'a [ThreadUse],
}

/// The last event of a generator that has ended.
pub(crate) fn done(ended: &Ended) -> Done<'_> {
    match ended.events.last() {
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
pub(crate) fn by_connection(ended: &Ended, role: &str) -> BTreeMap<u32, u64> {
    let mut counts = BTreeMap::new();
    for event in &ended.events {
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

/// Runs a job that starts by itself, which has to go well.
pub(crate) fn run(job: &Value) -> Ended {
    let ended = process::run(job);
    let done = done(&ended);
    assert_eq!((done.status, done.reason), (Status::Ok, None));
    ended
}
