//! When a step starts: at once, or at a time that the caller names.

use crate::harness::{Played, converse, play};
use crate::{SECOND_NS, inserts, timed};
use dyno_loadgen::clock::monotonic_ns;
use dyno_loadgen::event::{Event, Status};
use dyno_loadgen::job::{Job, OnLost};
use dyno_loadgen::message::Command;
use rustix::thread::CpuSet;
use std::time::Instant;

/// Longer than a busy machine takes to be ready.
const AHEAD_NS: u64 = SECOND_NS / 2;

/// Plays a job that is told to start by `go`, and to close its connections.
fn started_by(job: &Job, go: Command) -> Played {
    let script = [("ready", go), ("window_close", Command::Stop)];
    converse(job, &script)
}

#[test]
fn a_step_starts_at_the_time_that_it_is_told() {
    let job = inserts(r#"{"default_us": 500}"#, 500);
    let at_ns = monotonic_ns() + AHEAD_NS;
    let played = started_by(&job, Command::GoAt(at_ns));
    assert_eq!((played.status, played.start_ns()), (Status::Ok, at_ns));
    let opened = played.find(|event| match event {
        Event::WindowOpen { mono_ns } => Some(*mono_ns),
        _ => None,
    });
    assert_eq!(opened, at_ns);
}

#[test]
fn a_time_that_is_past_is_at_once() {
    let job = inserts(r#"{"default_us": 500}"#, 500);
    let before_ns = monotonic_ns();
    let played = started_by(&job, Command::GoAt(before_ns - SECOND_NS));
    let start_ns = played.start_ns();
    assert!((before_ns..=monotonic_ns()).contains(&start_ns));
}

#[test]
fn a_stop_before_its_time_ends_a_step_at_once() {
    let job = inserts(r#"{"default_us": 500}"#, 500);
    let began = Instant::now();
    let hour = Command::GoAt(monotonic_ns() + 3600 * SECOND_NS);
    let played = converse(&job, &[("ready", hour), ("ready", Command::Stop)]);
    assert!(began.elapsed().as_secs() < 60);
    assert_eq!(played.status, Status::Stopped);
    assert_eq!(played.reason().unwrap(), "stopped before the start");
}

#[test]
fn a_pause_before_its_time_takes_effect_after_the_start() {
    let job = timed(r#"{"default_us": 500}"#, 2.0, 0.0);
    let at_ns = monotonic_ns() + AHEAD_NS;
    let script = [
        ("ready", Command::GoAt(at_ns)),
        ("ready", Command::Pause),
        ("paused", Command::Resume),
        ("window_close", Command::Stop),
    ];
    let played = converse(&job, &script);
    let names: Vec<_> = played
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Started { mono_ns, .. } => Some(("started", mono_ns - at_ns)),
            Event::Paused { .. } => Some(("paused", 0)),
            Event::Resumed { .. } => Some(("resumed", 0)),
            Event::WindowClose { active_ns, .. } => Some(("closed", *active_ns)),
            _ => None,
        })
        .collect();
    let whole = ("closed", 2 * SECOND_NS);
    assert_eq!(
        names,
        [("started", 0), ("paused", 0), ("resumed", 0), whole]
    );
}

#[test]
fn a_worker_keeps_to_its_processor_and_says_it_of_each_session_or_the_step_fails() {
    let here = rustix::thread::sched_getaffinity(None).unwrap();
    let first = (0..CpuSet::MAX_CPU).find(|number| here.is_set(*number));
    let first = u32::try_from(first.unwrap()).unwrap();
    let mut job = timed(r#"{"default_us": 500, "lost_at_s": 0.2}"#, 1.0, 0.0);
    job.roles[0].on_lost = OnLost::Reconnect;
    (job.threads, job.processors) = (0, vec![first]);
    let played = play(&job);
    let places = played.events.iter().filter_map(|event| match event {
        Event::Connected { processor, .. } => Some(*processor),
        _ => None,
    });
    assert_eq!(
        places.collect::<Vec<_>>(),
        [Some(first); 4],
        "two are made anew"
    );

    job.processors = vec![1023];
    let reason = play(&job).reason().unwrap();
    assert!(
        reason.contains("worker 0 may not run on processor 1023"),
        "{reason}"
    );
}
