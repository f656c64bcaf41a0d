//! What operations draw, and how it is written.

use super::*;
use crate::chi_squared;
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

/// The job of the example with the values of TPC-C's NURand(a, low, high), as the workload `orders` writes them.
fn nurand(a: i64, (low, high): (i64, i64), constant: i64) -> Job {
    let mut job = example();
    job.values = serde_json::from_value(serde_json::json!([
        {"name": "low", "per": "item", "format": "integer", "uniform": [0, a]},
        {"name": "high", "per": "item", "format": "integer", "uniform": [low, high]},
        {"name": "drawn", "per": "item", "format": "integer", "compute": {"range": [low, high], "expression":
            ["add", ["remainder", ["add", ["bit_or", ["variable", 0], ["variable", 1]], ["integer", constant]],
                     ["integer", high - low + 1]], ["integer", low]]}},
    ]))
    .unwrap();
    job
}

/// The probability of each number of NURand(a, low, high), where `a` is a power of two less one: the bits of
/// `random(0, a)` are set or not by the toss of a coin each, so that `random(low, high)` becomes with them every
/// number that has its bits, alike (clause 2.1.6).
fn nurand_exact(a: i64, (low, high): (i64, i64), constant: i64) -> Vec<f64> {
    let size = usize::try_from(high - low + 1).unwrap();
    let bits = a.count_ones();
    let width = 1_usize << bits;
    let mut exact = vec![0.0; size];
    for block in low >> bits..=high >> bits {
        let first = block << bits;
        let mut ends: Vec<f64> = (0..=a)
            .map(|part| {
                let within = (low..=high).contains(&(first + part));
                f64::from(u8::from(within)) / 2_f64.powi((bits - part.count_ones()).cast_signed())
            })
            .collect();
        // Sums over all parts whose bits a number has (Yates 1937).
        for bit in (0..bits).map(|bit| 1 << bit) {
            for number in (0..width).filter(|number| number & bit != 0) {
                ends[number] += ends[number ^ bit];
            }
        }
        for (part, weight) in (0..=a).zip(ends) {
            exact[usize::try_from((first + part + constant) % (high - low + 1)).unwrap()] +=
                weight / size as f64;
        }
    }
    exact
}

#[test]
fn nurand_has_its_exact_probabilities_and_its_hottest_tenth() {
    const DRAWS: u64 = 300_000;
    for (a, range, constant, hottest) in [
        (255, (0, 999), 223, None),
        (1023, (1, 3_000), 259, Some(0.62)),
        (8191, (1, 100_000), 7_911, None),
    ] {
        let exact = nurand_exact(a, range, constant);
        let job = nurand(a, range, constant);
        let values = Values::new(&job);
        let mut draw = Draw::new(&job, &job.roles[0], 1);
        let mut counts = vec![0; exact.len()];
        for operation in 0..DRAWS {
            counts[usize::try_from(drawn(&values, &mut draw, operation)[2] - range.0).unwrap()] +=
                1;
        }
        chi_squared::refuse_unlikely(&counts, &exact, &format!("NURand({a})"));
        let mut numbers: Vec<usize> = (0..exact.len()).collect();
        numbers.sort_by(|one, other| exact[*other].total_cmp(&exact[*one]));
        let of_hottest = numbers[..exact.len() / 10]
            .iter()
            .map(|number| counts[*number]);
        let share = of_hottest.sum::<u64>() as f64 / DRAWS as f64;
        assert!(
            hottest.is_none_or(|known: f64| (share - known).abs() < 0.01),
            "{share}"
        );
    }
}
