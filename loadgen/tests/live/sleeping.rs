//! Connections that are idle in their transactions, as the server sees them.

use crate::generator::{number, pids, selects, server};
use crate::process::{Generator, run};
use dyno_loadgen::event::{Event, Status};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Three clients that hold a transaction open for so long, beside one connection of each that selects without a pause.
fn holding(server: &crate::server::Server, seconds: f64, sleep_us: u64) -> Value {
    let mut job = selects(server, 3, seconds);
    let statement = |name: &str, sql: &str| json!({"name": name, "protocol": "simple", "pieces": [sql], "types": [], "rows": 1});
    job["statements"] = json!([
        statement("select", "SELECT pg_sleep(0.001)"),
        statement("begin", "BEGIN"),
        statement("commit", "COMMIT"),
    ]);
    job["programs"] = json!([
        {"name": "select", "code": [["send", 0]]},
        {"name": "held", "code": [["send", 1], ["send", 0], ["sleep", sleep_us], ["send", 2]]},
    ]);
    let mut held = job["roles"][0].clone();
    held["name"] = "held".into();
    held["choose"] = json!([{"program": 1, "weight": 1}]);
    job["roles"].as_array_mut().unwrap().push(held);
    job
}

#[test]
fn a_connection_is_idle_in_its_transaction_and_blocks_no_other() {
    let Some(server) = server() else { return };
    for (threads, begin, holds) in [
        (1, "BEGIN", 0),
        (3, "BEGIN ISOLATION LEVEL REPEATABLE READ", 3),
    ] {
        let mut job = holding(&server, 600.0, 3_600_000_000);
        job["statements"][1]["pieces"] = json!([begin]);
        job["threads"] = threads.into();
        job["autostart"] = false.into();
        let mut generator = Generator::start(&job);
        generator.until("ready");
        generator.command("go");
        generator.until("tick");
        generator.until("tick");
        let pids = pids(&generator.events);
        let idle = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' AND pid IN {pids}"
        );
        assert_eq!(number(&server, &idle), 3);
        // Between statements only a repeatable read keeps the snapshot that vacuum has to respect.
        let snapshots = format!("{idle} AND backend_xmin IS NOT NULL");
        assert_eq!(number(&server, &snapshots), holds, "{begin}");
        let asked = Instant::now();
        generator.command("stop");
        let ended = generator.end();
        assert!(
            asked.elapsed() < Duration::from_mins(1),
            "{:?}",
            asked.elapsed()
        );
        let totals = ended.done().2;
        assert_eq!(
            (totals["held"].count, totals["held"].errors),
            (3, 0),
            "committed"
        );
        assert!(totals["select"].count > 100, "{totals:?}");
    }
}

#[test]
fn a_sleep_lasts_as_long_as_was_asked_for() {
    let Some(server) = server() else { return };
    let ended = run(&holding(&server, 1.5, 250_000));
    assert_eq!(ended.done().0, Status::Ok);
    let count = ended.done().2["held"].count;
    assert!((3..=3 * 6).contains(&count), "{count} of 18 at most");
    let quickest = ended.events.iter().filter_map(|event| match event {
        Event::Tick(tick) if tick.role == "held" => Some(&tick.operations["held"]),
        _ => None,
    });
    let longest = quickest.map(|held| held.max_us).max().unwrap();
    assert!(longest >= 250_000, "{longest} µs");
}
