//! Jobs whose operations must not allocate, in every protocol and pace.

use crate::counted::{Tally, on_fake, on_server};
use crate::harness::{example, fake};
use crate::io_uring_here;
use crate::mysql;
use crate::server::serve;
use dyno_loadgen::job::{
    Choice, ChoiceRule, Engine, Initial, Instruction, Job, Pace, Piece, Program, Protocol, Stop,
    TableBy, TableUse, ThinkTime, Wait,
};
use dyno_loadgen::session::Target;
use serde_json::json;

/// Allocations that an error reply may make: its message, its detail, both together, its place in a tick's list.
const PER_ERROR_MAX: u64 = 16;

/// Clients, and how their worker waits for them: in a receive, by epoll, by io_uring.
fn waits() -> Vec<(u32, Wait)> {
    let mut waits = vec![(1, Wait::Auto), (4, Wait::Epoll), (4, Wait::IoUring)];
    waits.retain(|(_, wait)| *wait != Wait::IoUring || io_uring_here::allowed());
    waits
}

/// Nothing is allocated but by ticks: at most in the request after each, and one for what is due at the window's end.
fn assert_steady(tally: &Tally) {
    assert!(tally.sent > 2_000, "{tally:?}");
    assert!(tally.with_allocations <= tally.ticks + 1, "{tally:?}");
}

/// Plays a job on the fake for a second.
fn a_second_on_fake(mut job: Job) -> Tally {
    job.stop = Stop {
        seconds: Some(1.0),
        ..Stop::default()
    };
    on_fake(&job)
}

#[test]
fn values_of_every_maker_on_the_fake_allocate_nothing() {
    let mut job = fake("values", r#"{"default_us": 100}"#);
    job.roles[0].stop = None;
    let tally = a_second_on_fake(job);
    assert!(tally.sent > 59_000);
    assert_steady(&tally);
}

#[test]
fn samples_in_every_protocol_on_the_fake_allocate_nothing() {
    let mut job = fake("sample", r#"{"default_us": 100}"#);
    job.roles[0].stop = None;
    let tally = a_second_on_fake(job);
    assert!(tally.sent > 19_000);
    assert_steady(&tally);
}

#[test]
fn inserts_tied_deletes_and_queries_on_the_fake_allocate_nothing() {
    let mut job = fake("qr100", r#"{"default_us": 100}"#);
    job.roles[0].pace = Pace::Closed {};
    job.roles[0].stop = None;
    job.cursors[0].resync_every = None;
    for (statement, protocol) in [(3, Protocol::Prepared), (4, Protocol::Extended)] {
        job.statements[statement].protocol = protocol;
        job.statements[statement].types.clear();
    }
    let tally = a_second_on_fake(job);
    assert!(tally.sent > 59_000);
    assert_steady(&tally);
}

#[test]
fn drawn_tables_and_numbered_rows_on_the_fake_allocate_nothing() {
    let mut job = fake("tables", r#"{"default_us": 100}"#);
    for role in &mut job.roles {
        role.stop = None;
    }
    let tally = a_second_on_fake(job);
    assert!(tally.sent > 59_000);
    assert_steady(&tally);
}

#[test]
fn transactions_that_sleep_allocate_nothing() {
    let mut job = fake("qr100", r#"{"default_us": 100, "cursor": {"tail": 1}}"#);
    (job.roles[0].pace, job.roles[0].stop) = (Pace::Closed {}, None);
    for program in &mut job.programs {
        program.name.push_str("-held");
        let send = program.code[0];
        program.code = vec![send, Instruction::Sleep(700), send];
    }
    (job.cursors[0].resync_every, job.cursors[0].queued) = (None, false);
    let tally = a_second_on_fake(job);
    assert_steady(&tally);
}

#[test]
fn scripts_that_compute_branch_and_pipeline_allocate_nothing() {
    for careful in [true, false] {
        let mut job = fake("script", r#"{"default_us": 100}"#);
        job.roles[0].stop = None;
        job.variables[9].initial = Some(Initial::Boolean(careful));
        assert_steady(&a_second_on_fake(job));
    }
}

#[test]
fn scripts_that_send_nothing_allocate_nothing() {
    let mut job = fake("script", r#"{"default_us": 100}"#);
    job.roles[0].stop = None;
    let mut quiet = job.roles[0].clone();
    quiet.name = "quiet".to_owned();
    quiet.choose[0].program = 1;
    job.roles.push(quiet);
    job.programs.push(Program {
        name: "quiet".to_owned(),
        code: vec![Instruction::Set(0), Instruction::Set(1)],
    });
    assert_steady(&a_second_on_fake(job));
}

/// What clients do together over sockets: so many, however long a busy machine takes.
const OPERATIONS: u32 = 2_400;

/// Point queries by a key that is drawn, in a protocol and pace.
fn points(protocol: &str, pace: &serde_json::Value, clients: u32) -> Job {
    let mut job = serde_json::to_value(example("l.i0")).unwrap();
    job["values"] =
        json!([{"name": "id", "format": "integer", "uniform": [1, 1000], "per": "statement"}]);
    job["statements"][0]["protocol"] = protocol.into();
    job["statements"][0]["pieces"] = json!(["SELECT c FROM t WHERE id = ", {"value": 0}]);
    job["statements"][0]["types"] = if protocol == "execute" {
        json!(["int4"])
    } else {
        json!([])
    };
    (job["clients"], job["tables"]) = (clients.into(), json!({"pi": 1}));
    job["roles"][0]["pace"] = pace.clone();
    job["roles"][0]["stop"] = json!({"operations": OPERATIONS / clients});
    job["roles"][0]["on_error"] = json!({"retry": ["40001"], "tries": 3, "otherwise": "count"});
    job["stop"] = json!({"roles": [job["roles"][0]["name"]]});
    serde_json::from_value(job).unwrap()
}

#[test]
fn statements_over_sockets_allocate_nothing() {
    let server = serve(0);
    let closed = json!({"kind": "closed"});
    let even = json!({"kind": "rate", "arrivals": "even", "per_s": 2000.0});
    let burst = json!({"kind": "rate", "arrivals": "burst", "per_s": 3000.0});
    for protocol in ["prepared", "simple", "extended", "execute"] {
        for (clients, wait) in waits() {
            for pace in [&closed, &even, &burst] {
                if pace == &closed || clients > 1 {
                    let job = points(protocol, pace, clients);
                    assert_steady(&on_server(&job, &server, wait));
                }
            }
        }
    }
}

#[test]
fn drawn_tables_over_sockets_allocate_nothing() {
    let server = serve(0);
    let closed = json!({"kind": "closed"});
    for protocol in ["prepared", "simple", "extended", "execute"] {
        for (clients, wait) in waits() {
            let mut job = points(protocol, &closed, clients);
            job.tables.insert("pi".to_owned(), 8);
            job.statements[0].pieces[0] = Piece::Table("pi".to_owned());
            job.roles[0].table = Some(TableUse {
                of: "pi".to_owned(),
                by: TableBy::Uniform,
            });
            job.check().unwrap();
            assert_steady(&on_server(&job, &server, wait));
        }
    }
}

#[test]
fn choices_by_deficit_of_statements_whose_notices_are_looked_at_allocate_nothing() {
    let server = serve(0);
    let closed = json!({"kind": "closed"});
    for (clients, wait) in waits() {
        let mut job = points("prepared", &closed, clients);
        job.statements[0].progress = Some("total: ".to_owned());
        let role = &mut job.roles[0];
        role.choice = ChoiceRule::Deficit;
        role.choose[0].weight = 3;
        role.choose.push(Choice {
            weight: 2,
            ..role.choose[0]
        });
        job.check().unwrap();
        assert_steady(&on_server(&job, &server, wait));
    }
}

#[test]
fn a_deck_and_think_times_allocate_nothing() {
    let server = serve(0);
    let closed = json!({"kind": "closed"});
    for (clients, wait) in waits() {
        let mut job = points("prepared", &closed, clients);
        let role = &mut job.roles[0];
        role.choice = ChoiceRule::Deck;
        role.choose[0].weight = 3;
        role.choose[0].before = Some(ThinkTime::Constant { us: 20 });
        role.choose.push(Choice {
            weight: 2,
            after: Some(ThinkTime::Exponential {
                mean_us: 50,
                max_us: 500,
            }),
            ..role.choose[0]
        });
        job.check().unwrap();
        assert_steady(&on_server(&job, &server, wait));
    }
}

/// The same on MySQL.
fn mysql_points(protocol: &str, pace: &serde_json::Value, clients: u32) -> Job {
    let mut job = points(protocol, pace, clients);
    job.engine = Engine::Mysql;
    job
}

#[test]
fn statements_on_mysql_allocate_nothing() {
    let server = mysql::serve(0);
    let closed = json!({"kind": "closed"});
    let even = json!({"kind": "rate", "arrivals": "even", "per_s": 2000.0});
    for protocol in ["prepared", "simple"] {
        for (clients, wait) in waits() {
            for pace in [&closed, &even] {
                if pace == &closed || clients > 1 {
                    let job = mysql_points(protocol, pace, clients);
                    assert_steady(&on_server(&job, &server, wait));
                }
            }
        }
    }
}

#[test]
fn an_error_allocates_its_text_and_no_more() {
    const EVERY: u32 = 50;
    let closed = json!({"kind": "closed"});
    for (server, points) in [
        (
            serve(EVERY),
            points as fn(&str, &serde_json::Value, u32) -> Job,
        ),
        (mysql::serve(EVERY), mysql_points),
    ] {
        errors_allocate_little(EVERY, &server, &|clients| {
            points("prepared", &closed, clients)
        });
    }
}

fn errors_allocate_little(every: u32, server: &Target, job: &dyn Fn(u32) -> Job) {
    for (clients, wait) in waits() {
        let tally = on_server(&job(clients), server, wait);
        let errors = tally.sent / u64::from(every);
        assert!(
            tally.with_allocations >= errors / 2,
            "errors there were: {tally:?}"
        );
        assert!(
            tally.with_allocations <= errors + tally.ticks + u64::from(clients),
            "{tally:?}"
        );
        assert!(tally.most <= PER_ERROR_MAX, "{tally:?}");
    }
}
