//! What reaches the server, and what is said of it.

use crate::generator::{job, job_on, number, pids, selects, server};
use crate::process::{Generator, run};
use crate::server::Server;
use dyno_loadgen::event::{Event, Status};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[test]
fn each_protocol_is_what_the_servers_log_shows() {
    let Some(server) = server() else { return };
    let job = job_of_all_protocols(&server);
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

#[test]
fn an_even_schedule_is_kept() {
    let Some(server) = server() else { return };
    let mut job = selects(&server, 2, 2.0);
    job["roles"][0]["pace"] = json!({"kind": "rate", "arrivals": "even", "per_s": 100.0});
    let ended = run(&job);
    let mut count = 0;
    let mut late_us_least = u64::MAX;
    for event in &ended.events {
        if let Event::Tick(tick) = event {
            count += tick.operations["insert"].count;
            late_us_least = late_us_least.min(tick.late_us_max);
        }
    }
    // Both cores may be busy with anything in a second; the kernel's timers are not that late in all.
    assert!(late_us_least < 200_000, "{late_us_least}");
    // Those of the last moments may still wait to be sent.
    assert!((300..=400).contains(&count), "{count}");
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
            Event::Tick(tick) if tick.active_ns > 0 => Some((
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
            "DROP TABLE IF EXISTS sbtest{number:03}; CREATE TABLE sbtest{number:03} (id serial, k int, c char(120), pad char(60))"
        );
        server.session().query(&sql).unwrap();
    }
    job["fills"][0]["rows"] = 20_000.into();
    job["table_digits"] = serde_json::json!({"sbtest": 3});
    let ended = run(&job);
    assert_eq!(ended.done().0, Status::Ok, "{:?}", ended.done());
    assert_eq!(ended.done().2["fill"].rows, 40_000);
    assert_eq!(
        number(
            &server,
            "SELECT count(DISTINCT id) FROM sbtest002 WHERE id BETWEEN 1 AND 20000"
        ),
        20_000
    );
    assert_eq!(
        number(
            &server,
            "SELECT count(*) FROM pg_indexes WHERE indexname IN ('sbtest001_pkey', 'sbtest002_pkey', 'k_001', 'k_002')"
        ),
        4
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

/// A transaction of an INSERT and a SELECT in each of the four protocols, three times.
fn job_of_all_protocols(server: &Server) -> Value {
    let mut job = job(server, "l.i0", "form");
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
    job
}
