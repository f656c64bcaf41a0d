//! Programs that sleep: how long, what it counts as, and when it ends before its time.

use crate::harness::{Played, play, play_with_a_pause};
use crate::{SECOND_NS, timed};
use dyno_loadgen::event::{Event, Status};
use dyno_loadgen::job::{Instruction, Job, OnLost, Piece, Program};

/// Two clients that hold a transaction of three statements open for so long, again and again.
fn holding(description: &str, seconds: f64, sleep_us: usize) -> Job {
    let mut job = timed(description, seconds, 0.0);
    for name in ["begin", "commit"] {
        let mut statement = job.statements[0].clone();
        name.clone_into(&mut statement.name);
        statement.pieces = vec![Piece::Text(name.to_uppercase())];
        job.statements.push(statement);
    }
    "held".clone_into(&mut job.programs[0].name);
    job.programs[0].code = vec![
        Instruction::Send(1),
        Instruction::Send(0),
        Instruction::Sleep(sleep_us),
        Instruction::Send(2),
    ];
    job
}

/// The longest response of an operation in the window.
fn longest_us(played: &Played, operation: &str) -> u64 {
    let ticks = played.ticks("insert");
    let longest = ticks.iter().map(|tick| tick.operations[operation].max_us);
    longest.max().unwrap()
}

#[test]
fn a_sleep_is_part_of_the_transactions_time_and_of_no_statements() {
    let played = play(&holding(r#"{"default_us": 1000}"#, 10.2, 200_000));
    assert_eq!(played.status, Status::Ok);
    let counted: u64 = played.counts("insert").iter().sum();
    assert_eq!(counted, 2 * 50, "one in 203 ms for each client");
    assert_eq!(longest_us(&played, "held"), 203_000);
    for statement in ["begin", "insert", "commit"] {
        assert_eq!(longest_us(&played, statement), 1000, "{statement}");
    }
    assert_eq!(played.ticks("insert")[0].late_us_max, 0);
}

/// The same beside connections that are quick and never sleep.
fn beside_others(seconds: f64) -> Job {
    let mut job = holding(r#"{"default_us": 1000}"#, seconds, 3_600_000_000);
    let mut other = job.roles[0].clone();
    "other".clone_into(&mut other.name);
    other.choose[0].program = 1;
    job.roles.push(other);
    job.programs.push(Program {
        name: "quick".to_owned(),
        code: vec![Instruction::Send(0)],
    });
    job
}

#[test]
fn others_on_the_thread_go_on_meanwhile() {
    let played = play(&beside_others(10.0));
    let counted: u64 = played.counts("other").iter().sum();
    assert!((2 * 9_999..=2 * 10_000).contains(&counted), "{counted}");
    let ticks = played.ticks("other");
    let slowest = ticks.iter().map(|tick| tick.operations["insert"].max_us);
    assert_eq!(slowest.max(), Some(1000));
}

#[test]
fn the_steps_end_ends_a_sleep_and_the_rest_of_the_program_is_done() {
    let played = play(&holding(r#"{"default_us": 1000}"#, 5.0, 3_600_000_000));
    assert_eq!(played.status, Status::Ok);
    assert_eq!(played.active_ns(), 5 * SECOND_NS);
    assert_eq!(
        played.totals("insert")[0],
        2,
        "each transaction was committed"
    );
    assert_eq!(
        played.counts("insert").iter().sum::<u64>(),
        0,
        "after the window"
    );
    let (closed, done) = (
        played.find(|event| match event {
            Event::WindowClose { mono_ns, .. } => Some(*mono_ns),
            _ => None,
        }),
        played.find(|event| match event {
            Event::Done { mono_ns, .. } => Some(*mono_ns),
            _ => None,
        }),
    );
    assert!(done - closed < SECOND_NS, "{} ns", done - closed);
}

#[test]
fn a_pause_ends_a_sleep_and_comes_at_once() {
    // The others take the machine a while, so that the command comes before the end.
    let job = beside_others(60.0);
    let played = play_with_a_pause(&job);
    assert_eq!(played.status, Status::Ok);
    let whole = (played.paused_ns() - played.start_ns()) % SECOND_NS;
    assert_eq!(whole, 1_000_000, "one COMMIT after a tick");
    assert_eq!(played.totals("insert")[0], 4, "and they began anew");
}

#[test]
fn a_further_try_sleeps_again() {
    let mut job = holding(r#"{"default_us": 1000}"#, 10.0, 200_000);
    job.clients = 1;
    let planted = r#"[{"statement": "commit", "every": 2, "code": "40001"}]"#;
    job.fake.as_mut().unwrap().errors = serde_json::from_str(planted).unwrap();
    let played = play(&job);
    let [count, _, errors, retries] = played.totals("insert");
    assert!(
        count > 20 && errors > 20 && errors - retries <= 1,
        "{count} {errors} {retries}"
    );
    let twice = 2 * 203_000 + 1000;
    assert_eq!(longest_us(&played, "held"), twice, "and a ROLLBACK between");
}

#[test]
fn a_connection_that_is_lost_while_it_sleeps_is_not_woken_in_its_next_life() {
    let mut job = holding(r#"{"default_us": 1000, "lost_at_s": 1.1}"#, 3.5, 1_000_000);
    job.roles[0].on_lost = OnLost::Reconnect;
    let played = play(&job);
    assert_eq!(played.status, Status::Ok);
    let [count, _, errors, _] = played.totals("insert");
    assert_eq!(errors, 2, "each client's operation");
    let counted: u64 = played.counts("insert").iter().sum();
    assert_eq!(
        (counted, count),
        (6, 8),
        "one before, two after, one drained"
    );
    let ticks = played.ticks("insert");
    let [_, service] = crate::histograms(&ticks, "held");
    assert!(service.min() > 1_002_000, "{} µs", service.min());
}
