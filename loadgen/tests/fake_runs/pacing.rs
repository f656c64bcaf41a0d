//! When operations start: bursts, pairs, schedules, stalls, pauses, roles that wait for others.

use crate::harness::{Played, converse, fake, play};
use crate::{SECOND_NS, histograms, inserts, timed};
use dyno_loadgen::event::Event;
use dyno_loadgen::job::{Arrivals, Capture, Pace, RoleStop};
use dyno_loadgen::message::Command;

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
        [0, 0, 0, 99, 199, 0],
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
fn a_pause_shifts_the_seconds_and_what_follows_it_does_not_count() {
    let mut job = timed(r#"{"default_us": 20}"#, 5.0, 0.0);
    job.clients = 1;
    let script = [
        ("ready", Command::Go),
        ("started", Command::Pause),
        ("paused", Command::Resume),
        ("window_close", Command::Stop),
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
        ("ready", Command::Go),
        ("tick", Command::Pause),
        ("paused", Command::Resume),
        ("window_close", Command::Stop),
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
    let mut job = fake("cleanup", r#"{"default_us": 1}"#);
    job.capture = vec![Capture::Notices];
    let only_notices = play(&job).find(|event| match event {
        Event::Captured {
            columns,
            rows,
            notices,
            ..
        } => Some((columns.len(), rows.len(), notices.len())),
        _ => None,
    });
    assert_eq!(only_notices, (0, 0, 1));
}
