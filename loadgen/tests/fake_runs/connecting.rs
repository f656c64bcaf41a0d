//! A connection for each operation, on the virtual clock, where opening one takes a millisecond.

use crate::harness::{Played, play};
use crate::{inserts, timed};
use dyno_loadgen::event::{ConnectsTick, Event, Status, SumsTick};
use dyno_loadgen::job::{Arrivals, Connect, Job, Pace};

/// One client whose operations have a connection each.
fn connecting(mut job: Job) -> Job {
    job.clients = 1;
    job.roles[0].connect = Connect::Each;
    job
}

/// The only tick's connections and sums.
fn only(played: &Played) -> (ConnectsTick, SumsTick) {
    let [tick] = played.ticks("insert")[..] else {
        panic!("one tick")
    };
    let sums = tick.operations["insert"].sums_us.unwrap();
    (**tick.connects.as_ref().unwrap(), sums)
}

#[test]
fn in_a_closed_pace_an_operation_is_due_when_its_connection_is_there() {
    let played = play(&connecting(inserts(r#"{"default_us": 500}"#, 400)));
    assert_eq!(
        (played.status, played.active_ns()),
        (Status::Ok, 600_000_000)
    );
    assert_eq!(played.totals("insert"), [400, 40_000, 0, 0]);
    let (connects, sums) = only(&played);
    let expected = ConnectsTick {
        count: 400,
        sum_us: 400_000,
        max_us: 1000,
    };
    assert_eq!(connects, expected);
    let text = format!("{:?} {:?}", sums.response, sums.late);
    assert_eq!(text, "[200000.0, 100000000.0] [0.0, 0.0]");
    let connected = |event: &Event| matches!(event, Event::Connected { .. });
    assert!(
        !played.events.iter().any(connected),
        "thousands would be no use to anybody"
    );
}

#[test]
fn at_a_rate_a_response_time_counts_from_the_schedule_and_has_the_opening_in_it() {
    let mut job = connecting(inserts(r#"{"default_us": 500}"#, 50));
    job.roles[0].pace = Pace::Rate {
        arrivals: Arrivals::Even,
        per_s: 100.0,
    };
    let (connects, sums) = only(&play(&job));
    assert_eq!((connects.count, connects.sum_us), (50, 50_000));
    let text = format!("{:?} {:?}", sums.response, sums.service);
    assert_eq!(text, "[75000.0, 112500000.0] [25000.0, 12500000.0]");
}

#[test]
fn an_operation_that_is_tried_again_keeps_its_connection_and_a_window_ends_while_one_is_opened() {
    let description =
        r#"{"default_us": 500, "errors": [{"statement": "insert", "every": 2, "code": "40001"}]}"#;
    let played = play(&connecting(timed(description, 1.0, 0.0)));
    assert_eq!(played.status, Status::Ok, "{:?}", played.reason());
    let (connects, _) = only(&played);
    let [count, ..] = played.totals("insert");
    // All but the first take two tries, 2 ms each with their connection. One is opened as the window ends; its first try
    // fails, and there is no other.
    assert_eq!((connects.count, count), (500, 500));
}
