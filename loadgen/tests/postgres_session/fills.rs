//! Fills: the same content over any number of connections, and clean ends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dyno_loadgen::fill::{self, FillTotals};
use dyno_loadgen::job::{Fill, Value};
use dyno_loadgen::message::FillProgress;
use dyno_loadgen::session::SessionError;
use dyno_loadgen::session::postgres::PostgresSession;

use crate::server::{self, Server};

/// The values of every fill here: sysbench's and the Insert Benchmark's, and what lies between.
fn values() -> Vec<Value> {
    let digits = |groups: usize| vec!["#".repeat(11); groups].join("-");
    parse(&format!(
        r#"[{{"name": "id", "format": "integer", "row": 1}},
            {{"name": "k", "format": "integer", "uniform": [1, 1000000]}},
            {{"name": "c", "format": "text", "pattern": "{}"}},
            {{"name": "pad", "format": "text", "pattern": "{}"}},
            {{"name": "data", "format": "text",
              "text": {{"fill": "a", "length": [10, 20], "random": 0.375}}}},
            {{"name": "price", "format": "decimal2", "uniform": [0, 499]}},
            {{"name": "hi", "format": "integer", "add": {{"value": 1, "plus": 100}}}},
            {{"name": "seen", "format": "timestamp", "uniform": [0, 2000000000]}}]"#,
        digits(10),
        digits(5)
    ))
}

/// The fill of a table with a column of every kind.
fn every_kind(streams: u32, rows: u64) -> Fill {
    parse(&format!(
        r#"{{"table": "kinds", "streams": {streams}, "rows": {rows}, "columns": [
            {{"name": "id", "type": "int4", "value": 0}}, {{"name": "k", "type": "int8", "value": 1}},
            {{"name": "hi", "type": "int8", "value": 6}}, {{"name": "c", "type": "text", "value": 2}},
            {{"name": "data", "type": "text", "value": 4}}, {{"name": "price", "type": "text", "value": 5}},
            {{"name": "seen", "type": "timestamp", "value": 7}}]}}"#
    ))
}

const KINDS: &str = "(id int PRIMARY KEY, k bigint, hi bigint, c char(120), data varchar(20), \
                     price varchar(8), seen timestamp)";

fn parse<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).expect("valid")
}

/// Makes tables of that shape anew.
fn tables(session: &mut PostgresSession, names: &[&str], shape: &str) -> Vec<String> {
    for name in names {
        let sql = format!("DROP TABLE IF EXISTS {name}; CREATE TABLE {name} {shape}");
        session.query(&sql).expect("a table");
    }
    names.iter().map(|&name| name.to_owned()).collect()
}

fn run(
    server: &Server,
    fill: &Fill,
    tables: &[String],
    stop: &AtomicBool,
    progress: impl FnMut(FillProgress),
) -> Result<FillTotals, SessionError> {
    fill::run(
        fill,
        &values(),
        &server.target(),
        42,
        tables,
        stop,
        progress,
    )
}

fn digest(session: &mut PostgresSession, table: &str) -> String {
    let sql = format!("SELECT md5(string_agg(t::text, '|' ORDER BY id)) FROM {table} t");
    session.query(&sql).expect("a digest").rows[0][0]
        .clone()
        .expect("rows")
}

fn count(session: &mut PostgresSession, table: &str) -> i64 {
    let counted = session
        .query(&format!("SELECT count(*) FROM {table}"))
        .expect("a count");
    counted.first_integer().expect("a number")
}

#[test]
fn any_number_of_streams_gives_the_same_tables() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    let mut digests = Vec::new();
    for streams in [1, 2, 3, 7] {
        let tables = tables(&mut session, &["kinds1", "kinds2"], KINDS);
        let mut last = BTreeMap::new();
        let stop = AtomicBool::new(false);
        let totals = run(
            &server,
            &every_kind(streams, 10_007),
            &tables,
            &stop,
            |progress| {
                let before = last.insert((progress.table, progress.stream), progress);
                assert!(before.is_none_or(|before| before.rows <= progress.rows));
            },
        )
        .expect("filled");
        assert_eq!((totals.rows, totals.stopped), (20_014, false));
        assert_eq!(last.len(), if streams == 7 { 6 } else { 2 });
        assert_eq!(
            last.values().map(|progress| progress.rows).sum::<u64>(),
            20_014
        );
        assert!(last.values().all(|progress| progress.server_pid > 0));
        digests.push((
            digest(&mut session, "kinds1"),
            digest(&mut session, "kinds2"),
        ));
    }
    assert!(digests.iter().all(|digest| *digest == digests[0]));
    assert_ne!(digests[0].0, digests[0].1, "tables differ");
}

#[test]
fn a_filled_row_is_what_its_values_say() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    let tables = tables(&mut session, &["rows1"], KINDS);
    run(
        &server,
        &every_kind(2, 1_000),
        &tables,
        &AtomicBool::new(false),
        |_| (),
    )
    .expect("filled");
    let odd = session
        .query(
            "SELECT count(*) FROM rows1 WHERE k NOT BETWEEN 1 AND 1000000 OR hi <> k + 100 \
             OR c !~ '^(\\d{11}-){9}\\d{11} *$' OR data !~ '^a+[A-Za-z0-9+/]+$' \
             OR length(data) NOT BETWEEN 10 AND 20 OR price !~ '^\\d{1,3}\\.00$' \
             OR seen NOT BETWEEN '1970-01-01' AND '2033-05-18 03:33:20'",
        )
        .expect("an answer");
    assert_eq!(odd.first_integer().expect("a number"), 0);
    let ids = session
        .query("SELECT min(id), max(id) FROM rows1")
        .expect("an answer")
        .rows;
    assert_eq!(ids, [[Some("1".to_owned()), Some("1000".to_owned())]]);
    let spread = session.query("SELECT count(DISTINCT k), count(DISTINCT c) FROM rows1");
    assert!(
        spread
            .expect("an answer")
            .first_integer()
            .expect("a number")
            > 990
    );
}

#[test]
fn a_failing_stream_stops_the_others_and_nothing_stays() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    let tables = tables(&mut session, &["clash1"], KINDS);
    session
        .query("INSERT INTO clash1 (id) VALUES (1500000)")
        .expect("a row in the way");
    let stop = AtomicBool::new(false);
    let error = run(&server, &every_kind(3, 2_000_000), &tables, &stop, |_| ()).expect_err("clash");
    let SessionError::Server(error) = error else {
        panic!("another error: {error}")
    };
    assert_eq!(error.code_text(), "23505");
    assert!(
        error.message.contains("filling `clash1`, stream "),
        "{}",
        error.message
    );
    assert_eq!(count(&mut session, "clash1"), 1);
}

#[test]
fn a_table_that_is_missing_and_a_type_that_does_not_fit_are_the_servers_errors() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    let stop = AtomicBool::new(false);
    let missing = run(
        &server,
        &every_kind(1, 10),
        &["no_such".to_owned()],
        &stop,
        |_| (),
    );
    assert!(matches!(missing, Err(SessionError::Server(error)) if error.code_text() == "42P01"));
    let tables = tables(
        &mut session,
        &["narrow1"],
        &KINDS.replace("k bigint", "k int"),
    );
    let narrow = run(&server, &every_kind(1, 10), &tables, &stop, |_| ());
    assert!(matches!(narrow, Err(SessionError::Server(error)) if error.code_text() == "22P03"));
}

#[test]
fn a_fill_that_is_stopped_ends_soon_and_leaves_nothing() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    let tables = tables(&mut session, &["stopped1", "stopped2"], KINDS);
    let stop = AtomicBool::new(false);
    let mut stopped_at = None;
    let totals = run(
        &server,
        &every_kind(2, 500_000_000),
        &tables,
        &stop,
        |progress| {
            if progress.rows > 0 && stopped_at.is_none() {
                stop.store(true, Ordering::Relaxed);
                stopped_at = Some(Instant::now());
            }
        },
    )
    .expect("stopped");
    assert!(stopped_at.expect("it had begun").elapsed() < Duration::from_mins(1));
    assert_eq!((totals.rows, totals.stopped), (0, true));
    assert_eq!(
        count(&mut session, "stopped1") + count(&mut session, "stopped2"),
        0
    );
}

#[test]
fn a_stream_whose_backend_is_killed_ends_the_fill_with_the_reason() {
    let Some(server) = server::shared() else {
        return;
    };
    let (mut session, mut killer) = (server.session(), server.session());
    let tables = tables(&mut session, &["killed1"], KINDS);
    let (stop, mut done) = (AtomicBool::new(false), false);
    let error = run(
        &server,
        &every_kind(2, 500_000_000),
        &tables,
        &stop,
        |progress| {
            if progress.stream == 1 && progress.rows > 0 && !done {
                let kill = format!("SELECT pg_terminate_backend({})", progress.server_pid);
                killer.query(&kill).expect("killed it");
                done = true;
            }
        },
    )
    .expect_err("killed");
    let text = error.to_string();
    assert!(
        text.contains("`killed1`, stream 1") && text.contains("57P01"),
        "{text}"
    );
    assert_eq!(count(&mut session, "killed1"), 0);
}

#[test]
fn what_comes_after_the_rows_is_run_for_each_table() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    let shape = KINDS.replace(" PRIMARY KEY", "");
    let tables = tables(&mut session, &["after1", "after2", "after3"], &shape);
    let mut fill = every_kind(2, 3_000);
    fill.table = "after".to_owned();
    fill.after = vec![
        "ALTER TABLE {t} ADD PRIMARY KEY (id)".to_owned(),
        "CREATE INDEX k_{number} ON {t} (k)".to_owned(),
        "VACUUM (ANALYZE) {t}".to_owned(),
    ];
    let stop = AtomicBool::new(false);
    let totals = run(&server, &fill, &tables, &stop, |_| ()).expect("filled");
    assert_eq!((totals.rows, totals.stopped), (9_000, false));
    let made = session
        .query(
            "SELECT string_agg(indexname, ' ' ORDER BY indexname) FROM pg_indexes \
             WHERE tablename LIKE 'after_'",
        )
        .expect("an answer");
    let names = "after1_pkey after2_pkey after3_pkey k_1 k_2 k_3";
    assert_eq!(made.rows, [[Some(names.to_owned())]]);
    let counted = session
        .query("SELECT count(*) FROM pg_class WHERE relname LIKE 'after_' AND reltuples = 3000")
        .expect("an answer");
    assert_eq!(counted.first_integer().expect("a number"), 3);
}

#[test]
fn a_statement_after_the_rows_that_fails_is_named_with_its_table() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    let tables = tables(&mut session, &["refused1"], KINDS);
    let mut fill = every_kind(1, 10);
    fill.after = vec!["CREATE INDEX ON {t} (no_such)".to_owned()];
    let stop = AtomicBool::new(false);
    let error = run(&server, &fill, &tables, &stop, |_| ()).expect_err("refused");
    let text = error.to_string();
    assert!(
        text.contains("after filling `refused1`") && text.contains("no_such"),
        "{text}"
    );
}

#[test]
fn a_stop_also_ends_a_statement_after_the_rows() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    let tables = tables(&mut session, &["slow1", "slow2"], KINDS);
    let mut fill = every_kind(1, 10);
    fill.after = vec!["SELECT pg_sleep(600)".to_owned()];
    let (stop, start) = (AtomicBool::new(false), Instant::now());
    let totals = std::thread::scope(|scope| {
        scope.spawn(|| {
            // The second table comes after the first: its rows are the last ones.
            while count(&mut session, "slow2") == 0 && start.elapsed() < Duration::from_secs(200) {
                std::thread::sleep(Duration::from_millis(20));
            }
            stop.store(true, Ordering::Relaxed);
        });
        run(&server, &fill, &tables, &stop, |_| ())
    })
    .expect("stopped");
    assert!(start.elapsed() < Duration::from_mins(5));
    assert!(totals.stopped && totals.rows == 20, "{totals:?}");
}

/// Prints the rate of a fill of sysbench's table: run it with `--release -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement, of about ten seconds"]
fn measure_the_rate_of_a_fill_of_a_million_rows() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    let shape = "(id int, k int, c char(120), pad char(60))";
    for streams in [1, 2] {
        let tables = tables(&mut session, &["sbtest1"], shape);
        let fill: Fill = parse(&format!(
            r#"{{"table": "sbtest", "streams": {streams}, "rows": 1000000, "columns": [
                {{"name": "id", "type": "int4", "value": 0}}, {{"name": "k", "type": "int4", "value": 1}},
                {{"name": "c", "type": "text", "value": 2}}, {{"name": "pad", "type": "text", "value": 3}}]}}"#
        ));
        let (start, cpu) = (Instant::now(), cpu_seconds());
        let totals = run(&server, &fill, &tables, &AtomicBool::new(false), |_| ()).expect("filled");
        let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        eprintln!(
            "{streams} streams: {:.0} rows/s, {:.0} MB/s; of our own {:.0} ns a row",
            totals.rows as f64 / seconds,
            totals.bytes as f64 / seconds / 1e6,
            cpu * 1e9 / totals.rows as f64,
        );
    }
}

/// The CPU time of this process.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[test]
fn frozen_rows_take_the_place_of_those_before_over_one_connection() {
    let Some(server) = server::shared() else {
        return;
    };
    let mut session = server.session();
    let tables = tables(&mut session, &["frozen1"], KINDS);
    let mut fill = every_kind(4, 10_007);
    let stop = AtomicBool::new(false);
    run(&server, &fill, &tables, &stop, |_| ()).expect("filled");
    let before = digest(&mut session, "frozen1");
    fill.frozen = true;
    let mut streams = 0;
    run(&server, &fill, &tables, &stop, |progress| {
        streams = streams.max(progress.stream + 1);
    })
    .expect("filled again: the rows before are gone");
    assert_eq!(streams, 1);
    assert_eq!(digest(&mut session, "frozen1"), before);
    // A vacuum keeps no age from rows that are frozen, once no other test's transaction is as old.
    let frozen = || {
        let session = &mut server.session();
        session
            .query("VACUUM (DISABLE_PAGE_SKIPPING) frozen1")
            .expect("a vacuum");
        let younger = "SELECT (age(relfrozenxid) < (SELECT min(age(xmin)) FROM frozen1))::int \
                       FROM pg_class WHERE relname = 'frozen1'";
        let told = session.query(younger).expect("an answer");
        told.first_integer().expect("a number") == 1
    };
    let end = Instant::now() + Duration::from_mins(2);
    while !frozen() {
        assert!(Instant::now() < end, "rows are not frozen");
        std::thread::sleep(Duration::from_millis(100));
    }
}
