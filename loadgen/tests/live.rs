//! The generator's program against a real server: what it sends, what it says, and how it ends.

#[path = "postgres_session/server.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of sessions, which use more of it"
)]
mod server;

use dyno_loadgen::event::{Event, Status, Totals};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use server::Server;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A running generator.
struct Generator {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    events: Vec<Event>,
}

impl Generator {
    fn start(job: &Value) -> Self {
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

    fn command(&mut self, command: &str) {
        writeln!(self.input.as_mut().unwrap(), "{{\"do\":\"{command}\"}}").unwrap();
    }

    /// Reads events up to one of this name; the number of those read so far.
    fn until(&mut self, name: &str) -> usize {
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
    fn end(mut self) -> Ended {
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

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

struct Ended {
    exit: ExitStatus,
    events: Vec<Event>,
    stderr: String,
}

impl Ended {
    fn done(&self) -> (Status, Option<String>, &BTreeMap<String, Totals>) {
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

    fn closed(&self) -> bool {
        self.events
            .iter()
            .any(|event| matches!(event, Event::WindowClose { .. }))
    }
}

/// Runs a job that starts by itself.
fn run(job: &Value) -> Ended {
    Generator::start(job).end()
}

/// A job of the contract on this server, on tables of `name` that are made anew, unless they are `unused`.
fn job(server: &Server, example: &str, name: &str) -> Value {
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

fn number(server: &Server, sql: &str) -> i64 {
    let mut session = server.session();
    let answer = session.query(sql).unwrap();
    session.close();
    answer.rows[0][0].as_deref().unwrap().parse().unwrap()
}

/// A closed role of one statement on `clients` clients, for a time.
fn selects(server: &Server, clients: u32, seconds: f64) -> Value {
    let mut job = job(server, "l.i0", "unused");
    (job["clients"], job["tables"]["unused"]) = (clients.into(), 1.into());
    job["statements"][0]["pieces"] = json!(["SELECT 1"]);
    job["roles"][0]["name"] = "select".into();
    job["roles"][0]["stop"] = Value::Null;
    job["stop"] = json!({"seconds": seconds});
    job
}

fn server() -> Option<Arc<Server>> {
    server::shared()
}

#[test]
fn each_protocol_is_what_the_servers_log_shows() {
    let Some(server) = server() else { return };
    let mut job = job(&server, "l.i0", "form");
    job["clients"] = 1.into();
    job["values"] = json!([
        {"name": "wide", "format": "integer", "uniform": [3_000_000_000_u64, 3_000_000_009_u64]},
        {"name": "small", "format": "integer", "uniform": [1, 9]},
        {"name": "text", "format": "text", "pattern": "it's @@@"},
        {"name": "now", "format": "timestamp", "clock": "second"},
        {"name": "price", "format": "decimal2", "uniform": [5, 5]}]);
    let insert = json!(["INSERT INTO ", {"table": "form"}, " (transactionid,dateandtime,cashregisterid,customerid,productid,price,data) VALUES (",
        {"value": 0}, "+(SELECT count(*) FROM ", {"table": "form"}, ")*10,", {"value": 3}, ",", {"value": 1}, ",1,1,", {"value": 4}, ",", {"value": 2}, ")"]);
    let find = json!(["SELECT data FROM ", {"table": "form"}, " WHERE transactionid = ", {"value": 0}, " AND cashregisterid = ", {"value": 1}]);
    let protocols = ["simple", "extended", "prepared", "execute"];
    job["statements"] = protocols
        .iter()
        .flat_map(|protocol| {
            let types = |types: &[&str]| if *protocol == "execute" { json!(types) } else { json!([]) };
            [
                json!({"name": format!("insert-{protocol}"), "protocol": protocol, "pieces": insert, "types": types(&["bigint", "timestamp", "int", "numeric", "text"])}),
                json!({"name": format!("find-{protocol}"), "protocol": protocol, "pieces": find, "types": types(&["bigint", "int"])}),
            ]
        })
        .collect();
    let sends: Vec<_> = (0..8).map(|statement| json!(["send", statement])).collect();
    job["programs"] = json!([{"name": "all", "code": sends}]);
    job["roles"][0]["stop"]["operations"] = 3.into();
    server
        .session()
        .query("ALTER SYSTEM SET log_statement = 'all'")
        .unwrap();
    server.session().query("SELECT pg_reload_conf()").unwrap();
    let ended = run(&job);
    server
        .session()
        .query("ALTER SYSTEM RESET log_statement")
        .unwrap();
    server.session().query("SELECT pg_reload_conf()").unwrap();
    assert_eq!(ended.done().0, Status::Ok, "{:?}", ended.done());
    assert_eq!(number(&server, "SELECT count(*) FROM form1"), 12);
    assert_eq!(
        number(
            &server,
            "SELECT count(*) FROM form1 WHERE data ~ '^it''s [a-z]{3}$' AND price = 5"
        ),
        12
    );
    let log = std::fs::read_to_string(format!("{}/log", server.target().host)).unwrap();
    let count = |mark: &str| log.lines().filter(|line| line.contains(mark)).count();
    assert_eq!(
        count("LOG:  statement: INSERT INTO form1 (transactionid"),
        3
    );
    assert_eq!(
        count("LOG:  statement: SELECT data FROM form1 WHERE transactionid = 30000000"),
        3
    );
    assert_eq!(count("LOG:  execute <unnamed>: INSERT INTO form1"), 3);
    assert_eq!(
        count(
            "LOG:  execute <unnamed>: SELECT data FROM form1 WHERE transactionid = $1 AND cashregisterid = $2"
        ),
        3
    );
    assert_eq!(
        count("LOG:  execute s4_insert_prepared_form1: INSERT INTO form1"),
        3
    );
    assert_eq!(
        count(
            "LOG:  execute s5_find_prepared_form1: SELECT data FROM form1 WHERE transactionid = $1"
        ),
        3
    );
    assert_eq!(
        count(
            "LOG:  statement: PREPARE s7_find_execute_form1(bigint,int) AS SELECT data FROM form1 WHERE transactionid = $1 AND cashregisterid = $2"
        ),
        1
    );
    assert_eq!(
        count("LOG:  statement: EXECUTE s7_find_execute_form1(30000000"),
        3
    );
    assert_eq!(
        count("LOG:  statement: EXECUTE s6_insert_execute_form1(30000000"),
        3
    );
}

#[test]
fn inserts_and_deletes_keep_a_table_of_constant_size_and_the_tail_moves() {
    let Some(server) = server() else { return };
    let mut load = job(&server, "l.i0", "queue");
    load["roles"][0]["stop"]["operations"] = 60.into();
    assert_eq!(run(&load).done().2["insert"].rows, 12_000);
    for (example, operations) in [("l.i1", 100), ("qp100", 5)] {
        let before = number(&server, "SELECT min(transactionid) FROM queue1");
        let mut queue = job_on(&server, example, "queue");
        queue["autostart"] = false.into();
        queue["roles"][0]["stop"]["operations"] = operations.into();
        let mut generator = Generator::start(&queue);
        generator.until("ready");
        generator.command("go");
        let closed = generator.until("window_close");
        check_pids(&server, &generator.events[..closed], example);
        generator.command("stop");
        let ended = generator.end();
        let (status, _, totals) = ended.done();
        assert_eq!(status, Status::Ok);
        assert_eq!(
            (totals["insert"].rows, totals["delete"].rows),
            (operations * 100, operations * 100)
        );
        for table in ["queue1", "queue2"] {
            assert_eq!(
                number(&server, &format!("SELECT count(*) FROM {table}")),
                6000
            );
        }
        let after = number(&server, "SELECT min(transactionid) FROM queue1");
        assert!(
            after >= before + operations.cast_signed() * 50,
            "{before} {after}"
        );
        if example == "qp100" {
            assert!(
                totals["query"].rows > totals["query"].count * 9,
                "nearly every key finds a row"
            );
        }
    }
}

/// The same without making the tables anew.
fn job_on(server: &Server, example: &str, name: &str) -> Value {
    let mut made = job(server, example, "unused");
    let text = made
        .to_string()
        .replace("\"unused\"", &format!("\"{name}\""));
    made = serde_json::from_str(&text).unwrap();
    made
}

/// The server's processes that were announced, as an SQL list.
fn pids(events: &[Event]) -> String {
    let pids = events.iter().filter_map(|event| match event {
        Event::Connected { server_pid, .. } => Some(server_pid.to_string()),
        _ => None,
    });
    format!("({})", pids.collect::<Vec<_>>().join(","))
}

/// Each connection that was announced is one of the server's, and the other way round.
fn check_pids(server: &Server, events: &[Event], example: &str) {
    let mut told: Vec<i64> = Vec::new();
    let mut roles: BTreeMap<&str, u32> = BTreeMap::new();
    for event in events {
        if let Event::Connected {
            server_pid, role, ..
        } = event
        {
            told.push(i64::from(*server_pid));
            *roles.entry(role).or_default() += 1;
        }
    }
    told.sort_unstable();
    assert_eq!(
        (roles["insert"], roles["delete"], roles["probe"]),
        (2, 2, 2),
        "{example}"
    );
    let list = pids(events);
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dyno-loadgen' AND pid IN {list}"
    );
    assert_eq!(
        number(server, &sql),
        i64::try_from(told.len()).unwrap(),
        "{example}"
    );
}

#[test]
fn signals_and_the_end_of_the_input_end_a_step_cleanly() {
    let Some(server) = server() else { return };
    for clients in [1, 3] {
        for signal in [Some(Signal::INT), Some(Signal::TERM), None] {
            let mut job = selects(&server, clients, 600.0);
            job["autostart"] = signal.is_some().into();
            let mut generator = Generator::start(&job);
            if signal.is_none() {
                generator.command("go");
            }
            generator.until("tick");
            let asked = Instant::now();
            match signal {
                Some(signal) => kill_process(generator.pid(), signal).unwrap(),
                None => drop(generator.input.take()),
            }
            let ended = generator.end();
            assert!(
                asked.elapsed() < Duration::from_secs(2),
                "{:?}",
                asked.elapsed()
            );
            assert_eq!(
                (ended.done().0, ended.exit.code(), ended.closed()),
                (Status::Stopped, Some(0), true)
            );
            assert!(ended.done().2["select"].count > 0);
        }
    }
}

#[test]
fn a_second_signal_does_not_wait_for_what_is_in_flight() {
    let Some(server) = server() else { return };
    let mut job = selects(&server, 1, 600.0);
    job["statements"][0]["pieces"] = json!(["SELECT pg_sleep(100)"]);
    let mut generator = Generator::start(&job);
    generator.until("tick");
    kill_process(generator.pid(), Signal::INT).unwrap();
    generator.until("window_close");
    kill_process(generator.pid(), Signal::INT).unwrap();
    let asked = Instant::now();
    let ended = generator.end();
    assert!(asked.elapsed() < Duration::from_secs(2));
    assert_eq!(ended.done().0, Status::Stopped);
    let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(100)%'";
    number(&server, sql);
}

#[test]
fn a_killed_backend_fails_the_step_or_is_replaced() {
    let Some(server) = server() else { return };
    for (clients, on_lost) in [
        (1, "fail_step"),
        (2, "fail_step"),
        (1, "reconnect"),
        (2, "reconnect"),
    ] {
        let mut job = selects(&server, clients, 2.0);
        job["roles"][0]["on_lost"] = on_lost.into();
        let mut generator = Generator::start(&job);
        generator.until("tick");
        let pid = generator.events.iter().find_map(|event| match event {
            Event::Connected { server_pid, .. } => Some(*server_pid),
            _ => None,
        });
        number(
            &server,
            &format!(
                "SELECT count(*) FROM pg_stat_activity WHERE pg_terminate_backend({})",
                pid.unwrap()
            ),
        );
        let ended = generator.end();
        let (status, reason, totals) = ended.done();
        let connected = ended
            .events
            .iter()
            .filter(|event| matches!(event, Event::Connected { .. }))
            .count();
        if on_lost == "fail_step" {
            assert_eq!((status, ended.exit.code()), (Status::Failed, Some(1)));
            assert!(reason.as_deref().unwrap().contains("lost"), "{reason:?}");
            assert!(ended.closed(), "what was measured until then is told");
        } else {
            assert_eq!(
                (status, connected),
                (Status::Ok, clients as usize + 1),
                "{reason:?}"
            );
            assert_eq!(totals["select"].errors, 1);
        }
        let fatal = on_lost == "fail_step";
        let code = ended.events.iter().find_map(|event| match event {
            Event::Error {
                code, fatal: is, ..
            } if *is == fatal => Some(code.clone()),
            _ => None,
        });
        assert!(
            matches!(code.as_deref(), Some("57P01" | "08006")),
            "{code:?}"
        );
    }
}

#[test]
fn a_pause_stops_the_load_and_the_clock() {
    let Some(server) = server() else { return };
    for clients in [1, 2] {
        let mut job = selects(&server, clients, 2.0);
        job["autostart"] = false.into();
        let mut generator = Generator::start(&job);
        generator.until("ready");
        generator.command("go");
        generator.until("tick");
        generator.command("pause");
        generator.until("paused");
        let busy = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE pid IN {} AND state <> 'idle'",
            pids(&generator.events)
        );
        for _ in 0..3 {
            assert_eq!(number(&server, &busy), 0);
        }
        std::thread::sleep(Duration::from_millis(500));
        generator.command("resume");
        generator.until("window_close");
        generator.command("stop");
        let ended = generator.end();
        let time = |name: &str| {
            ended.events.iter().find_map(|event| match (event, name) {
                (Event::Started { mono_ns, .. }, "start")
                | (Event::Paused { mono_ns }, "paused")
                | (Event::Resumed { mono_ns }, "resumed")
                | (Event::WindowClose { mono_ns, .. }, "close") => Some(*mono_ns),
                _ => None,
            })
        };
        let [start, paused, resumed, close] =
            ["start", "paused", "resumed", "close"].map(|name| time(name).unwrap());
        assert!(resumed - paused > 500_000_000);
        assert_eq!(
            close - start,
            2_200_000_000 + (resumed - paused),
            "two seconds, the pause and what settles"
        );
    }
}

#[test]
fn an_even_schedule_is_kept() {
    let Some(server) = server() else { return };
    let mut job = selects(&server, 2, 2.0);
    job["roles"][0]["pace"] = json!({"kind": "rate", "arrivals": "even", "per_s": 100.0});
    let ended = run(&job);
    let mut count = 0;
    for event in &ended.events {
        if let Event::Tick(tick) = event {
            count += tick.operations["insert"].count;
            // A second core may be busy with anything; the kernel's timers are not that late.
            assert!(tick.late_us_max < 200_000, "{}", tick.late_us_max);
        }
    }
    assert!((396..=400).contains(&count), "{count}");
}

#[test]
fn several_threads_make_one_tick() {
    let Some(server) = server() else { return };
    let mut job = selects(&server, 4, 2.0);
    job["threads"] = 3.into();
    let ended = run(&job);
    let ticks: Vec<_> = ended
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Tick(tick) => Some((
                tick.tick,
                tick.per_client.iter().all(|client| client[0] > 0),
            )),
            _ => None,
        })
        .collect();
    assert_eq!(ticks, [(1, true), (2, true)]);
    let threads = ended.events.iter().find_map(|event| match event {
        Event::Done { threads, .. } => Some(threads.len()),
        _ => None,
    });
    assert_eq!(threads, Some(3));
}

#[test]
fn tables_are_filled() {
    let Some(server) = server() else { return };
    let mut job = job(&server, "fill", "unused");
    for number in 1..=2 {
        let sql = format!(
            "DROP TABLE IF EXISTS sbtest{number}; CREATE TABLE sbtest{number} (id int, k int, c char(120), pad char(60))"
        );
        server.session().query(&sql).unwrap();
    }
    job["fills"][0]["rows"] = 20_000.into();
    let ended = run(&job);
    assert_eq!(ended.done().0, Status::Ok, "{:?}", ended.done());
    assert_eq!(ended.done().2["fill"].rows, 40_000);
    assert_eq!(
        number(
            &server,
            "SELECT count(DISTINCT id) FROM sbtest2 WHERE id BETWEEN 1 AND 20000"
        ),
        20_000
    );
    let told: u64 = ended
        .events
        .iter()
        .map(|event| {
            if let Event::Tick(tick) = event {
                tick.per_client[0][1]
            } else {
                0
            }
        })
        .sum();
    assert_eq!(told, 40_000);
}

#[test]
fn what_cannot_run_says_why_in_one_line() {
    let Some(server) = server() else { return };
    let mut job = selects(&server, 1, 1.0);
    job["statements"][0]["pieces"] = json!(["SELECT nothing"]);
    job["statements"][0]["protocol"] = "prepared".into();
    let ended = run(&job);
    let (status, reason, _) = ended.done();
    assert_eq!((status, ended.exit.code()), (Status::Failed, Some(1)));
    let reason = reason.unwrap();
    assert!(
        reason.contains("role `select`, statement s0_insert") && reason.contains("nothing"),
        "{reason}"
    );
    job["server"]["port"] = 1.into();
    let ended = run(&job);
    assert_eq!(
        (ended.done().0, ended.exit.code()),
        (Status::Failed, Some(1))
    );
    job["clients"] = 0.into();
    let ended = run(&job);
    assert_eq!(ended.exit.code(), Some(2));
    assert_eq!(
        ended.stderr,
        "dyno-loadgen: job: `clients`: is 0; give at least 1\n"
    );
}
