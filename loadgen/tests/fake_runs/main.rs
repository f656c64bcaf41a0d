//! Whole runs against the fake, where what is planted has an exact answer in the events.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it stands"
)]

mod connecting;
mod connection_time;
mod counting;
mod endings;
mod examples;
#[path = "../harness/mod.rs"]
mod harness;
mod limits;
mod logging;
mod pacing;
mod rates;
mod scripts;
mod segments;
mod sleeping;
mod starting;
mod thinking;

use dyno_loadgen::event::Tick;
use dyno_loadgen::job::{Job, Piece, RoleStop, Stop};
use harness::{decode, fake};
use hdrhistogram::Histogram;

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

/// The histograms of an operation over all ticks, both in microseconds: response and service.
fn histograms(ticks: &[&Tick], operation: &str) -> [Histogram<u64>; 2] {
    let [mut response, mut service] = [(); 2].map(|()| Histogram::new(3).unwrap());
    for tick in ticks {
        let operation = &tick.operations[operation];
        response.add(decode(&operation.response)).unwrap();
        let nanoseconds = decode(&operation.service);
        for cell in nanoseconds.iter_recorded() {
            let middle_ns = nanoseconds.median_equivalent(cell.value_iterated_to());
            let count = cell.count_at_value();
            service.record_n((middle_ns + 500) / 1000, count).unwrap();
        }
    }
    [response, service]
}
