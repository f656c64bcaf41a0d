//! Errors, and how a step ends.

use crate::harness::{Played, converse, fake, play, play_with};
use crate::{SECOND_NS, histograms, inserts, timed};
use dyno_loadgen::event::{Event, Status};
use dyno_loadgen::job::{OnLost, Otherwise, Pace, RoleStop};
use dyno_loadgen::message::{Command, Message};

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

/// What the window's close says of a step that does not end as its job says.
fn early(played: &Played) -> Option<Status> {
    played.find(|event| match event {
        Event::WindowClose { status, .. } => Some(*status),
        _ => None,
    })
}

#[test]
fn another_error_fails_the_step_or_is_counted() {
    let description =
        r#"{"default_us": 500, "errors": [{"statement": "insert", "every": 10, "code": "23505"}]}"#;
    let mut job = inserts(description, 900);
    let played = play(&job);
    assert_eq!(
        (played.status, early(&played)),
        (Status::Failed, Some(Status::Failed))
    );
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
    assert_eq!((played.status, early(&played)), (Status::Ok, None));
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
fn a_hard_limit_stops_a_step_and_says_so() {
    let mut job = inserts(r#"{"default_us": 500}"#, 1_000_000);
    job.stop.seconds_max = Some(2.5);
    let played = play(&job);
    assert_eq!(
        (played.status, played.active_ns()),
        (Status::Stopped, 2_500_000_000)
    );
    assert_eq!(early(&played), Some(Status::Stopped));
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
    let played = converse(&job, &[("ready", Command::Go), ("tick", Command::Stop)]);
    assert_eq!(played.status, Status::Stopped);
    let mut job = job;
    job.autostart = false;
    let played = play_with(&job, [Message::Command(Command::Go), Message::InputEnded]);
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
