//! What operations draw, and how it is written.

use super::*;
use std::collections::BTreeSet;

fn example() -> Job {
    let path = format!("{}/contract/job-values.json", env!("CARGO_MANIFEST_DIR"));
    Job::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// All values of an operation, in the order of the job's list.
fn drawn(values: &Values, draw: &mut Draw, operation: u64) -> Vec<i64> {
    draw.begin(operation);
    let list = 0..values.list.len();
    list.map(|index| {
        draw.draw(values, index);
        draw.drawn(index)
    })
    .collect()
}

/// Whether a value is what it is by the operations that were before it.
fn is_counted(value: &Value) -> bool {
    matches!(value.maker, Maker::Count(_) | Maker::Newest(_))
}

#[test]
fn what_an_operation_draws_depends_neither_on_order_nor_on_tries() {
    let mut job = example();
    job.values.retain(|value| !is_counted(value));
    let values = Values::new(&job);
    let role = &job.roles[0];
    let mut forward = Draw::new(&job, role, 1);
    let ahead: Vec<_> = (0..50)
        .map(|number| drawn(&values, &mut forward, number))
        .collect();
    let mut backward = Draw::new(&job, role, 1);
    for number in (0..50).rev() {
        for _ in 0..2 {
            assert_eq!(drawn(&values, &mut backward, number as u64), ahead[number]);
        }
    }
    let other = drawn(&values, &mut Draw::new(&job, role, 0), 0);
    for (index, value) in job.values.iter().enumerate() {
        let constant = matches!(value.maker, Maker::Constant(_) | Maker::Join(_));
        assert_eq!(other[index] == ahead[0][index], constant, "{}", value.name);
    }
}

#[test]
fn a_sequence_has_each_number_once_over_all_connections_of_a_role() {
    let mut job = example();
    let values = Values::new(&job);
    let index = (0..job.values.len())
        .find(|index| matches!(job.values[*index].maker, Maker::Sequence(_)))
        .unwrap();
    for (clients, connections) in [(1, 1), (2, 3), (5, 1)] {
        (job.clients, job.roles[0].connections) = (clients, connections);
        let all = u64::from(clients * connections);
        let mut numbers = BTreeSet::new();
        for connection in 0..all {
            let mut draw = Draw::new(&job, &job.roles[0], connection);
            for operation in 0..10 {
                draw.begin(operation);
                draw.draw(&values, index);
                assert!(numbers.insert(draw.drawn(index)), "it comes twice");
            }
        }
        let first = 1_000_001;
        assert_eq!(
            numbers,
            (first..first + i64::try_from(all * 10).unwrap()).collect()
        );
    }
}

#[test]
fn an_operation_counts_once_whatever_its_tries_and_others_see_it_when_it_has_ended() {
    let job = example();
    let values = Values::new(&job);
    let mut counted = (0..job.values.len()).filter(|index| is_counted(&job.values[*index]));
    let (added, newest) = (counted.next().unwrap(), counted.next().unwrap());
    let mut draws = [0, 1].map(|connection| Draw::new(&job, &job.roles[0], connection));
    for (connection, number) in [(0, 500), (1, 501), (0, 500)] {
        drawn(&values, &mut draws[connection], 7);
        assert_eq!(draws[connection].drawn(added), number);
        assert_eq!(draws[connection].drawn(newest), 499);
    }
    for (ended, seen) in [(1, 499), (0, 501)] {
        draws[ended].end(&values);
        draws[ended].draw(&values, newest);
        assert_eq!(draws[ended].drawn(newest), seen);
    }
}

#[test]
fn a_joined_text_is_written_from_what_its_parts_were_drawn_as() {
    let job = example();
    let values = Values::new(&job);
    let index = |name: &str| {
        let mut list = job.values.iter();
        list.position(|value| value.name == name).unwrap()
    };
    let (early, number, name) = (index("early"), index("number"), index("name"));
    let mut draw = Draw::new(&job, &job.roles[0], 0);
    for operation in 0..50 {
        drawn(&values, &mut draw, operation);
        let (early, number) = (draw.drawn(early), draw.drawn(number));
        let hash = early
            .to_le_bytes()
            .iter()
            .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
            });
        assert_eq!(number, hash.cast_signed().wrapping_abs() % 10_000_000);
        let word = ["BAR", "OUGHT"][usize::try_from(early / 10 % 2).unwrap()];
        let mut out = Vec::new();
        values.write_quoted(&mut out, (name, values.backslash(false)), &draw);
        assert_eq!(out, format!("'it''s {word}{number}'").as_bytes());
    }
}

#[test]
fn a_scattered_zipf_is_a_plain_one_permuted() {
    let job = example();
    let values = Values::new(&job);
    let index = |name: &str| {
        let mut list = job.values.iter();
        list.position(|value| value.name == name).unwrap()
    };
    let (plain, scattered) = (index("ranked"), index("scattered"));
    let Maker::Skewed(distribution) = &job.values[scattered].maker else {
        panic!("`scattered` is a zipf")
    };
    let permutation = crate::value::Permutation::new(job.seed, distribution.range());
    let mut draw = Draw::new(&job, &job.roles[0], 0);
    for operation in 0..100 {
        draw.begin(operation);
        draw.draw(&values, plain);
        draw.begin(operation);
        draw.draw(&values, scattered);
        assert_eq!(draw.drawn(scattered), permutation.number(draw.drawn(plain)));
    }
}
