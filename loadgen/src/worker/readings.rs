//! Cursors that are read over a connection for each reading.

use super::tests::{START_NS, example, of, requests, ticks_of};
use crate::job::{Connect, Job, RoleStop};

/// Inserts and deletes of two clients that read their tails three times.
fn inserts(connect: Connect) -> Job {
    let mut job = example("l.i1", r#"{"default_us": 10, "cursor": {"tail": 7}}"#);
    (job.cursors[0].connect, job.trace) = (connect, true);
    job.roles[0].stop = Some(RoleStop {
        operations: Some(2_500),
    });
    job.check().unwrap();
    job
}

#[test]
fn what_is_read_and_sent_is_the_same_over_new_connections() {
    let [once, each] = [Connect::Once, Connect::Each].map(|connect| requests(&inserts(connect), 1));
    for client in 0..2 {
        assert_eq!(of(&each, "probe", client).len(), 3);
        assert_eq!(of(&each, "probe", client), of(&once, "probe", client));
        assert_eq!(of(&each, "delete", client), of(&once, "delete", client));
    }
}

#[test]
fn a_reading_waits_for_its_connection_within_the_response_time_of_what_needs_it() {
    let first_us = |connect| {
        let ticks = ticks_of(&inserts(connect), 0);
        let deletes = ticks.iter().flat_map(|tick| &tick.trace);
        let mut deletes = deletes.filter(|one| (one.role, one.connection, one.number) == (1, 0, 0));
        let first = deletes.next().unwrap();
        (first.start_ns - START_NS) / 1000
    };
    // The fake takes a millisecond for a connection.
    assert_eq!(first_us(Connect::Each) - first_us(Connect::Once), 1_000);
}

#[test]
fn cursors_that_are_read_over_connections_of_both_kinds_are_refused() {
    let mut job = inserts(Connect::Each);
    let mut other = job.cursors[0].clone();
    (other.name, other.connect, other.queued) = ("head".to_owned(), Connect::Once, false);
    job.cursors.push(other);
    let error = job.check().unwrap_err().to_string();
    assert!(error.contains("cursors[1].connect"), "{error}");
}
