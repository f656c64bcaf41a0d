//! How late and how far behind a role is said to be: what was sent, what was not, and what does not count.

use super::tests::{example, paused_ticks_of, ticks_of};
use crate::job::{Arrivals, Instruction, Job, Pace, Piece, RoleStop, Stop};
use crate::record::TickRecord;

/// One client whose inserts come at 100 a second for five seconds, to a server that stalls so long from then on.
fn paced(stall_at_s: f64, stall_for_s: f64) -> Job {
    let description = format!(
        r#"{{"default_us": 500, "stalls": [{{"at_s": {stall_at_s}, "for_s": {stall_for_s}}}]}}"#
    );
    let mut job = example("l.i0", &description);
    job.statements[0].pieces = vec![Piece::Text("SELECT 1".to_owned())];
    job.clients = 1;
    job.roles[0].stop = None;
    job.roles[0].pace = Pace::Rate {
        arrivals: Arrivals::Even,
        per_s: 100.0,
    };
    job.stop = Stop {
        seconds: Some(5.0),
        ..Stop::default()
    };
    job.check().unwrap();
    job
}

/// By tick: the greatest lateness in milliseconds, and the backlog.
fn late(ticks: &[TickRecord], role: usize) -> Vec<(u64, u64)> {
    let roles = ticks.iter().map(|tick| &tick.roles[role]);
    roles
        .map(|role| (role.late_us_max / 1000, role.backlog))
        .collect()
}

#[test]
fn what_is_due_and_never_sent_is_late_by_the_end_of_each_tick() {
    // The operation of 3 s is in flight until long after the window; the next would have been due at 3.01 s.
    let ticks = ticks_of(&paced(3.0, 60.0), 0);
    let expected = [(0, 0), (0, 0), (0, 0), (990, 99), (1990, 199)];
    assert_eq!(late(&ticks, 0), expected);
}

#[test]
fn each_of_many_clients_keeps_its_own_rate_and_catches_up_after_a_stall() {
    // From 2 s to 3 s nothing is answered.
    let mut job = paced(2.0, 1.0);
    job.clients = 300;
    job.roles[0].pace = Pace::Rate {
        arrivals: Arrivals::Even,
        per_s: 25.0,
    };
    let ticks = ticks_of(&job, 0);
    let done = |tick: &TickRecord| tick.roles[0].operations[0].count;
    assert_eq!(ticks.iter().map(done).sum::<u64>(), 300 * 25 * 5);
    let late: Vec<_> = late(&ticks, 0).iter().map(|one| one.0).collect();
    assert_eq!((late[0], late[1], late[4]), (0, 0, 0));
}

#[test]
fn tied_operations_of_many_clients_start_by_time_while_their_leader_is_busy() {
    // By the first second's end three of the leader's have started, so that eleven may.
    let description = r#"{"default_us": 100, "service_us": {"insert": 450000}}"#;
    let mut job = example("l.i1", description);
    for statement in &mut job.statements {
        statement.pieces = vec![Piece::Text("SELECT 1".to_owned())];
    }
    job.cursors.clear();
    job.clients = 20;
    (job.roles[0].stop, job.stop) = (
        None,
        Stop {
            seconds: Some(1.0),
            ..Stop::default()
        },
    );
    job.roles[0].pace = Pace::Rate {
        arrivals: Arrivals::Even,
        per_s: 10.0,
    };
    job.check().unwrap();
    let ticks = ticks_of(&job, 0);
    let tied = &ticks[0].roles[1];
    assert_eq!((tied.operations[0].count, tied.late_us_max), (20 * 10, 0));
    assert_eq!(ticks[0].roles[0].operations[0].count, 20 * 2);
}

#[test]
fn what_is_sent_shortly_after_a_pause_counts_as_late_as_little_as_otherwise() {
    // The pause is from 1 s to 2 s; what stalls from 2.05 s is caught up with before 2.2 s.
    let ticks = paused_ticks_of(&paced(2.05, 0.1));
    assert_eq!(late(&ticks, 0), [(0, 0); 5]);
    assert_eq!(ticks[1].roles[0].operations[0].count, 100);
}

#[test]
fn what_is_late_as_a_pause_begins_counts_and_waits_no_longer_in_it() {
    // At 1 s the operation of 0.95 s is in flight, and four wait; it is quiet at 2.95 s only.
    let ticks = paused_ticks_of(&paced(0.95, 2.0));
    let expected = [(40, 4), (40, 4), (0, 0), (0, 0), (0, 0)];
    assert_eq!(late(&ticks, 0), expected);
}

#[test]
fn what_waits_for_a_cursor_is_late_before_it_is_sent() {
    let description =
        r#"{"default_us": 100, "service_us": {"tail": 1500000}, "cursor": {"tail": 3}}"#;
    let mut job = example("l.i1", description);
    job.clients = 1;
    let ticks = ticks_of(&job, 0);
    assert_eq!(late(&ticks, 1)[..2], [(1000, 0), (1500, 0)]);
}

#[test]
fn what_a_client_has_not_sent_when_it_ends_was_late_until_then() {
    // The first query is in flight until long after the client's only insert.
    let mut job = paced(90.0, 1.0);
    let (mut query, mut program) = (job.roles[0].clone(), job.programs[0].clone());
    let mut statement = job.statements[0].clone();
    for name in [&mut query.name, &mut program.name, &mut statement.name] {
        "query".clone_into(name);
    }
    query.choose[0].program = 1;
    program.code = vec![Instruction::Send(1)];
    job.roles.push(query);
    job.programs.push(program);
    job.statements.push(statement);
    job.roles[0].pace = Pace::Closed {};
    job.roles[0].stop = Some(RoleStop {
        operations: Some(1),
    });
    job.stop = Stop {
        roles: vec!["insert".to_owned()],
        ..Stop::default()
    };
    let times = [("insert", 2_500_000.0), ("query", 60_000_000.0)];
    job.fake.as_mut().unwrap().service_us = times.map(|(name, us)| (name.to_owned(), us)).into();
    job.check().unwrap();
    let ticks = ticks_of(&job, 0);
    assert_eq!(late(&ticks, 1), [(990, 99), (1990, 199), (2490, 0)]);
}
