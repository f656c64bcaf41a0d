//! Many connections in one generator: what each costs in memory, and how threads share them.

use crate::io_uring_here;
use crate::process::Generator;
use crate::programs::{NullServer, by_connection, done, run};
use dyno_loadgen::event::{Event, Status, Way};
use serde_json::{Value, json};

/// Many connections, far more than anybody has threads for.
const MANY: u64 = 2000;
const FEW: u64 = 8;

/// What a connection may take in the generator.
const BYTES_PER_CONNECTION_MAX: u64 = 64 << 10;

/// Single-row queries by that many connections for a short time.
fn points(server: &NullServer, connections: u64, threads: u32) -> Value {
    let mut job = server.job("l.i0");
    job["threads"] = threads.into();
    job["clients"] = 1.into();
    job["values"] =
        json!([{"name": "id", "per": "item", "format": "integer", "uniform": [1, 1_000_000]}]);
    job["statements"] = json!([{"name": "point", "protocol": "prepared", "types": [], "rows": 1,
        "pieces": ["SELECT c FROM ", {"table": "pi"}, " WHERE id=", {"value": 0}]}]);
    job["programs"] = json!([{"name": "point", "code": [["send", 0]]}]);
    let role = &mut job["roles"][0];
    (role["name"], role["per"]) = ("point".into(), "step".into());
    role["table"]["by"] = "by_connection".into();
    role["connections"] = connections.into();
    role["stop"] = Value::Null;
    job["stop"] = json!({"roles": [], "seconds": 0.3, "warmup_s": 0.0, "seconds_max": null});
    job
}

#[test]
fn each_thread_says_how_it_waited() {
    let server = NullServer::start();
    let by_many = if io_uring_here::allowed() {
        Way::IoUring
    } else {
        Way::Epoll
    };
    for (connections, wait, way) in [
        (1, "auto", Way::Receive),
        (3, "auto", Way::Epoll),
        (8, "auto", by_many),
        (8, "epoll", Way::Epoll),
        (2, "io_uring", Way::IoUring),
    ] {
        if wait == "io_uring" && by_many != way {
            continue;
        }
        let mut job = points(&server, connections, 1);
        job["wait"] = wait.into();
        let ended = run(&job);
        let [thread] = done(&ended).threads else {
            panic!("one thread")
        };
        assert_eq!(thread.wait, Some(way), "{connections} connections, {wait}");
        let refused = wait == "auto" && connections == 8 && way == Way::Epoll;
        assert_eq!(thread.io_uring_refused.is_some(), refused);
    }
}

#[test]
fn two_thousand_connections_need_little_memory_and_no_more_threads() {
    let server = NullServer::start();
    let [few, many] = [FEW, MANY].map(|connections| {
        let mut job = points(&server, connections, 1);
        job["autostart"] = false.into();
        let mut generator = Generator::start(&job);
        generator.until("ready");
        generator.command("go");
        generator.until("window_close");
        let threads = generator.threads();
        generator.command("stop");
        let ended = generator.end();
        let done = done(&ended);
        assert_eq!((done.status, done.reason), (Status::Ok, None));
        assert!(
            done.totals["point"].count >= connections,
            "each has sent something"
        );
        (done.peak_rss_bytes, threads)
    });
    let each = many.0.saturating_sub(few.0) / (MANY - FEW);
    assert!(each < BYTES_PER_CONNECTION_MAX, "{each} bytes a connection");
    assert_eq!(many.1, few.1, "threads");
}

#[test]
fn five_thousand_connections_are_served_alike_by_both_ways_from_the_first_request_on() {
    const CROWD: u64 = 5000;
    for wait in ["epoll", "io_uring"] {
        if wait == "io_uring" && !io_uring_here::allowed() {
            continue;
        }
        let server = NullServer::start();
        let mut job = points(&server, CROWD, 1);
        (job["wait"], job["clients"]) = (wait.into(), CROWD.into());
        let role = &mut job["roles"][0];
        (role["per"], role["connections"]) = ("client".into(), 1.into());
        job["stop"]["seconds"] = 1.0.into();
        let ended = run(&job);
        let mut counts = vec![0; usize::try_from(CROWD).unwrap()];
        for event in &ended.events {
            if let Event::Tick(tick) = event {
                let clients = counts.iter_mut().zip(&tick.per_client);
                clients.for_each(|(count, client)| *count += client[0]);
            }
        }
        let [fewest, most] =
            [counts.iter().min(), counts.iter().max()].map(|count| *count.unwrap());
        assert!(
            fewest * 2 + 2 >= most,
            "{wait}: one connection had {fewest} answers, another {most}"
        );
    }
}

#[test]
fn more_connections_than_descriptors_are_refused_before_the_first() {
    let server = NullServer::start();
    let ended = Generator::limited(&points(&server, MANY, 1), 500).end();
    let done = done(&ended);
    assert_eq!(done.status, Status::Failed);
    let reason = done.reason.unwrap();
    assert!(
        reason.starts_with("2000 connections are more than this process may open"),
        "{reason}"
    );
    assert!(
        reason.contains("its limit of open files is 500"),
        "{reason}"
    );
    assert_eq!(ended.events.len(), 2, "hello and done");
}

#[test]
fn threads_have_the_same_connections_and_operations_each() {
    const THREADS: u32 = 3;
    const QUOTA: u64 = 30_000;
    let server = NullServer::start();
    let mut job = points(&server, 300, THREADS);
    job["roles"][0]["stop"] = json!({"operations": QUOTA});
    job["stop"] =
        json!({"roles": ["point"], "seconds": null, "warmup_s": 0.0, "seconds_max": null});
    job["trace"] = true.into();
    let ended = run(&job);
    let threads = done(&ended).threads;
    assert_eq!(threads.len(), THREADS as usize);
    assert!(
        threads.iter().all(|thread| thread.cpu_us > 0),
        "{threads:?}"
    );
    let counts = by_connection(&ended, "point");
    assert_eq!(counts.len(), 300);
    assert!(
        counts.values().all(|count| *count == QUOTA / 300),
        "{counts:?}"
    );
}
