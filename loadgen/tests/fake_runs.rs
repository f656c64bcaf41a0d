//! Whole runs against the fake, where what is planted has an exact answer in the events.

mod harness;

use base64::Engine as _;
use dyno_loadgen::command::{Do, Message};
use dyno_loadgen::event::{Event, Status, Tick};
use dyno_loadgen::job::{
    Arrivals, Job, Maker, OnLost, Otherwise, Pace, Piece, RoleStop, Segment, Stop,
};
use harness::{Played, converse, fake, play, play_with};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

const SECOND_NS: u64 = 1_000_000_000;

/// One closed role of two clients, with a statement that is quick to make, that ends after a time.
fn timed(description: &str, seconds: f64, warmup_s: f64) -> Job {
    let mut job = fake("l.i0", description);
    job.roles[0].stop = None;
    job.statements[0].pieces = vec![Piece::Text("SELECT 1".to_owned())];
    job.stop = Stop {
        seconds: Some(seconds),
        warmup_s,
        ..Stop::default()
    };
    job
}

/// The same with so many operations for each client.
fn inserts(description: &str, operations: u64) -> Job {
    let mut job = timed(description, 1.0, 0.0);
    job.roles[0].stop = Some(RoleStop {
        operations: Some(operations),
    });
    job.stop = Stop {
        roles: vec!["insert".to_owned()],
        ..Stop::default()
    };
    job
}

/// The histograms of an operation over all ticks: response and service.
fn histograms(ticks: &[&Tick], operation: &str) -> [Histogram<u64>; 2] {
    let mut sums = [Histogram::new(3).unwrap(), Histogram::new(3).unwrap()];
    for tick in ticks {
        let operation = &tick.operations[operation];
        for (sum, text) in sums
            .iter_mut()
            .zip([&operation.response, &operation.service])
        {
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(text)
                .unwrap();
            let part: Histogram<u64> = Deserializer::new()
                .deserialize(&mut bytes.as_slice())
                .unwrap();
            sum.add(part).unwrap();
        }
    }
    sums
}

#[test]
fn planted_service_times_give_exact_throughput() {
    for (service_us, window_ns) in [(500, 2_000_000_000), (525, 2_100_000_000)] {
        let played = play(&inserts(
            &format!(r#"{{"default_us": {service_us}}}"#),
            4000,
        ));
        assert_eq!((played.status, played.active_ns()), (Status::Ok, window_ns));
        assert_eq!(played.totals("insert"), [8000, 800_000, 0, 0]);
        let counts = played.counts("insert");
        assert_eq!(counts.iter().sum::<u64>(), 8000);
        assert_eq!(
            counts[0],
            2 * (SECOND_NS / 1000 / service_us),
            "a whole second"
        );
        let [response, service] = histograms(&played.ticks("insert"), "insert");
        for histogram in [response, service] {
            assert_eq!((histogram.min(), histogram.max()), (service_us, service_us));
            assert_eq!(histogram.len(), 8000);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_events_and_another_seed_others() {
    let job = harness::example("fake");
    let events = |job: &Job| normal(&play(job));
    let first = events(&job);
    assert!(first.len() > 20);
    assert_eq!(first, events(&job));
    let mut other = job;
    other.seed += 1;
    assert_ne!(first, events(&other));
}

/// Events without what differs from run to run: times relative to the start, memory and the wall clock left out.
fn normal(played: &Played) -> Vec<String> {
    let start_ns = played.start_ns();
    let mut lines = Vec::new();
    for event in &played.events {
        let mut event = serde_json::to_value(event).unwrap();
        if matches!(event["event"].as_str(), Some("connected" | "ready")) {
            event["mono_ns"] = start_ns.into();
        }
        for key in ["unix_ns", "peak_rss_bytes"] {
            if let Some(value) = event.get_mut(key) {
                *value = 0.into();
            }
        }
        relative(&mut event, start_ns);
        lines.push(event.to_string());
    }
    lines
}

/// Makes every absolute time in an event relative.
fn relative(value: &mut serde_json::Value, start_ns: u64) {
    match value {
        serde_json::Value::Number(number) => {
            if let Some(time_ns) = number.as_u64().filter(|time_ns| *time_ns >= start_ns) {
                *value = (time_ns - start_ns).into();
            }
        }
        serde_json::Value::Array(list) => {
            list.iter_mut().for_each(|value| relative(value, start_ns))
        }
        serde_json::Value::Object(map) => {
            map.values_mut().for_each(|value| relative(value, start_ns))
        }
        _ => {}
    }
}

#[test]
fn the_examples_of_events_are_what_the_example_job_gives() {
    let played = play(&harness::example("fake"));
    let path = format!("{}/contract/events-fake.jsonl", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("DYNO_WRITE_EXAMPLES").is_some() {
        let hello = r#"{"event":"hello","mono_ns":1000000000,"protocol":1,"version":"0.1.0","commit":null,"profile":"release","pid":4711}"#;
        std::fs::write(&path, format!("{hello}\n{}\n", moved(&played).join("\n"))).unwrap();
    }
    let written: Vec<String> = harness::text("events-fake.jsonl")
        .lines()
        .skip(1)
        .map(str::to_owned)
        .collect();
    let events = written
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let written = Played {
        events,
        status: Status::Ok,
    };
    assert_eq!(
        normal(&written),
        normal(&played),
        "DYNO_WRITE_EXAMPLES=1 cargo test writes them anew"
    );
}

/// Events as if the step had started ten seconds after the machine.
fn moved(played: &Played) -> Vec<String> {
    let start_ns = played.start_ns();
    let events = played.events.iter().map(|event| {
        let mut event: serde_json::Value = serde_json::to_value(event).unwrap();
        let early = matches!(event["event"].as_str(), Some("connected" | "ready"));
        if early {
            event["mono_ns"] = start_ns.into();
        }
        fn shift(value: &mut serde_json::Value, start_ns: u64) {
            match value {
                serde_json::Value::Number(number) => {
                    if let Some(time_ns) = number.as_u64().filter(|time_ns| {
                        *time_ns >= start_ns && *time_ns < 2 * start_ns + (1 << 50)
                    }) {
                        *value = (time_ns - start_ns + 10 * SECOND_NS).into();
                    }
                }
                serde_json::Value::Array(list) => {
                    list.iter_mut().for_each(|value| shift(value, start_ns))
                }
                serde_json::Value::Object(map) => {
                    map.values_mut().for_each(|value| shift(value, start_ns))
                }
                _ => {}
            }
        }
        shift(&mut event, start_ns);
        if event.get("unix_ns").is_some() {
            event["unix_ns"] = 1_760_000_000_000_000_000_u64.into();
        }
        if event.get("peak_rss_bytes").is_some() {
            event["peak_rss_bytes"] = 18_000_000.into();
        }
        let typed: Event = serde_json::from_value(event).unwrap();
        serde_json::to_string(&typed).unwrap()
    });
    events.collect()
}

#[test]
fn bursts_come_one_first_and_then_ceil_of_the_rate() {
    let mut job = fake("qr100", r#"{"default_us": 100, "cursor": {"tail": 1}}"#);
    job.roles[0].stop = Some(RoleStop {
        operations: Some(9),
    });
    let played = play(&job);
    assert_eq!(
        played.counts("insert"),
        [2, 4, 4, 4, 4],
        "two clients: 1, then 2 each second"
    );
    assert_eq!(played.counts("delete"), [2, 4, 4, 4, 4]);
    assert_eq!(played.totals("insert")[0], played.totals("delete")[0]);
    let queries: u64 = played.counts("query").iter().sum();
    assert_eq!(
        queries + 2,
        played.totals("query")[0],
        "two were in flight at the end"
    );
    assert!(
        (79_900..=80_200).contains(&queries),
        "{queries}: 10,000 a second and client in 4 s"
    );
}

#[test]
fn a_closed_pair_goes_as_fast_as_its_slower_half() {
    let description = r#"{"service_us": {"insert": 500, "delete": 1000}, "default_us": 1, "cursor": {"tail": 0}}"#;
    let mut job = fake("l.i1", description);
    job.roles[0].stop = Some(RoleStop {
        operations: Some(3000),
    });
    let played = play(&job);
    assert_eq!(
        (played.totals("insert")[0], played.totals("delete")[0]),
        (6000, 6000)
    );
    assert!(
        (2_999_000_000..3_005_000_000).contains(&played.active_ns()),
        "{}",
        played.active_ns()
    );
    let (mut inserted, mut deleted) = (0, 0);
    for (insert, delete) in played.ticks("insert").iter().zip(played.ticks("delete")) {
        inserted += insert.per_client[0][0];
        deleted += delete.per_client[0][0];
        assert!(
            inserted.abs_diff(deleted) <= 8 + 1,
            "{inserted} and {deleted}"
        );
    }
}

#[test]
fn a_stall_shows_in_the_response_of_paced_roles_and_not_in_their_service() {
    let mut job = inserts(
        r#"{"default_us": 500, "stalls": [{"at_s": 3, "for_s": 2}]}"#,
        1000,
    );
    job.clients = 1;
    let pace = |arrivals| Pace::Rate {
        arrivals,
        per_s: 100.0,
    };
    job.roles[0].pace = pace(Arrivals::Even);
    let played = play(&job);
    let [response, service] = histograms(&played.ticks("insert"), "insert");
    assert_eq!(
        (service.value_at_quantile(0.99), service.max() / 1_000_000),
        (500, 2)
    );
    let p99_us = response.value_at_quantile(0.99);
    assert!(
        (1_890_000..2_010_000).contains(&p99_us),
        "{p99_us}: 200 of 1000 waited up to 2 s"
    );
    assert!((1_990_000..2_001_000).contains(&response.max()));
    let late_us = played
        .ticks("insert")
        .iter()
        .map(|tick| tick.late_us_max)
        .max()
        .unwrap();
    assert!((1_980_000..2_000_000).contains(&late_us), "{late_us}");
    let backlogs: Vec<_> = played
        .ticks("insert")
        .iter()
        .map(|tick| tick.backlog)
        .collect();
    assert_eq!(
        backlogs[..6],
        [1, 1, 1, 100, 200, 1],
        "due at the end of each second; the stall begins with the fourth"
    );
    let seconds = played.active_ns() as f64 / 1e9;
    assert!((9.99..10.0).contains(&seconds), "{seconds}: it catches up");
    // The published pacing does not catch up: 0.1 s of work a second leaves what the stall took undone for good.
    job.roles[0].pace = pace(Arrivals::Burst);
    let seconds = play(&job).active_ns() as f64 / 1e9;
    assert!((11.0..13.0).contains(&seconds), "{seconds}");
}

#[test]
fn a_timed_window_opens_after_the_warm_up_and_does_not_count_what_is_in_flight() {
    let played = play(&timed(r#"{"default_us": 300}"#, 3.0, 1.5));
    let open_ns = played.find(|event| match event {
        Event::WindowOpen { mono_ns } => Some(*mono_ns),
        _ => None,
    });
    assert_eq!(open_ns - played.start_ns(), 1_500_000_000);
    assert_eq!(played.active_ns(), 3 * SECOND_NS);
    assert_eq!(
        played.counts("insert"),
        [6666, 6666, 6668],
        "3,333.3 a second and client"
    );
    let numbers: Vec<_> = played
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Tick(tick) => Some((tick.tick, tick.active_ns / 1_000_000, tick.measured)),
            _ => None,
        })
        .collect();
    assert_eq!(
        numbers,
        [
            (-1, 500, false),
            (0, 1000, false),
            (1, 1000, true),
            (2, 1000, true),
            (3, 1000, true)
        ]
    );
    assert_eq!(
        played.totals("insert")[0],
        30_002,
        "with the warm-up and the two in flight"
    );
}

#[test]
fn a_pause_shifts_the_seconds_and_what_follows_it_does_not_count() {
    let mut job = timed(r#"{"default_us": 20}"#, 5.0, 0.0);
    job.clients = 1;
    let script = [
        ("ready", Do::Go),
        ("started", Do::Pause),
        ("paused", Do::Resume),
        ("window_close", Do::Stop),
    ];
    let played = converse(&job, &script);
    let mut job = job.clone();
    job.autostart = true;
    let straight = play(&job);
    let time = |name: &str, played: &Played| {
        played.find(|event| match (event, name) {
            (Event::Paused { mono_ns }, "paused")
            | (Event::Resumed { mono_ns }, "resumed")
            | (Event::WindowClose { mono_ns, .. }, "close") => Some(*mono_ns - played.start_ns()),
            _ => None,
        })
    };
    let (paused_ns, resumed_ns) = (time("paused", &played), time("resumed", &played));
    assert_eq!(resumed_ns - paused_ns, SECOND_NS, "the fake's pause");
    let active_ns = played.active_ns();
    assert_eq!(active_ns, 5 * SECOND_NS);
    assert_eq!(
        time("close", &played) - active_ns,
        SECOND_NS + 200_000_000,
        "the pause and what settles"
    );
    let counted: u64 = played.counts("insert").iter().sum();
    let expected = active_ns / 20_000;
    assert!(
        counted.abs_diff(expected) <= 2,
        "{counted} in {active_ns} ns"
    );
    assert_eq!(straight.counts("insert").iter().sum::<u64>(), 250_000);
}

#[test]
fn a_paused_schedule_goes_on_where_it_was() {
    let mut job = timed(r#"{"default_us": 100}"#, 80.0, 0.0);
    job.clients = 1;
    job.roles[0].pace = Pace::Rate {
        arrivals: Arrivals::Even,
        per_s: 5000.0,
    };
    let script = [
        ("ready", Do::Go),
        ("tick", Do::Pause),
        ("paused", Do::Resume),
        ("window_close", Do::Stop),
    ];
    let played = converse(&job, &script);
    assert!(
        played
            .events
            .iter()
            .any(|event| matches!(event, Event::Resumed { .. }))
    );
    let [response, _] = histograms(&played.ticks("insert"), "insert");
    assert_eq!(
        response.max(),
        100,
        "no operation is late because of the pause"
    );
}

#[test]
fn an_error_that_may_be_tried_again_is_and_shows() {
    let description =
        r#"{"default_us": 500, "errors": [{"statement": "insert", "every": 10, "code": "40001"}]}"#;
    let played = play(&inserts(description, 900));
    assert_eq!(played.status, Status::Ok);
    let [count, rows, errors, retries] = played.totals("insert");
    assert_eq!((count, rows), (1800, 180_000));
    assert_eq!(
        (errors, retries),
        (199, 199),
        "each tenth of 1,999 executions"
    );
    let in_ticks: u64 = played
        .ticks("insert")
        .iter()
        .map(|tick| tick.operations["insert"].errors["40001"])
        .sum();
    assert_eq!(in_ticks, 199);
    let written = played
        .events
        .iter()
        .filter(|event| matches!(event, Event::Error { fatal: false, .. }));
    assert_eq!(written.count(), 20, "no more of a kind are written");
    let [response, service] = histograms(&played.ticks("insert"), "insert");
    assert_eq!(
        (response.max(), service.max()),
        (1000, 1000),
        "both tries count for the operation's time"
    );
}

#[test]
fn another_error_fails_the_step_or_is_counted() {
    let description =
        r#"{"default_us": 500, "errors": [{"statement": "insert", "every": 10, "code": "23505"}]}"#;
    let mut job = inserts(description, 900);
    let played = play(&job);
    assert_eq!(played.status, Status::Failed);
    assert!(
        played.reason().unwrap().contains("23505"),
        "{:?}",
        played.reason()
    );
    let fatal = played
        .events
        .iter()
        .position(|event| matches!(event, Event::Error { fatal: true, .. }));
    let close = played
        .events
        .iter()
        .position(|event| matches!(event, Event::WindowClose { .. }));
    assert!(fatal.unwrap() < close.unwrap());
    assert_eq!(
        played.totals("insert")[0],
        9 + 1,
        "and what was in flight is drained"
    );
    job.roles[0].on_error.otherwise = Otherwise::Count;
    let played = play(&job);
    assert_eq!(played.status, Status::Ok);
    assert_eq!(played.totals("insert"), [1620, 162_000, 180, 0]);
    let [response, _] = histograms(&played.ticks("insert"), "insert");
    assert_eq!(
        response.len(),
        1620,
        "a failed operation enters no histogram"
    );
}

#[test]
fn a_lost_connection_fails_the_step_or_is_made_anew() {
    let mut job = inserts(r#"{"default_us": 500, "lost_at_s": 0.75}"#, 4000);
    let played = play(&job);
    assert_eq!(played.status, Status::Failed);
    assert!(
        played.reason().unwrap().contains("lost"),
        "{:?}",
        played.reason()
    );
    job.roles[0].on_lost = OnLost::Reconnect;
    let played = play(&job);
    assert_eq!(played.status, Status::Ok);
    assert_eq!(
        played.totals("insert"),
        [7998, 799_800, 2, 0],
        "one operation each was lost"
    );
    let pids: std::collections::BTreeSet<_> = played
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Connected { server_pid, .. } => Some(*server_pid),
            _ => None,
        })
        .collect();
    assert_eq!(pids.len(), 4, "two and two anew");
}

#[test]
fn a_transaction_is_timed_as_a_whole_and_each_statement_too() {
    let description = r#"{"service_us": {"insert": 1000, "marketsegment": 2000, "registersegment": 3000, "pdc": 4000}, "default_us": 1}"#;
    let played = play(&fake("l.x", description));
    let ticks = played.ticks("index");
    assert_eq!(ticks.len(), 1);
    let times: Vec<_> = ticks[0]
        .operations
        .iter()
        .map(|(name, operation)| (name.as_str(), operation.count, operation.max_us))
        .collect();
    assert_eq!(
        times,
        [
            ("insert", 2, 1000),
            ("insert-and-index", 2, 10_000),
            ("marketsegment", 2, 2000),
            ("pdc", 2, 4000),
            ("registersegment", 2, 3000)
        ]
    );
    assert_eq!(ticks[0].per_client, [[1, 100, 0, 10_000]; 2]);
    let traced = played.events.iter().filter(|event| {
        matches!(event, Event::Operation { operation, rows: 100, error: None, .. } if operation == "insert-and-index")
    });
    assert_eq!(traced.count(), 2);
}

#[test]
fn a_role_begins_after_others_have_ended_everywhere() {
    let played = play(&fake(
        "cleanup",
        r#"{"service_us": {"vacuum": 1500000, "checkpoint": 700000}, "default_us": 1}"#,
    ));
    let operations: Vec<_> = played
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Operation {
                role,
                due_ns,
                end_ns,
                ..
            } => {
                let since = |time_ns: &u64| (time_ns - played.start_ns()) / 1_000_000;
                Some((role.as_str(), since(due_ns), since(end_ns)))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        operations,
        [
            ("vacuum", 0, 1500),
            ("vacuum", 0, 1500),
            ("checkpoint", 1500, 2200)
        ]
    );
    assert_eq!(played.active_ns(), 2_200_000_000);
    let captured = played
        .events
        .iter()
        .filter(|event| matches!(event, Event::Captured { .. }));
    assert_eq!(captured.count(), 3);
}

#[test]
fn a_hard_limit_stops_a_step_and_says_so() {
    let mut job = inserts(r#"{"default_us": 500}"#, 1_000_000);
    job.stop.seconds_max = Some(2.5);
    let played = play(&job);
    assert_eq!(
        (played.status, played.active_ns()),
        (Status::Stopped, 2_500_000_000)
    );
    assert!(played.reason().unwrap().contains("seconds_max"));
    assert_eq!(played.counts("insert"), [4000, 4000, 2000]);
    let ends = played.find(|event| match event {
        Event::WindowClose { clients_end_ns, .. } => Some(clients_end_ns.clone()),
        _ => None,
    });
    assert_eq!(ends, [None, None], "no client has done its quota");
}

#[test]
fn a_stop_or_the_end_of_the_input_ends_the_step_early() {
    let job = timed(r#"{"default_us": 20}"#, 100_000.0, 0.0);
    let played = converse(&job, &[("ready", Do::Go), ("tick", Do::Stop)]);
    assert_eq!(played.status, Status::Stopped);
    let mut job = job;
    job.autostart = false;
    let played = play_with(&job, [Message::Command(Do::Go), Message::InputEnded]);
    assert_eq!(played.status, Status::Stopped);
    let played = play_with(&job, [Message::Signal]);
    assert_eq!(played.status, Status::Stopped);
    assert!(played.reason().unwrap().starts_with("stopped"));
    job.autostart = true;
    job.stop.seconds = Some(2.0);
    let played = play_with(&job, [Message::InputEnded]);
    assert_eq!(
        (played.status, played.active_ns()),
        (Status::Ok, 2 * SECOND_NS),
        "it minds signals only"
    );
}

#[test]
fn the_window_stays_open_for_slower_clients_and_queries_stop_with_their_own() {
    let mut job = fake(
        "qr100",
        r#"{"service_us": {"insert": 900}, "default_us": 100, "jitter": 0.5, "cursor": {"tail": 1}}"#,
    );
    job.roles[0].pace = Pace::Closed {};
    job.roles[0].stop = Some(RoleStop {
        operations: Some(3000),
    });
    let played = play(&job);
    let (ended, clients) = played.find(|event| match event {
        Event::WindowClose {
            ended,
            clients_end_ns,
            ..
        } => Some((ended.clone(), clients_end_ns.clone())),
        _ => None,
    });
    for client in 0..2 {
        let pair = ended["insert"][client].max(ended["delete"][client]);
        assert_eq!(clients[client], pair);
        let query = ended["query"][client].unwrap();
        assert!(
            query.abs_diff(pair.unwrap()) < 400_000,
            "the last query was in flight"
        );
    }
    let spread = clients[0].unwrap().abs_diff(clients[1].unwrap());
    assert!(spread > 1_000_000, "{spread} ns");
}

#[test]
fn segments_together_do_what_one_process_does() {
    let mut job = inserts(r#"{"default_us": 500, "jitter": 0.1}"#, 500);
    job.clients = 4;
    let whole = play(&job);
    let parts: Vec<_> = (0..2)
        .map(|index| {
            job.segment = Segment { index, of: 2 };
            play(&job)
        })
        .collect();
    let last = |played: &Played, client: usize| {
        played.find(|event| match event {
            Event::WindowClose { ended, .. } => {
                Some(ended["insert"][client].map(|end_ns| end_ns - played.start_ns()))
            }
            _ => None,
        })
    };
    for client in 0..4 {
        assert_eq!(last(&parts[client % 2], client), last(&whole, client));
        assert_eq!(last(&parts[1 - client % 2], client), None);
    }
}

#[test]
fn a_fill_reports_rows_each_second() {
    let played = play(&fake(
        "fill",
        r#"{"service_us": {"row": 10}, "default_us": 1}"#,
    ));
    assert_eq!(
        (played.status, played.active_ns()),
        (Status::Ok, 10 * SECOND_NS)
    );
    assert_eq!(played.counts("fill"), [200_000; 10]);
    assert_eq!(played.totals("fill"), [2_000_000, 2_000_000, 0, 0]);
}

#[test]
fn clocks_and_bounds_by_cursors_are_the_only_values_that_time_changes() {
    // The choice of programs follows from the seed alone: service times do not matter.
    let counts = |service_us: u64| {
        let mut job = fake("qr100", &format!(r#"{{"default_us": {service_us}}}"#));
        job.roles.drain(..2);
        job.roles[0].stop = Some(RoleStop {
            operations: Some(3000),
        });
        job.stop.roles = vec!["query".to_owned()];
        let played = play(&job);
        let ticks = played.ticks("query");
        let count = |name: &str| {
            ticks
                .iter()
                .map(|tick| tick.operations[name].count)
                .sum::<u64>()
        };
        [count("market"), count("register"), count("pdc")]
    };
    let counted = counts(100);
    assert_eq!(counted, counts(777));
    assert_eq!(counted.iter().sum::<u64>(), 6000);
    assert!(
        counted.iter().all(|count| (1880..2120).contains(count)),
        "{counted:?}"
    );
    assert!(matches!(
        harness::example("qr100").values[0].maker,
        Maker::Clock
    ));
}
