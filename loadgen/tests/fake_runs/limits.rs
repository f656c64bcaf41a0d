//! Latency limits and tries without limit on the virtual clock: what is left out, what is over the limit, what has failed.

use crate::harness::{Played, play};
use crate::{SECOND_NS, inserts, timed};
use dyno_loadgen::event::{Event, OperationTick, Status, Totals};
use dyno_loadgen::job::{Arrivals, Job, Otherwise, Pace, Per};
use std::collections::BTreeMap;

/// One client of that pace and with that limit.
fn limited(mut job: Job, pace: Pace, limit_ms: f64) -> Job {
    job.clients = 1;
    (job.roles[0].pace, job.roles[0].latency_limit_ms) = (pace, Some(limit_ms));
    job.roles[0].on_error.otherwise = Otherwise::CountRetryable;
    job
}

fn even(per_s: f64) -> Pace {
    Pace::Rate {
        arrivals: Arrivals::Even,
        per_s,
    }
}

/// What the window's ticks have of the inserts, together; histograms are left out.
fn whole(played: &Played) -> OperationTick {
    let mut whole = OperationTick::default();
    let mut sums = [[0.0; 2]; 3];
    for tick in played.ticks("insert") {
        let part = &tick.operations["insert"];
        whole.count += part.count;
        whole.retries += part.retries;
        whole.retried += part.retried;
        whole.skipped += part.skipped;
        whole.over_limit += part.over_limit;
        for (code, count) in &part.failed {
            *whole.failed.entry(code.clone()).or_default() += count;
        }
        let Some(part) = part.sums_us else { continue };
        for (sum, part) in sums
            .iter_mut()
            .zip([part.response, part.service, part.late])
        {
            *sum = [sum[0] + part[0], sum[1] + part[1]];
        }
    }
    let [response, service, late] = sums;
    whole.sums_us = Some(dyno_loadgen::event::SumsTick {
        response,
        service,
        late,
    });
    whole
}

/// What `done` says of the inserts.
fn totals(played: &Played) -> Totals {
    played.find(|event| match event {
        Event::Done { totals, .. } => totals.get("insert").copied(),
        _ => None,
    })
}

#[test]
fn what_missed_its_limit_before_a_connection_was_free_is_left_out_and_counts_towards_the_quota() {
    // One arrives each millisecond and takes ten. The first is done at 10 ms: those of 1 to 4 ms are over 5 ms late then,
    // that of 5 ms is not, and is done at 20 ms; and so on, nine of ten left out.
    let job = limited(inserts(r#"{"default_us": 10000}"#, 100), even(1000.0), 5.0);
    let played = play(&job);
    assert_eq!(played.status, Status::Ok);
    let found = whole(&played);
    assert_eq!((found.count, found.skipped, found.over_limit), (11, 89, 11));
    let sums = found.sums_us.unwrap();
    let exact = [sums.response, sums.service, sums.late].map(|sum| format!("{sum:?}"));
    let [response, service, late] = exact.each_ref().map(String::as_str);
    assert_eq!(
        response, "[160000.0, 2350000000.0]",
        "10 ms, then ten of 15 ms"
    );
    assert_eq!(service, "[110000.0, 1100000000.0]");
    assert_eq!(late, "[50000.0, 250000000.0]");
    assert_eq!(
        played.active_ns(),
        110_000_000,
        "the last are left out as the eleventh ends"
    );
    let [tick] = played.ticks("insert")[..] else {
        panic!("one tick")
    };
    assert_eq!((tick.late_us_max, tick.backlog), (14_000, 0));
    let all = totals(&played);
    assert_eq!((all.count, all.skipped, all.over_limit), (11, 89, 11));
}

#[test]
fn nothing_is_left_out_that_a_connection_was_free_for_or_that_the_window_cuts_off() {
    // In the stall of 0.5 s to 1.5 s nothing ends; the window closes before a connection is free again.
    let stall = r#"{"default_us": 500, "stalls": [{"at_s": 0.5, "for_s": 1.0}]}"#;
    let job = limited(timed(stall, 1.0, 0.0), even(100.0), 5.0);
    let found = whole(&play(&job));
    assert_eq!((found.count, found.skipped, found.over_limit), (50, 0, 0));
    // With two connections, of which one is never needed.
    let mut job = limited(
        timed(r#"{"default_us": 9000}"#, 1.0, 0.0),
        even(200.0),
        10.0,
    );
    (job.roles[0].per, job.roles[0].connections) = (Per::Step, 2);
    let found = whole(&play(&job));
    assert_eq!((found.skipped, found.over_limit), (0, 0));
}

#[test]
fn without_a_rate_and_in_bursts_a_limit_only_counts() {
    // One operation meets the stall of 0.2 s.
    let stall = r#"{"default_us": 500, "stalls": [{"at_s": 0.5, "for_s": 0.2}]}"#;
    let burst = Pace::Rate {
        arrivals: Arrivals::Burst,
        per_s: 100.0,
    };
    for (pace, over) in [(Pace::Closed {}, 1), (burst, 40)] {
        let mut job = limited(timed(stall, 1.2, 0.0), pace, 30.0);
        if let Pace::Rate { .. } = job.roles[0].pace {
            // Of the second's burst of a hundred, those from the sixtieth on end after 30 ms.
            job.fake.as_mut().unwrap().stalls.clear();
        }
        let found = whole(&play(&job));
        assert_eq!((found.skipped, found.over_limit), (0, over));
    }
}

#[test]
fn the_programs_that_are_left_out_are_those_that_run_next_and_what_is_sent_stays_the_same() {
    let job = |limit_ms| {
        let mut job = limited(inserts(r#"{"default_us": 10000}"#, 300), even(1000.0), 5.0);
        job.roles[0].latency_limit_ms = limit_ms;
        job.trace = true;
        job
    };
    let numbers = |job: &Job| -> Vec<u64> {
        let played = play(job);
        let events = played.events.iter().filter_map(|event| match event {
            Event::Operation { number, .. } => Some(*number),
            _ => None,
        });
        events.collect()
    };
    assert_eq!(numbers(&job(Some(5.0))), (0..31).collect::<Vec<_>>());
    assert_eq!(numbers(&job(None)), (0..300).collect::<Vec<_>>());
}

/// Inserts of which each execution fails with a code that is tried again without limit.
fn refused(job: Job) -> Job {
    let mut job = job;
    job.roles[0].on_error.tries = 0;
    job.roles[0].on_error.otherwise = Otherwise::CountRetryable;
    job
}

const ALWAYS: &str =
    r#"{"default_us": 500, "errors": [{"statement": "insert", "every": 1, "code": "40001"}]}"#;

#[test]
fn tries_without_limit_end_when_the_operation_is_over_its_latency_limit() {
    // Errors at 0.5, 1, 1.5 and 2 ms are within the limit of 2 ms, that at 2.5 ms is not.
    let job = refused(limited(inserts(ALWAYS, 100), Pace::Closed {}, 2.0));
    let played = play(&job);
    assert_eq!(played.status, Status::Ok, "{:?}", played.reason());
    let found = whole(&played);
    assert_eq!((found.count, found.retries, found.retried), (0, 400, 100));
    assert_eq!(found.failed, BTreeMap::from([("40001".to_owned(), 100)]));
    let nothing = format!("{:?}", found.sums_us.unwrap().response);
    assert_eq!(nothing, "[0.0, 0.0]", "what failed is in no sum");
    let all = totals(&played);
    assert_eq!((all.errors, all.failed, all.retried), (500, 100, 100));
}

#[test]
fn tries_without_limit_end_with_the_window() {
    let played = play(&refused(timed(ALWAYS, 1.0, 0.0)));
    assert_eq!((played.status, played.active_ns()), (Status::Ok, SECOND_NS));
    let all = totals(&played);
    assert_eq!((all.count, all.failed), (0, 2), "one of each client");
    assert!(whole(&played).failed.is_empty(), "they ended after it");
}

#[test]
fn errors_that_are_tried_again_are_counted_at_last_and_others_fail_the_step() {
    let code = |code: &str| {
        let description = format!(
            r#"{{"default_us": 500, "errors": [{{"statement": "insert", "every": 2, "code": "{code}"}}]}}"#
        );
        let mut job = inserts(&description, 100);
        (job.clients, job.roles[0].on_error.tries) = (1, 1);
        job.roles[0].on_error.otherwise = Otherwise::CountRetryable;
        play(&job)
    };
    let played = code("40P01");
    assert_eq!(played.status, Status::Ok, "{:?}", played.reason());
    let all = totals(&played);
    assert_eq!((all.count, all.failed, all.retried), (50, 50, 0));
    assert_eq!(code("23505").status, Status::Failed);
}
