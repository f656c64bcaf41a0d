//! The generator's program against such servers: every step ends in time, and says why.

use crate::process::{Ended, run};
use crate::script::{
    Act, SOON, answer, assert_line, authentication, error, let_in, message, serve,
};
use dyno_loadgen::event::{Event, Status};
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Connections of a job: one, whose receive waits, and several, which are waited for together.
const CONNECTIONS: [u32; 2] = [1, 3];

/// A step of half a second on a server that plays the script; what is in flight then has half a second more.
pub(crate) fn job(script: Vec<Act>, connections: u32) -> Value {
    let path = format!("{}/contract/job-l.i0.json", env!("CARGO_MANIFEST_DIR"));
    let mut job: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let address = serve(script);
    job["server"] =
        json!({"host": "127.0.0.1", "port": address.port(), "user": "dyno", "database": "ib"});
    job["autostart"] = true.into();
    (job["clients"], job["tables"]["pi"]) = (connections.into(), 1.into());
    job["statements"][0]["pieces"] = json!(["SELECT 1"]);
    (job["roles"][0]["name"], job["roles"][0]["stop"]) = ("select".into(), Value::Null);
    job["stop"] = json!({"seconds": 0.5, "drain_s_max": 0.5});
    job
}

/// A fill of 0.3 s on a server that plays the script; what is in flight then has 0.2 s more.
pub(crate) fn fill_job(script: Vec<Act>) -> Value {
    let path = format!("{}/contract/job-fill.json", env!("CARGO_MANIFEST_DIR"));
    let mut job: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let address = serve(script);
    job["server"] =
        json!({"host": "127.0.0.1", "port": address.port(), "user": "dyno", "database": "ib"});
    job["autostart"] = true.into();
    job["stop"] = json!({"seconds_max": 0.3, "drain_s_max": 0.2});
    job
}

/// The same fill with more time than what goes wrong takes on a busy machine.
pub(crate) fn unhurried(mut job: Value) -> Value {
    job["stop"] = json!({"seconds_max": 10.0, "drain_s_max": 5.0});
    job
}

/// The same step with more time than what goes wrong takes on a busy machine.
fn lasting(mut job: Value) -> Value {
    job["stop"] = json!({"seconds": 10.0, "drain_s_max": 5.0});
    job
}

/// Runs a job to its end, which comes in time.
fn ended(job: &Value) -> Ended {
    let start = Instant::now();
    let ended = run(job);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    ended
}

/// Runs a job that must fail; the reason.
pub(crate) fn failed(job: &Value) -> String {
    let ended = ended(job);
    let (status, reason, _) = ended.done();
    assert_eq!((status, ended.exit.code()), (Status::Failed, Some(1)));
    assert_eq!(ended.stderr, "");
    let reason = reason.unwrap();
    assert_line(&reason);
    reason
}

#[test]
fn a_server_that_does_not_let_in_fails_the_step_before_its_start() {
    for (bytes, words) in [
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
            "no PostgreSQL server",
        ),
        (authentication(9, b""), "method 9"),
        (error(b'E', "53300", "too many clients"), "53300"),
        (Vec::new(), "closed the connection"),
    ] {
        let reason = failed(&job(vec![Act::Startup, Act::Send(bytes)], 2));
        assert!(
            reason.contains("role `select`") && reason.contains(words),
            "{reason}"
        );
    }
}

#[test]
fn a_server_that_hangs_within_the_window_fails_the_step_after_it() {
    let notices = error(b'N', "00000", "note");
    for connections in CONNECTIONS {
        for act in [Act::Listen, Act::Freeze, Act::Endless(notices.clone())] {
            let script = let_in(&[Act::Answer(1), Act::Request, act]);
            let ended = ended(&job(script, connections));
            let (status, reason, _) = ended.done();
            assert_eq!((status, ended.closed()), (Status::Failed, true));
            let reason = reason.unwrap();
            assert!(reason.contains("0.5 s after the step's end"), "{reason}");
        }
    }
}

#[test]
fn a_thread_that_cannot_be_started_is_said_in_one_line() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dyno-loadgen"));
    // More than the addresses of a process.
    command.env("RUST_MIN_STACK", (1_u64 << 47).to_string());
    let said = command.stdin(Stdio::null()).output().unwrap();
    let stderr = String::from_utf8(said.stderr).unwrap();
    assert_eq!(said.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.starts_with("dyno-loadgen: cannot watch for signals: "),
        "{stderr}"
    );
    assert_line(stderr.trim_end());
}

#[test]
fn a_server_that_does_not_read_fails_the_step_after_it() {
    for connections in CONNECTIONS {
        let mut job = job(let_in(&[Act::Freeze]), connections);
        // 16 MiB, more than a socket takes.
        let long = json!({"repeat": 4096, "separator": ",", "pieces": ["x".repeat(4096)]});
        job["statements"][0]["pieces"] = json!(["SELECT '", long, "'"]);
        let reason = failed(&job);
        assert!(reason.contains("0.5 s after the step's end"), "{reason}");
    }
}

#[test]
fn a_wrong_answer_fails_the_step_with_what_was_wrong() {
    let twice = [answer(), answer()].concat();
    for connections in CONNECTIONS {
        for (bytes, words) in [
            (twice.clone(), "nobody had asked for"),
            (message(b'G', b"\0\0\0"), "`fills`"),
            (b"C\x7f\xff\xff\xff".to_vec(), "2147483643 bytes"),
            (message(b'C', b"SELECT 1"), "does not end"),
        ] {
            let script = let_in(&[Act::Answer(20), Act::AnswerAllWith(bytes)]);
            let reason = failed(&lasting(job(script, connections)));
            assert!(reason.contains(words), "{reason}");
        }
        let reason = failed(&lasting(job(let_in(&[Act::Answer(20)]), connections)));
        assert!(reason.contains("closed the connection"), "{reason}");
    }
}

#[test]
fn a_server_that_closes_again_and_again_is_reconnected_until_the_window_ends() {
    for connections in CONNECTIONS {
        let mut job = job(let_in(&[Act::Answer(1), Act::Request]), connections);
        job["roles"][0]["on_lost"] = "reconnect".into();
        let ended = ended(&job);
        let (status, reason, totals) = ended.done();
        assert_eq!(status, Status::Ok, "{reason:?}");
        let select = &totals["select"];
        assert!(select.count > 0 && select.errors > 0, "{select:?}");
        let lost = ended.events.iter().any(
            |event| matches!(event, Event::Error { code, fatal: false, .. } if code == "08006"),
        );
        assert!(lost);
    }
}

/// Runs a fill of so many rows a table that goes well; returns the rows that the server said it kept.
pub(crate) fn filled(mut job: Value, rows: u64) -> u64 {
    job["fills"][0]["rows"] = rows.into();
    job["fills"][0]["streams"] = 1.into();
    job["fills"][0]["after"] = json!([]);
    job["stop"] = json!({"seconds_max": null});
    let ended = ended(&job);
    let (status, reason, totals) = ended.done();
    assert_eq!((status, reason), (Status::Ok, None));
    totals["fill"].rows
}

#[test]
fn a_fill_is_told_the_rows_that_the_server_kept() {
    let kept = [message(b'C', b"COPY 7\0"), message(b'Z', b"I")].concat();
    let script = let_in(&[
        Act::Request,
        Act::Send(message(b'G', b"\x01\0\0")),
        Act::Request,
        Act::Send(kept),
    ]);
    assert_eq!(filled(fill_job(script), 7), 14, "two tables");
}

#[test]
fn a_fill_that_the_server_holds_up_ends_after_its_time() {
    let grant = message(b'G', b"\x01\0\0");
    let granted = |act| vec![Act::Request, Act::Send(grant.clone()), act, Act::Listen];
    for (acts, words) in [
        (vec![Act::Listen], "0.2 s after the step's end"),
        (vec![Act::Freeze], "0.2 s after the step's end"),
        (granted(Act::Freeze), "0.2 s after the step's end"),
        (granted(Act::Listen), "0.2 s after the step's end"),
        (
            vec![Act::Request, Act::Endless(error(b'N', "00000", "note"))],
            "0.2 s after the step's end",
        ),
        (granted(Act::Send(message(b'Z', b"I"))), "COPY"),
        (granted(Act::Send(grant.clone())), "COPY"),
        (
            // With the end of the answer: whether all rows are sent before it comes is a matter of time.
            granted(Act::Send(
                [error(b'E', "53100", "disk full"), message(b'Z', b"I")].concat(),
            )),
            "disk full",
        ),
        (vec![Act::AnswerAll], "did not ask for data"),
        (vec![Act::Request], "closed the connection"),
    ] {
        let job = fill_job(let_in(&acts));
        let late = words.contains("after the step's end");
        let reason = failed(&if late { job } else { unhurried(job) });
        assert!(reason.contains(words), "{acts:?}: {reason}");
    }
}
