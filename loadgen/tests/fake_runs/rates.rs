//! Rates on the virtual clock, where they are exact: what is achieved, overload, random arrivals, pauses.

use crate::harness::{Played, converse, decode, play, play_with_a_pause};
use crate::{SECOND_NS, histograms, inserts, timed};
use dyno_loadgen::event::Event;
use dyno_loadgen::job::{Arrivals, Job, Pace, Per, Segment};
use dyno_loadgen::message::Command;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// How long a pause of the fake lasts.
const PAUSE_NS: u64 = SECOND_NS;

/// By connection and number: when an operation was due and when it ended, since the start.
type Traced = BTreeMap<(u32, u64), (u64, u64)>;

/// One client whose only role has that pace.
fn paced(mut job: Job, arrivals: Arrivals, per_s: f64) -> Job {
    job.clients = 1;
    job.roles[0].pace = Pace::Rate { arrivals, per_s };
    job
}

fn traced(played: &Played) -> Traced {
    let start_ns = played.start_ns();
    let operations = played.events.iter().filter_map(|event| match event {
        Event::Operation {
            connection,
            number,
            due_ns,
            start_ns: sent_ns,
            end_ns,
            ..
        } => {
            assert!(
                due_ns <= sent_ns,
                "a response time is no shorter than the service time"
            );
            Some((
                (*connection, *number),
                (due_ns - start_ns, end_ns - start_ns),
            ))
        }
        _ => None,
    });
    operations.collect()
}

fn due(traced: &Traced) -> Vec<u64> {
    let mut due: Vec<_> = traced.values().map(|(due_ns, _)| *due_ns).collect();
    due.sort_unstable();
    due
}

#[test]
fn every_rate_is_achieved_to_the_operation() {
    let rates: [(u32, u32); 5] = [(1, 10), (10, 10), (1_000, 10), (10_000, 4), (100_000, 2)];
    for (per_s, seconds) in rates {
        let job = timed(r#"{"default_us": 50}"#, f64::from(seconds), 1.0);
        let mut job = paced(job, Arrivals::Even, f64::from(per_s));
        (job.roles[0].per, job.roles[0].connections) = (Per::Step, 16);
        let played = play(&job);
        let counts = played.counts("insert");
        assert_eq!(counts.len(), seconds as usize);
        // What arrives within the last 50 µs of a second completes in the next, that of the last one after it.
        let after = played.drained("insert").per_client[0][0];
        let whole = counts.iter().sum::<u64>() + after;
        assert_eq!(
            whole,
            u64::from(per_s * seconds),
            "{per_s} a second: {counts:?}"
        );
        for tick in played.ticks("insert") {
            assert_eq!((tick.late_us_max, tick.backlog), (0, 0));
            let [lag, queue] = [&tick.lag, &tick.queue].map(|text| decode(text));
            assert_eq!((lag.max(), queue.max()), (0, 0), "the fake is never busy");
            assert!(lag.len().abs_diff(queue.len()) <= 5);
        }
    }
}

#[test]
fn overload_drops_nothing_and_shows_as_response_time_and_backlog() {
    // 2,000 a second arrive, 1,000 can be done: operation k is due at k / 2 ms and done at k + 1 ms.
    let job = paced(
        inserts(r#"{"default_us": 1000}"#, 10_000),
        Arrivals::Even,
        2000.0,
    );
    let played = play(&job);
    assert_eq!(played.totals("insert"), [10_000, 1_000_000, 0, 0]);
    assert_eq!(played.active_ns(), 10 * SECOND_NS);
    assert_eq!(played.counts("insert"), [1000; 10]);
    let ticks = played.ticks("insert");
    let backlogs: Vec<_> = ticks.iter().map(|tick| tick.backlog).collect();
    assert_eq!(
        backlogs,
        [999, 1999, 2999, 3999, 4999, 3999, 2999, 1999, 999, 0],
        "all have arrived after 5 s; one more is sent as each second ends"
    );
    for (tick, number) in ticks.iter().zip(1..) {
        assert_eq!(tick.operations["insert"].max_us, number * 500_000 + 500);
        assert_eq!(
            decode(&tick.lag).max(),
            0,
            "the server's doing, not the generator's"
        );
    }
    let [response, service] = histograms(&ticks, "insert");
    assert_eq!((response.len(), service.max()), (10_000, 1000));
}

#[test]
fn random_arrivals_are_the_same_however_fast_the_server_and_whoever_runs_them() {
    let mut job = paced(
        inserts(r#"{"default_us": 10}"#, 600),
        Arrivals::Poisson,
        300.0,
    );
    (job.roles[0].per, job.roles[0].connections) = (Per::Step, 3);
    (job.trace, job.clients) = (true, 3);
    let whole = due(&traced(&play(&job)));
    assert_eq!(whole.len(), 600);
    let seconds = whole[599] as f64 / 1e9;
    assert!((1.8..2.2).contains(&seconds), "{seconds}");
    job.threads = 3;
    let mut slow = job.clone();
    slow.fake.as_mut().unwrap().default_us = 9000.0;
    assert_eq!(
        due(&traced(&play(&slow))),
        whole,
        "late ones were due all the same"
    );
    let mut parts = Vec::new();
    for index in 0..3 {
        job.segment = Segment { index, of: 3 };
        parts.extend(due(&traced(&play(&job))));
    }
    parts.sort_unstable();
    assert_eq!(parts, whole, "in three processes");
    job.segment = Segment::default();
    job.seed += 1;
    assert_ne!(due(&traced(&play(&job))), whole);
}

#[test]
fn random_arrivals_queue_as_theory_says() {
    // M/D/1 at a load of 0.8: a mean wait of ρ / (2 (1 − ρ)) = 2 service times (Pollaczek and Khinchine).
    let job = paced(
        timed(r#"{"default_us": 1000}"#, 100.0, 0.0),
        Arrivals::Poisson,
        800.0,
    );
    let played = play(&job);
    let [response, service] = histograms(&played.ticks("insert"), "insert");
    let wait_us = response.mean() - service.mean();
    assert!((1800.0..2200.0).contains(&wait_us), "{wait_us}");
    let even = play(&paced(job, Arrivals::Even, 800.0));
    let [response, _] = histograms(&even.ticks("insert"), "insert");
    assert_eq!(
        response.max(),
        1000,
        "even arrivals never wait at this load"
    );
}

/// Some pace of one role on some connections, with a quota, traced.
fn any_paced_job() -> impl Strategy<Value = Job> {
    let arrivals = prop_oneof![
        Just(Some(Arrivals::Even)),
        Just(Some(Arrivals::Poisson)),
        Just(Some(Arrivals::Burst)),
        Just(None)
    ];
    (
        arrivals,
        20_u32..150,
        1_u32..4,
        2_000_u32..30_000,
        any::<u64>(),
    )
        .prop_map(|(arrivals, per_s, connections, service_us, seed)| {
            let description = format!(r#"{{"default_us": {service_us}, "jitter": 0.3}}"#);
            // About ten seconds of work.
            let operations = match arrivals {
                Some(_) => u64::from(per_s) * 10,
                None => 10_000_000 / u64::from(service_us) * u64::from(connections),
            };
            let mut job = inserts(&description, operations);
            (job.seed, job.trace, job.clients) = (seed, true, 1);
            job.roles[0].connections = connections;
            job.roles[0].pace = arrivals.map_or(Pace::Closed {}, |arrivals| Pace::Rate {
                arrivals,
                per_s: f64::from(per_s),
            });
            job
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_pause_loses_nothing_and_moves_what_was_still_to_come(job in any_paced_job()) {
        let straight = traced(&play(&job));
        // The pause takes effect at the first tick that finds it.
        let played = play_with_a_pause(&job);
        let resumed_ns = played.find(|event| match event {
            Event::Resumed { mono_ns } => Some(*mono_ns - played.start_ns()),
            _ => None,
        });
        let paused = traced(&played);
        prop_assert_eq!(paused.len(), straight.len(), "before and after together are the whole");
        prop_assert_eq!(played.totals("insert")[0], straight.len() as u64);
        let pause_ns = (resumed_ns - PAUSE_NS) / SECOND_NS * SECOND_NS;
        if matches!(job.roles[0].pace, Pace::Rate { arrivals: Arrivals::Even | Arrivals::Poisson, .. }) {
            check_due(due(&straight), due(&paused), pause_ns, resumed_ns - pause_ns);
        }
        check_counted(&played, resumed_ns);
    }
}

/// Operations of a schedule are due when they were without the pause, or later by exactly its length: all that were
/// still to come, and those that had been due and had not begun.
fn check_due(straight: Vec<u64>, paused: Vec<u64>, pause_ns: u64, shift_ns: u64) {
    let mut shifted = false;
    for (straight_ns, paused_ns) in straight.into_iter().zip(paused) {
        shifted |= straight_ns >= pause_ns || paused_ns != straight_ns;
        let shift_ns = if shifted { shift_ns } else { 0 };
        assert_eq!(paused_ns, straight_ns + shift_ns);
    }
}

/// Ticks count what did not begin in the first 200 ms after the pause, and all histograms the same.
fn check_counted(played: &Played, resumed_ns: u64) {
    let resumed_ns = played.start_ns() + resumed_ns;
    let unsettled = resumed_ns..resumed_ns + 200_000_000;
    let begun = played.events.iter().filter_map(|event| match event {
        Event::Operation { start_ns, .. } => Some(start_ns),
        _ => None,
    });
    let expected = begun
        .filter(|begun_ns| !unsettled.contains(begun_ns))
        .count() as u64;
    let ticks = played.ticks("insert");
    let [response, service] = histograms(&ticks, "insert");
    let queue: u64 = ticks.iter().map(|tick| decode(&tick.queue).len()).sum();
    let counted = played.counts("insert").iter().sum();
    assert_eq!(
        [response.len(), service.len(), queue, counted],
        [expected; 4]
    );
}

#[test]
fn what_a_generator_spends_after_its_pauses_is_no_part_of_its_share() {
    let mut job = timed(r#"{"default_us": 20}"#, 20.0, 0.0);
    job.clients = 1;
    let pause = [("ready", Command::Pause), ("ready", Command::Resume)];
    let pauses = std::iter::repeat_n(pause, 4).flatten();
    let script: Vec<_> = std::iter::once(("ready", Command::Go))
        .chain(pauses)
        .chain([("window_close", Command::Stop)])
        .collect();
    let played = converse(&job, &script);
    let quiet = played
        .events
        .iter()
        .filter(|event| matches!(event, Event::Paused { .. }));
    assert_eq!((quiet.count(), played.active_ns()), (4, 20 * SECOND_NS));
    let share = played.find(|event| match event {
        Event::Done { threads, .. } => Some(threads[0].busy_share),
        _ => None,
    });
    assert!((share - 0.25).abs() < 1e-3, "{share}: 5 µs of 20");
    let cpu_us: u64 = played.ticks("insert").iter().map(|tick| tick.cpu_us).sum();
    let counted: u64 = played.counts("insert").iter().sum();
    assert!(cpu_us.abs_diff(counted * 5) <= 100, "{cpu_us} {counted}");
}
