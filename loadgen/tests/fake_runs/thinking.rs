//! Think times, decks, and operations that roll back: how long, how many, and what they count as.

use crate::harness::{Played, fake, play, play_with_a_pause};
use dyno_loadgen::event::{Event, Status};
use dyno_loadgen::job::{Choice, ChoiceRule, Job, RoleStop, Stop, ThinkTime};

const ROLE: &str = "terminals";

/// The contract's example for so many clients, for so long.
fn terminals(clients: u32, seconds: f64) -> Job {
    let mut job = fake("think", r#"{"default_us": 1000}"#);
    (job.clients, job.stop.seconds) = (clients, Some(seconds));
    job
}

/// The example with its second program alone, and these times around it.
fn looking(clients: u32, seconds: f64, before: Option<ThinkTime>, after: Option<ThinkTime>) -> Job {
    let mut job = terminals(clients, seconds);
    job.roles[0].choose = vec![Choice {
        program: 1,
        weight: 1,
        before,
        after,
    }];
    job
}

fn count(played: &Played, operation: &str) -> u64 {
    let ticks = played.ticks(ROLE);
    ticks
        .iter()
        .map(|tick| tick.operations[operation].count)
        .sum()
}

fn rolled_back(played: &Played, operation: &str) -> u64 {
    let ticks = played.ticks(ROLE);
    ticks
        .iter()
        .map(|tick| tick.operations[operation].rolled_back)
        .sum()
}

fn longest_us(played: &Played, operation: &str) -> u64 {
    let ticks = played.ticks(ROLE);
    ticks
        .iter()
        .map(|tick| tick.operations[operation].max_us)
        .max()
        .unwrap()
}

#[test]
fn constant_times_make_a_cycle_and_are_no_part_of_any_response() {
    let (before, after) = (
        ThinkTime::Constant { us: 300_000 },
        ThinkTime::Constant { us: 699_000 },
    );
    let played = play(&looking(3, 10.2, Some(before), Some(after)));
    assert_eq!(played.status, Status::Ok);
    assert_eq!(
        count(&played, "look"),
        3 * 10,
        "at 0.3 s, and each second after it"
    );
    assert_eq!(longest_us(&played, "look"), 1000);
    let late = played.ticks(ROLE).iter().map(|tick| tick.late_us_max).max();
    assert_eq!(late, Some(0));
    let close = played.find(|event| match event {
        Event::WindowClose { mono_ns, .. } => Some(*mono_ns),
        _ => None,
    });
    let done = played.find(|event| match event {
        Event::Done { mono_ns, .. } => Some(*mono_ns),
        _ => None,
    });
    assert!(
        done - close < 100_000_000,
        "nobody waits for what thinks: {} ns",
        done - close
    );
}

#[test]
fn the_mean_of_cycles_is_that_of_exponential_times() {
    // 50 clients for 2,000 s in cycles of 1 s + 1 s · (1 − e^−10) + 1 ms: 50,000, whose scatter is a third of a percent.
    let after = ThinkTime::Exponential {
        mean_us: 1_000_000,
        max_us: 10_000_000,
    };
    let before = ThinkTime::Constant { us: 1_000_000 };
    let played = play(&looking(50, 2000.0, Some(before), Some(after)));
    let done = count(&played, "look") as f64;
    let expected = 50.0 * 2000.0 / (1.0 + (1.0 - (-10.0_f64).exp()) + 0.001);
    assert!((done / expected - 1.0).abs() < 0.01, "{done} of {expected}");
    // Operations divided by the time of their connections are the rate without bias, times and all.
    let all_ns = played.drained(ROLE).connection_ns.unwrap();
    assert!(
        (all_ns as f64 / (50.0 * 2000.0 * 1e9) - 1.0).abs() < 0.001,
        "{all_ns}"
    );
}

#[test]
fn a_pause_stops_times_and_goes_on_with_what_is_left() {
    let after = ThinkTime::Constant { us: 1_499_000 };
    let mut job = looking(2, 9.0, None, Some(after));
    job.trace = true;
    let played = play_with_a_pause(&job);
    assert_eq!(played.status, Status::Ok);
    let paused = played.paused_ns();
    let resumed = played.find(|event| match event {
        Event::Resumed { mono_ns } => Some(*mono_ns),
        _ => None,
    });
    let starts = played.events.iter().filter_map(|event| match event {
        Event::Operation {
            client: 0,
            start_ns,
            ..
        } => Some(*start_ns),
        _ => None,
    });
    let starts: Vec<_> = starts.collect();
    for pair in starts.windows(2) {
        let cycle = pair[1] - pair[0];
        let stood = if (pair[0]..pair[1]).contains(&paused) {
            resumed - paused
        } else {
            0
        };
        assert_eq!(cycle - stood, 1_500_000_000, "{pair:?}");
    }
    assert!(starts.len() >= 5);
}

#[test]
fn a_deck_deals_its_weights_and_what_rolls_back_is_neither_complete_nor_failed() {
    let mut job = terminals(2, 1.0);
    for choice in &mut job.roles[0].choose {
        (choice.before, choice.after) = (None, None);
    }
    job.roles[0].stop = Some(RoleStop {
        operations: Some(4000),
    });
    job.stop = Stop {
        roles: vec![ROLE.to_owned()],
        ..Stop::default()
    };
    let played = play(&job);
    assert_eq!(played.status, Status::Ok, "{:?}", played.reason());
    assert_eq!(
        count(&played, "look"),
        2 * 1000,
        "one of four cards, exactly"
    );
    let (done, back) = (count(&played, "order"), rolled_back(&played, "order"));
    assert_eq!(done + back, 2 * 3000);
    // A quarter, of 6000: three standard deviations are 101.
    assert!((1400..1600).contains(&back), "{back}");
    assert_eq!(count(&played, "ROLLBACK"), back);
    assert_eq!(count(&played, "COMMIT"), done);
    let totals = played.find(|event| match event {
        Event::Done { totals, .. } => Some(totals[ROLE]),
        _ => None,
    });
    assert_eq!((totals.count, totals.rolled_back), (done + 2000, back));
    assert_eq!((totals.failed, totals.errors, totals.retries), (0, 0, 0));
}

#[test]
fn a_seed_deals_the_same_whatever_the_timing() {
    let order = |job: &Job| {
        let played = play(job);
        let own = played.events.iter().filter_map(|event| match event {
            Event::Operation {
                client: 1,
                number,
                operation,
                ..
            } if *number < 100 => Some((*number, operation.clone())),
            _ => None,
        });
        own.collect::<Vec<_>>()
    };
    let mut job = terminals(2, 2.0);
    job.trace = true;
    for choice in &mut job.roles[0].choose {
        (choice.before, choice.after) = (None, None);
    }
    let quick = order(&job);
    job.fake.as_mut().unwrap().default_us = 2500.0;
    assert_eq!(order(&job), quick);
    assert_eq!(quick.len(), 100);
    job.roles[0].choice = ChoiceRule::InOrder;
    let straight = order(&job);
    let names: Vec<_> = straight.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names[..5], ["order", "order", "order", "look", "order"]);
}
