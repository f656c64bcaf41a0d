//! Roles that wait for others: in every pace, with a pause meanwhile, with connections that are lost meanwhile.

use super::tests::{START_NS, example, paused_ticks_of, ticks_of};
use crate::job::{Apart, Arrivals, Instruction, Job, OnLost, Pace, Per, Piece, RoleStop};
use crate::record::TickRecord;
use std::collections::BTreeMap;

/// Where a pair stands in the jobs of these tests; where its leader is alone, only that.
const PAIR: [usize; 2] = [0, 1];

/// When operations were due, in nanoseconds since the start, by role, connection and number.
type Due = BTreeMap<(usize, u32, u64), u64>;

fn rate(arrivals: Arrivals, per_s: f64) -> Pace {
    Pace::Rate { arrivals, per_s }
}

fn paces() -> [Pace; 4] {
    [
        Pace::Closed {},
        rate(Arrivals::Even, 30.0),
        rate(Arrivals::Poisson, 30.0),
        rate(Arrivals::Burst, 7.0),
    ]
}

/// Inserts of two clients in that pace, alone or with deletes tied to them, and beside them a role `first` of so many
/// operations that take so long.
fn beside(pace: Pace, tied: bool, first: (u64, u32)) -> Job {
    let mut job = example("l.i1", r#"{"default_us": 100, "cursor": {"tail": 3}}"#);
    let fake = job.fake.as_mut().unwrap();
    fake.service_us
        .insert("first".to_owned(), f64::from(first.1));
    job.trace = true;
    let operations = |count| {
        Some(RoleStop {
            operations: Some(count),
        })
    };
    let mut role = job.roles[0].clone();
    (role.name, role.per, role.table) = ("first".to_owned(), Per::Step, None);
    (role.choose[0].program, role.stop) = (2, operations(first.0));
    let mut program = job.programs[0].clone();
    program.name = role.name.clone();
    program.code = vec![Instruction::Send(2)];
    let mut statement = job.statements[0].clone();
    statement.name = role.name.clone();
    statement.pieces = vec![Piece::Text("SELECT 1".to_owned())];
    job.statements[0].pieces = statement.pieces.clone();
    job.programs.push(program);
    job.statements.push(statement);
    (job.roles[0].pace, job.roles[0].stop) = (pace, operations(50));
    if !tied {
        job.cursors[0].queued = false; // for a tied pair
        job.roles.remove(1);
    }
    job.roles.push(role);
    job.check().unwrap();
    job
}

/// The same where the inserts wait for `first`.
fn behind(mut job: Job) -> Job {
    job.roles[0].after = vec!["first".to_owned()];
    job.check().unwrap();
    job
}

/// Of the roles that may wait.
fn due(job: &Job, ticks: &[TickRecord]) -> Due {
    let traced = ticks.iter().flat_map(|tick| &tick.trace);
    let own = traced.filter(|one| job.roles[one.role].name != "first");
    own.map(|one| {
        let key = (one.role, one.connection, one.number);
        (key, one.due_ns - START_NS)
    })
    .collect()
}

/// Asserts that what waited was due as it is without waiting, and later by so many milliseconds; and that until then
/// nothing was said to be late or waiting.
fn assert_later(straight: &Job, ticks: &[TickRecord], milliseconds: u64) {
    let expected = due(straight, &ticks_of(straight, 0)).into_iter();
    let by_ns = milliseconds * 1_000_000;
    let expected: Due = expected.map(|(key, due)| (key, due + by_ns)).collect();
    let pace = &straight.roles[0].pace;
    assert_eq!(due(straight, ticks), expected, "{pace:?}");
    for tick in ticks
        .iter()
        .filter(|tick| tick.cut.end_ns <= START_NS + by_ns)
    {
        for role in &tick.roles[PAIR[0]..straight.roles.len() - 1] {
            assert_eq!((role.late_us_max, role.backlog), (0, 0), "{pace:?}");
        }
    }
}

#[test]
fn a_role_of_any_pace_begins_its_schedule_when_what_it_waits_for_has_ended() {
    for tied in [false, true] {
        for pace in paces() {
            let straight = beside(pace, tied, (3, 600_000));
            let ticks = ticks_of(&behind(straight.clone()), 0);
            assert_later(&straight, &ticks, 1_800);
        }
    }
}

#[test]
fn a_pause_while_a_role_waits_moves_its_beginning_only_by_what_the_others_lose() {
    for tied in [false, true] {
        for pace in paces() {
            // From 1 s on nothing begins; what is in flight ends at 1.2 s; the third goes on from 2.2 s.
            let straight = beside(pace, tied, (3, 600_000));
            let ticks = paused_ticks_of(&behind(straight.clone()));
            assert_later(&straight, &ticks, 2_800);
        }
    }
}

#[test]
fn a_role_whose_turn_comes_within_a_pause_begins_with_its_end() {
    for tied in [false, true] {
        for pace in paces() {
            // What is in flight at 1 s ends at 1.5 s and is the last; the pause lasts until 2.5 s.
            let straight = beside(pace, tied, (1, 1_500_000));
            let ticks = paused_ticks_of(&behind(straight.clone()));
            assert_later(&straight, &ticks, 2_500);
        }
    }
}

#[test]
fn a_connection_that_is_lost_while_its_role_waits_begins_nothing_before_and_one_thing_at_a_time() {
    // With fewer operations than connections, too.
    for operations in [2, 50] {
        for pace in paces() {
            let mut straight = beside(pace, false, (3, 500_000));
            straight.roles[0].connections = 3;
            straight.roles[0].stop = Some(RoleStop {
                operations: Some(operations),
            });
            let mut job = behind(straight.clone());
            job.fake.as_mut().unwrap().lost_at_s = Some(0.6);
            for role in &mut job.roles {
                role.on_lost = OnLost::Reconnect;
            }
            // The second of `first` is lost, a millisecond later the third is sent.
            assert_later(&straight, &ticks_of(&job, 0), 1_101);
        }
    }
}

/// When the second client's operations are due, so many milliseconds later than in a job whose clients begin together.
fn second_later(straight: &Job, milliseconds: u64) -> Due {
    let all = due(straight, &ticks_of(straight, 0)).into_iter();
    all.filter(|((_, connection, _), _)| *connection == 1)
        .map(|(key, due_ns)| (key, due_ns + milliseconds * 1_000_000))
        .collect()
}

#[test]
fn a_client_that_begins_later_has_its_whole_schedule_later_and_its_wait_stands_still_in_a_pause() {
    for tied in [false, true] {
        for pace in paces() {
            let straight = beside(pace, tied, (3, 600_000));
            let mut job = straight.clone();
            job.apart = Some(Apart {
                first_s: 1.8,
                each_s: 0.5,
            });
            job.check().unwrap();
            let (mut second, first): (Due, Due) = due(&job, &ticks_of(&job, 0))
                .into_iter()
                .partition(|((_, connection, _), _)| *connection == 1);
            assert_eq!(second, second_later(&straight, 1_800));
            let together = due(&straight, &ticks_of(&straight, 0));
            assert!(first.iter().all(|(key, due_ns)| together[key] == *due_ns));
            // From 1 s on nothing begins; what is in flight ends at 1.2 s; the rest goes on from 2.2 s.
            second = due(&job, &paused_ticks_of(&job));
            second.retain(|(_, connection, _), _| *connection == 1);
            assert_eq!(second, second_later(&straight, 3_000));
        }
    }
}

#[test]
fn clients_begin_one_after_the_other_the_second_by_a_time_of_its_own() {
    let apart = Apart {
        first_s: 10.0,
        each_s: 1.0,
    };
    let delays = [0, 1, 2, 19].map(|client| apart.delay_ns(client) / 1_000_000_000);
    assert_eq!(delays, [0, 10, 11, 28]);
}
