//! Tables that are drawn: the same ones in every protocol, on any number of threads, over many pauses.

use crate::generator::{number, selects, server};
use crate::process::{Generator, run};
use crate::server::Server;
use dyno_loadgen::event::Status;
use serde_json::{Value, json};

const TABLES: u32 = 3;
const OPERATIONS: i64 = 3000;

/// A transaction of three inserts, two of one class, into tables of that name, which are made anew.
fn job(server: &Server, name: &str, protocol: &str, threads: u32) -> Value {
    let mut session = server.session();
    for table in 1..=TABLES {
        let sql = format!(
            "DROP TABLE IF EXISTS {name}{table}; CREATE TABLE {name}{table} (kind int, number int)"
        );
        session.query(&sql).unwrap();
    }
    session.close();
    let types = if protocol == "execute" {
        json!(["int"])
    } else {
        json!([])
    };
    let insert = |kind: u32, class: Option<&str>| {
        let pieces = json!(["INSERT INTO ", {"table": name}, format!(" VALUES ({kind}, "), {"value": 0}, ")"]);
        let mut insert = json!({"name": format!("insert{kind}"), "protocol": protocol, "types": types,
                                "rows": 1, "pieces": pieces});
        if let Some(class) = class {
            insert["class"] = class.into();
        }
        insert
    };
    let mut job = selects(server, 3, 1.0);
    job["tables"] = json!({name: TABLES});
    job["threads"] = threads.into();
    job["values"] = json!([{"name": "number", "per": "transaction", "format": "integer", "sequence": {"first": 0}}]);
    job["statements"] = json!([
        insert(1, None),
        insert(2, Some("both")),
        insert(3, Some("both"))
    ]);
    let code = json!([["draw", 0], ["send", 0], ["send", 1], ["send", 2]]);
    job["programs"] = json!([{"name": "all", "code": code}]);
    job["roles"][0]["table"] = json!({"of": name, "by": "uniform"});
    job["roles"][0]["stop"] = json!({"operations": OPERATIONS / 3});
    job["stop"] = json!({"roles": ["select"]});
    job
}

/// Which rows each table has, as the server sees it.
fn content(server: &Server, name: &str) -> String {
    let tables: Vec<_> = (1..=TABLES)
        .map(|table| format!("SELECT {table} AS t, * FROM {name}{table}"))
        .collect();
    let sql = format!(
        "SELECT string_agg(t || ':' || kind || ':' || number, ' ' ORDER BY number, kind) FROM ({}) AS x",
        tables.join(" UNION ALL ")
    );
    let mut session = server.session();
    let answer = session.query(&sql).unwrap();
    session.close();
    answer.rows[0][0].clone().unwrap()
}

#[test]
fn drawn_tables_are_even_and_the_same_in_every_protocol_and_on_any_number_of_threads() {
    let Some(server) = server() else { return };
    let mut first: Option<String> = None;
    for (protocol, threads) in [
        ("simple", 1),
        ("extended", 1),
        ("prepared", 2),
        ("execute", 3),
    ] {
        let ended = run(&job(&server, "drawn", protocol, threads));
        assert_eq!(ended.done().0, Status::Ok, "{:?}", ended.done());
        let content = content(&server, "drawn");
        let expected = first.get_or_insert_with(|| content.clone());
        assert_eq!(&content, expected, "{protocol}");
    }
    let apart =
        "SELECT count(*) FROM drawn1 a JOIN (SELECT * FROM drawn2 UNION ALL SELECT * FROM drawn3) b
                 ON a.number = b.number AND a.kind + b.kind = 5";
    assert_eq!(number(&server, apart), 0, "statements of one class");
    for kind in [1, 2] {
        let mut chi = 0.0;
        for table in 1..=TABLES {
            let sql = format!("SELECT count(*) FROM drawn{table} WHERE kind = {kind}");
            let mean = OPERATIONS as f64 / f64::from(TABLES);
            chi += (number(&server, &sql) as f64 - mean).powi(2) / mean;
        }
        assert!(chi < 13.8, "{chi}: exceeded once in a thousand");
    }
}

#[test]
fn tables_in_turn_are_shared_out_alike_in_every_protocol() {
    let Some(server) = server() else { return };
    for protocol in ["simple", "extended", "prepared", "execute"] {
        let mut job = job(&server, "turned", protocol, 1);
        job["clients"] = 2.into();
        job["roles"][0]["table"]["by"] = "in_turn".into();
        job["roles"][0]["stop"]["operations"] = 300.into();
        let ended = run(&job);
        assert_eq!(ended.done().0, Status::Ok, "{:?}", ended.done());
        for table in 1..=TABLES {
            let sql = format!(
                "SELECT count(DISTINCT number) FROM turned{table} WHERE number % 3 = {}",
                table - 1
            );
            assert_eq!(number(&server, &sql), 200, "{protocol}, table {table}");
        }
    }
}

#[test]
fn each_drawn_table_has_to_be_there_and_like_the_others() {
    let Some(server) = server() else { return };
    let job = job(&server, "unlike", "prepared", 1);
    for (sql, words) in [
        (
            "DROP TABLE unlike3; CREATE TABLE unlike3 (kind int, number bigint)",
            "role `select`, statement s0_insert1_unlike3: its parameters have other types",
        ),
        (
            "DROP TABLE unlike2",
            "role `select`, statement s0_insert1_unlike2: the server answered: relation \"unlike2\" does not exist",
        ),
    ] {
        server.session().query(sql).unwrap();
        let ended = run(&job);
        let (status, reason, _) = ended.done();
        let reason = reason.unwrap();
        assert_eq!(status, Status::Failed);
        assert!(reason.starts_with(words), "{reason}");
    }
}

#[test]
fn many_pauses_lose_no_operation_and_leave_prepared_statements_as_they_are() {
    const PAUSES: u32 = 8;
    let Some(server) = server() else { return };
    let mut job = job(&server, "paused", "prepared", 2);
    job["autostart"] = false.into();
    job["roles"][0]["stop"] = Value::Null;
    job["stop"] = json!({"seconds": 1.0});
    let mut generator = Generator::start(&job);
    generator.until("ready");
    generator.command("go");
    for _ in 0..PAUSES {
        std::thread::sleep(std::time::Duration::from_millis(50));
        generator.command("pause");
        generator.until("paused");
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND pid <> pg_backend_pid()
                   AND query LIKE 'INSERT INTO paused%'";
        assert_eq!(number(&server, sql), 0, "all is quiet");
        generator.command("resume");
    }
    generator.until("window_close");
    generator.command("stop");
    let ended = generator.end();
    let (status, reason, totals) = ended.done();
    assert_eq!((status, reason), (Status::Ok, None));
    let [mut active_ns, mut counted] = [0, 0];
    for event in &ended.events {
        if let dyno_loadgen::event::Event::Tick(tick) = event {
            active_ns += tick.active_ns;
            counted += tick.operations["all"].count;
        }
    }
    assert_eq!(active_ns, 1_000_000_000);
    let rows = number(
        &server,
        "SELECT (SELECT count(*) FROM paused1) + (SELECT count(*) FROM paused2) + (SELECT count(*) FROM paused3)",
    );
    let total = &totals["select"];
    assert_eq!((total.rows, total.errors), (rows.unsigned_abs(), 0));
    assert!(total.count > counted && counted > 0, "{total:?} {counted}");
}
