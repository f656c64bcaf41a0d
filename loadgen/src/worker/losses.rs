//! What becomes of a connection that is lost, in whatever it does at the moment.

use super::Worker;
use super::state::State;
use super::tests::{Step, example, step};
use crate::event::Totals;
use crate::job::{Arrivals, FakeError, Instruction, Job, OnLost, Pace, Piece, RoleStop};
use crate::session::Sessions;
use crate::session::fake::FakeSessions;
use crate::shared::{End, Phase};

const OPERATIONS: u64 = 20;

/// The role that these tests look at, and its connection.
const DELETE: usize = 1;

/// Deletes whose connection comes through every state: transactions that sleep, then wait for a cursor, and of which
/// each third fails once; idle until the next is due.
fn job() -> Job {
    let description = r#"{"default_us": 100, "service_us": {"tail": 5000}, "cursor": {"tail": 3}}"#;
    let mut job = example("l.i1", description);
    job.clients = 1;
    job.cursors[0].resync_every = Some(0);
    for name in ["begin", "commit"] {
        let mut statement = job.statements[0].clone();
        name.clone_into(&mut statement.name);
        statement.pieces = vec![Piece::Text(name.to_uppercase())];
        job.statements.push(statement);
    }
    let planted = FakeError {
        statement: "commit".to_owned(),
        every: 3,
        code: "40001".to_owned(),
    };
    job.fake.as_mut().unwrap().errors = vec![planted];
    "deletion".clone_into(&mut job.programs[1].name);
    job.programs[1].code = vec![
        Instruction::Send(2),
        Instruction::Sleep(1000),
        Instruction::Send(1),
        Instruction::Send(3),
    ];
    job.cursors[0].queued = false; // for a tied pair
    let delete = &mut job.roles[DELETE];
    delete.on_lost = OnLost::Reconnect;
    delete.pace = Pace::Rate {
        arrivals: Arrivals::Even,
        per_s: 50.0,
    };
    let stop = RoleStop {
        operations: Some(OPERATIONS),
    };
    (delete.stop, job.roles[0].stop) = (Some(stop), Some(stop));
    job.stop.roles.push("delete".to_owned());
    // A connection that never comes back shall not keep the tests waiting.
    job.stop.seconds_max = Some(60.0);
    job.check().unwrap();
    job
}

/// What a worker does in a round.
fn turn(worker: &mut Worker<FakeSessions>) {
    let mut ready = Vec::new();
    let until_ns = worker.wake_ns();
    worker.sessions.wait(until_ns, &mut ready).unwrap();
    for ready in ready {
        worker.take(ready);
    }
    worker.on_time();
}

/// Loses the connection so long after it came into that state, so often at once, and runs the job to its end. What the
/// role did, how the step ended, and how late the role had been when the connection was lost.
fn lost_in(job: &Job, state: State, after_ns: u64, times: usize) -> (Totals, Option<End>, u64) {
    let Step {
        shared,
        mut workers,
        ..
    } = step(job, 1, 0);
    let mut worker = workers.remove(0);
    worker.on_time();
    while worker.connections[DELETE].state != state {
        turn(&mut worker);
    }
    for _ in 0..times {
        worker.sessions.lose(DELETE, after_ns);
    }
    while worker.connections[DELETE].state == state {
        turn(&mut worker);
    }
    let late_us = worker.record.roles[DELETE].late_us_max;
    shared.command(Phase::Closing, 0);
    let totals = worker.run();
    (totals[DELETE], shared.ended(), late_us)
}

#[test]
fn whatever_a_lost_connection_did_its_operation_ends_once_and_it_comes_back() {
    // With the operations that end with it, and the errors that are no further tries: after one there is the loss, too.
    let states = [
        (State::Idle, 0, 1),
        (State::AwaitsCursor, 1, 1),
        (State::InFlight, 1, 1),
        (State::Asleep, 1, 1),
        (State::RollingBack, 1, 2),
    ];
    for (state, operations, errors) in states {
        // The second time it is being made anew already.
        for times in [1, 2] {
            let (totals, end, _) = lost_in(&job(), state, 0, times);
            assert_eq!(end, Some(End::Done), "{state:?}");
            let found = (totals.count, totals.errors - totals.retries);
            assert_eq!(found, (OPERATIONS - operations, errors), "{state:?}");
        }
    }
}

#[test]
fn an_operation_that_is_lost_before_it_was_sent_was_late_until_then() {
    // Its first statement waits for a cursor.
    let mut job = job();
    job.programs[1].code = vec![Instruction::Send(1)];
    let (totals, end, late_us) = lost_in(&job, State::AwaitsCursor, 3_000_000, 1);
    assert_eq!((totals.errors, end), (1, Some(End::Done)));
    assert_eq!(late_us, 3_000);
}
