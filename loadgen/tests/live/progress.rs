//! Statements that say in notices how many rows they have done: counted while they run, each row once.

use crate::generator::{selects, server};
use crate::process::{Generator, run};
use crate::server::Server;
use dyno_loadgen::event::{Event, Status, Tick};
use serde_json::{Value, json};

/// A step of one connection that runs these statements once, as a transaction where they are several; all have progress.
fn job(server: &Server, statements: &[&str]) -> Value {
    let mut job = selects(server, 1, 30.0);
    let texts = statements.iter().enumerate();
    let texts = texts.map(|(number, sql)| {
        json!({"name": format!("part{number}"), "protocol": "extended", "pieces": [sql], "types": [], "rows": 0,
               "progress": "total: "})
    });
    job["statements"] = texts.collect();
    let sends: Vec<_> = (0..statements.len())
        .map(|number| json!(["send", number]))
        .collect();
    job["programs"] = json!([{"name": "whole", "code": sends}]);
    job["roles"][0]["stop"] = json!({"operations": 1});
    job["stop"] = json!({"roles": ["select"]});
    job
}

/// The rows of a role's tick: of its clients, and by the operation's name.
fn rows(tick: &Tick, operation: &str) -> (u64, u64) {
    let of_clients = tick.per_client.iter().map(|client| client[1]).sum();
    let own = tick.operations.get(operation);
    (of_clients, own.map_or(0, |own| own.rows))
}

fn ticks(events: &[Event]) -> impl Iterator<Item = &Tick> {
    events.iter().filter_map(|event| match event {
        Event::Tick(tick) => Some(tick),
        _ => None,
    })
}

/// The rows of all ticks.
fn sum(events: &[Event], operation: &str) -> (u64, u64) {
    let rows = ticks(events).map(|tick| rows(tick, operation));
    rows.fold((0, 0), |sum, rows| (sum.0 + rows.0, sum.1 + rows.1))
}

/// Reads events until so many rows have been counted in ticks.
fn until_counted(generator: &mut Generator, rows: u64) {
    while sum(generator.events(), "part0").0 < rows {
        generator.until("tick");
    }
}

#[test]
fn rows_are_counted_while_the_statement_runs_and_what_follows_the_window_in_totals_alone() {
    let Some(server) = server() else { return };
    let mut keeper = server.session();
    keeper
        .query("SELECT pg_advisory_lock(4711), pg_advisory_lock(4712)")
        .unwrap();
    let waits = "DO $$BEGIN RAISE NOTICE 'loop 1 total: 1,000'; PERFORM pg_advisory_lock(4711); \
                 RAISE NOTICE 'loop 2 total: 2,500'; PERFORM pg_advisory_lock(4712); \
                 RAISE NOTICE 'total: 4000'; END$$";
    let mut job = job(&server, &[waits]);
    job["autostart"] = false.into();
    let mut generator = Generator::start(&job);
    generator.until("ready");
    generator.command("go");
    until_counted(&mut generator, 1000);
    assert_eq!(sum(generator.events(), "part0"), (1000, 1000));
    keeper.query("SELECT pg_advisory_unlock(4711)").unwrap();
    until_counted(&mut generator, 2500);
    generator.command("stop");
    generator.until("window_close");
    keeper.query("SELECT pg_advisory_unlock(4712)").unwrap();
    let ended = generator.end();
    assert_eq!(sum(&ended.events, "part0"), (2500, 2500));
    let (_, _, totals) = ended.done();
    assert_eq!((totals["select"].count, totals["select"].rows), (1, 4000));
    let counts = ticks(&ended.events).map(|tick| tick.operations["part0"].count);
    assert_eq!(
        counts.sum::<u64>(),
        1,
        "it began in the window, and was waited for"
    );
}

#[test]
fn a_further_try_begins_at_nothing_and_affected_rows_count_only_beyond_what_was_said() {
    let Some(server) = server() else { return };
    server
        .session()
        .query(
            "DROP TABLE IF EXISTS said; DROP SEQUENCE IF EXISTS tries; CREATE TABLE said (n int); CREATE SEQUENCE tries;
             CREATE OR REPLACE FUNCTION say(n int) RETURNS int LANGUAGE plpgsql AS $$
             BEGIN IF n IN (2, 3) THEN RAISE NOTICE 'total: %', n; END IF; RETURN n; END$$",
        )
        .unwrap();
    let fails_once = "DO $$BEGIN RAISE NOTICE 'total: 100'; \
                      IF nextval('tries') = 1 THEN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END IF; \
                      RAISE NOTICE 'total: 150'; END$$";
    let insert = "INSERT INTO said SELECT say(n) FROM generate_series(1, 5) AS n";
    let silent = "INSERT INTO said SELECT 1 FROM generate_series(1, 7)";
    for (begin, end) in [("SELECT 1", "SELECT 1"), ("BEGIN", "COMMIT")] {
        server
            .session()
            .query("ALTER SEQUENCE tries RESTART")
            .unwrap();
        let mut job = job(&server, &[begin, fails_once, insert, silent, end]);
        job["roles"][0]["on_error"] =
            json!({"retry": ["40001"], "tries": 2, "otherwise": "fail_step"});
        let ended = run(&job);
        let (status, reason, totals) = ended.done();
        assert_eq!(status, Status::Ok, "{reason:?}");
        let control = u64::from(begin == "SELECT 1");
        let whole = 100 + 150 + 5 + 7 + 2 * control;
        let totals = &totals["select"];
        assert_eq!((totals.count, totals.retries), (1, 1));
        // A SELECT that committed by itself before the error has its row with the client, but not with the operation.
        assert_eq!(totals.rows, whole);
        assert_eq!(sum(&ended.events, "whole"), (whole + control, whole));
        assert_eq!(sum(&ended.events, "part1").1, 250);
        assert_eq!(sum(&ended.events, "part2").1, 5);
        assert_eq!(sum(&ended.events, "part3").1, 7);
        let empty = ticks(&ended.events).map(|tick| tick.operations["part1"].empty);
        assert_eq!(empty.sum::<u64>(), 0);
    }
}
