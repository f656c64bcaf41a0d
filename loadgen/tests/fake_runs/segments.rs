//! Several processes, each with a segment of a job: together they do what one does.

use crate::harness::{Played, play};
use crate::{SECOND_NS, inserts, timed};
use dyno_loadgen::event::{Event, Status};
use dyno_loadgen::job::{Arrivals, Job, Pace, Per, Segment};
use std::collections::BTreeMap;

/// The job as one process plays it, then as each of so many do.
fn played(job: &Job, of: u32) -> (Played, Vec<Played>) {
    let parts = (0..of).map(|index| {
        let mut job = job.clone();
        job.segment = Segment { index, of };
        play(&job)
    });
    (play(job), parts.collect())
}

/// By role and client: operations of each tick, of all processes together.
fn counts(parts: &[Played]) -> BTreeMap<(String, usize), Vec<u64>> {
    let mut found = BTreeMap::<_, Vec<u64>>::new();
    let events = parts.iter().flat_map(|played| &played.events);
    for event in events {
        if let Event::Tick(tick) = event {
            for (client, [count, ..]) in tick.per_client.iter().enumerate() {
                let counts = found.entry((tick.role.clone(), client)).or_default();
                let place = usize::try_from(tick.tick - 1).unwrap();
                counts.resize(counts.len().max(place + 1), 0);
                counts[place] += count;
            }
        }
    }
    found
}

#[test]
fn they_keep_one_rate_to_the_operation() {
    for arrivals in [Arrivals::Even, Arrivals::Poisson] {
        for of in [2, 3] {
            let mut job = timed(r#"{"default_us": 50}"#, 10.0, 0.0);
            (job.roles[0].per, job.roles[0].connections) = (Per::Step, 7);
            job.roles[0].pace = Pace::Rate {
                arrivals,
                per_s: 997.0,
            };
            let (whole, parts) = played(&job, of);
            assert_eq!(
                counts(&parts),
                counts(&[whole]),
                "{arrivals:?} in {of} processes"
            );
        }
    }
}

#[test]
fn what_has_one_connection_is_done_by_one_of_them() {
    let mut job = timed(r#"{"default_us": 500}"#, 3.0, 0.0);
    job.clients = 3;
    let mut beside = job.roles[0].clone();
    beside.name = "beside".to_owned();
    beside.per = Per::Step;
    job.roles.push(beside);
    let (whole, parts) = played(&job, 3);
    let all = counts(&parts);
    assert_eq!(all, counts(&[whole]));
    assert_eq!(all[&("beside".to_owned(), 0)], [2000, 2000, 2000, 0]);
    for part in &parts {
        assert_eq!(
            (part.status, part.active_ns()),
            (Status::Ok, 3 * SECOND_NS),
            "{:?}",
            part.reason()
        );
    }
}

#[test]
fn connections_are_shared_by_more_processes_than_there_are_clients() {
    let mut job = inserts(r#"{"default_us": 500}"#, 6_000);
    job.clients = 1;
    (job.roles[0].per, job.roles[0].connections) = (Per::Step, 3);
    let (whole, parts) = played(&job, 3);
    assert_eq!(counts(&parts), counts(&[whole]));
    let totals = parts.iter().map(|part| part.totals("insert")[0]);
    assert_eq!(totals.collect::<Vec<_>>(), [2000; 3]);
}
