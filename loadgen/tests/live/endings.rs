//! Signals, pauses, killed backends: how a step goes on or ends.

use crate::generator::{number, pids, selects, server};
use crate::process::{Ended, Generator, run};
use crate::server::Server;
use dyno_loadgen::event::{Event, Status};
use rustix::process::{Signal, kill_process};
use serde_json::json;
use std::time::{Duration, Instant};

/// How long anything may take that ends by itself: much, as the machine may be busy, and less than statements sleep here.
const SOON: Duration = Duration::from_secs(30);

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
            assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
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
    assert!(asked.elapsed() < SOON);
    assert_eq!(ended.done().0, Status::Stopped);
    assert_nothing_goes_on(&server, &ended);
}

/// Soon none of the generator's sessions is active in the server any more.
fn assert_nothing_goes_on(server: &Server, ended: &Ended) {
    let until = Instant::now() + SOON;
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid IN {}",
        pids(&ended.events)
    );
    while number(server, &sql) > 0 {
        assert!(Instant::now() < until, "a statement goes on in the server");
    }
}

#[test]
fn what_else_was_in_flight_when_a_step_failed_does_not_go_on_in_the_server() {
    let Some(server) = server() else { return };
    for clients in [1, 4] {
        let mut job = selects(&server, clients, 600.0);
        job["statements"][0]["pieces"] = json!(["SELECT pg_sleep(60)"]);
        let mut failing = job["statements"][0].clone();
        (failing["name"], failing["pieces"]) = ("failing".into(), json!(["SELECT 1 / 0"]));
        job["statements"].as_array_mut().unwrap().push(failing);
        let program = json!({"name": "failing", "code": [["send", 1]]});
        job["programs"].as_array_mut().unwrap().push(program);
        let mut role = job["roles"][0].clone();
        (role["name"], role["per"]) = ("failing".into(), "step".into());
        role["choose"] = json!([{"program": 1, "weight": 1}]);
        role["pace"] = json!({"kind": "rate", "arrivals": "even", "per_s": 2.0});
        job["roles"].as_array_mut().unwrap().push(role);
        job["stop"]["drain_s_max"] = 0.3.into();
        let ended = run(&job);
        let (status, reason, _) = ended.done();
        assert_eq!(status, Status::Failed);
        let reason = reason.unwrap();
        assert!(reason.contains("division by zero"), "{reason}");
        assert!(!reason.contains("may go on"), "{reason}");
        assert_nothing_goes_on(&server, &ended);
    }
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
