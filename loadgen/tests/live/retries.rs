//! Operations that a real server refuses for reasons of concurrency: tried again with the same values, and counted.

use crate::generator::{number, selects, server};
use crate::process::run;
use crate::server::Server;
use dyno_loadgen::event::{Event, Status};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Transactions of each connection.
const OPERATIONS: usize = 40;
const CONNECTIONS: usize = 4;

#[test]
fn serialization_failures_are_tried_again_with_the_same_values() {
    let Some(server) = server() else { return };
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ";
    let draws = json!([["draw", 0], ["draw", 1]]);
    let sends = json!([["send", 0], ["send", 1], ["send", 4], ["send", 5]]);
    let job = job(&server, "serial", begin, &[draws, sends]);
    check(&server, &job, "40001", "UPDATE serial SET last = ");
}

#[test]
fn deadlocks_are_tried_again_with_the_same_values() {
    let Some(server) = server() else { return };
    let begin = "BEGIN; SET LOCAL deadlock_timeout = '5ms'";
    let draws = json!([["draw", 0], ["draw", 1]]);
    let sends = json!([
        ["send", 0],
        ["send", 2],
        ["send", 3],
        ["send", 4],
        ["send", 5]
    ]);
    let job = job(&server, "dead", begin, &[draws, sends]);
    check(&server, &job, "40P01", "UPDATE dead SET last = ");
}

/// Four connections with transactions on the same two rows of a table called `name`, as a user of that name whose
/// statements the server logs; and what each did beside it.
fn job(server: &Server, name: &str, begin: &str, code: &[Value]) -> Value {
    let mut session = server.session();
    let sql = format!(
        "DROP TABLE IF EXISTS {name}, {name}_done;
         CREATE TABLE {name} (id int PRIMARY KEY, last bigint);
         INSERT INTO {name} VALUES (1, 0), (2, 0);
         CREATE TABLE {name}_done (pid int, last bigint);
         CREATE ROLE {name} SUPERUSER LOGIN;
         ALTER ROLE {name} SET log_statement = 'all'"
    );
    session.query(&sql).unwrap();
    session.close();
    let mut job = selects(server, 1, 1.0);
    job["server"]["user"] = name.into();
    let statement = |label: &str, pieces: Value| json!({"name": label, "protocol": "simple", "pieces": pieces, "types": [], "rows": 1});
    let update = |row: &str| json!([format!("UPDATE {name} SET last = "), {"value": 0}, format!(" WHERE id = {row}"), {"value": 1}]);
    job["values"] = json!([
        {"name": "last", "per": "transaction", "format": "integer", "uniform": [1, 1_000_000_000_000_i64]},
        {"name": "row", "per": "transaction", "format": "integer", "uniform": [1, 2]}]);
    job["statements"] = json!([
        statement("begin", json!([begin])),
        statement("update-one", update("1 + 0 * ")),
        statement("update-any", update("")),
        statement("update-other", update("3 - ")),
        statement(
            "tell",
            json!([format!("INSERT INTO {name}_done VALUES (pg_backend_pid(), "), {"value": 0}, ")"])
        ),
        statement("commit", json!(["COMMIT"])),
    ]);
    let code: Vec<_> = code
        .iter()
        .flat_map(|part| part.as_array().unwrap())
        .collect();
    job["programs"] = json!([{"name": "change", "code": code}]);
    job["roles"][0]["connections"] = CONNECTIONS.into();
    job["roles"][0]["table"] = Value::Null;
    job["roles"][0]["stop"] = json!({"operations": OPERATIONS * CONNECTIONS});
    job["roles"][0]["on_error"] =
        json!({"retry": ["40001", "40P01"], "tries": 1000, "otherwise": "fail_step"});
    job["stop"] = json!({"roles": ["select"]});
    job
}

/// Runs the job and holds what the generator says against the server's log.
fn check(server: &Server, job: &Value, code: &str, mark: &str) {
    let ended = run(job);
    assert_eq!(ended.done().0, Status::Ok, "{:?}", ended.done());
    let log = std::fs::read_to_string(format!("{}/log", server.target().host)).unwrap();
    let mut tries = 0;
    for lines in by_process(&log).values() {
        // Other tests share the server.
        if !lines.iter().any(|line| line.contains(mark)) {
            continue;
        }
        let (done, failed) = tries_of(lines);
        assert_eq!(done, OPERATIONS);
        tries += failed;
    }
    assert!(tries > 0, "the server refused something");
    let totals = &ended.done().2["select"];
    assert_eq!(
        (totals.count, totals.errors, totals.retries),
        (160, tries, tries)
    );
    let (mut errors, mut retries) = (0, 0);
    for event in &ended.events {
        if let Event::Tick(tick) = event {
            errors += tick.operations["change"].errors.get(code).unwrap_or(&0);
            retries += tick.operations["change"].retries;
        }
    }
    assert_eq!(
        (errors, retries),
        (tries, tries),
        "in ticks, by code and operation"
    );
    let name = mark.split(' ').nth(1).unwrap();
    let done = format!("SELECT count(*) FROM {name}_done");
    assert_eq!(number(server, &done), 160, "each took effect once");
}

/// How many tries a process of the server was sent that succeeded, and that failed; each of these says what the next does.
fn tries_of(lines: &[&str]) -> (usize, u64) {
    let mut tries: Vec<(Vec<&str>, bool)> = Vec::new();
    for line in lines {
        if line.contains(" ERROR:  ") {
            tries.last_mut().unwrap().1 = true;
        } else if let Some((_, statement)) = line.split_once("LOG:  statement: ") {
            if statement.starts_with("BEGIN") {
                tries.push((Vec::new(), false));
            } else if statement != "ROLLBACK" {
                tries.last_mut().unwrap().0.push(statement);
            }
        }
    }
    for pair in tries.windows(2) {
        let [(before, failed), (next, _)] = pair else {
            unreachable!("two")
        };
        // One of them may have failed earlier in its course.
        let same = next.starts_with(before) || before.starts_with(next);
        assert_eq!(same, *failed, "{before:?} and then {next:?}");
    }
    let failed = tries.iter().filter(|(_, failed)| *failed).count();
    (tries.len() - failed, failed as u64)
}

/// The lines of a log by the process that wrote them, in its default form: time, time zone, `[process]`.
fn by_process(log: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut lines: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in log.lines() {
        let process = line
            .split_once(" [")
            .and_then(|(_, rest)| rest.split_once("] "));
        if let Some((process, _)) = process {
            lines.entry(process).or_default().push(line);
        }
    }
    lines
}
