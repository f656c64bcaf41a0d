//! Tables that are drawn for each operation and class of statement, and rows numbered by operation and item.

use super::tests::{example, of, requests};
use crate::draw::{Draw, Values};
use crate::job::{FakeError, Job, Protocol};
use crate::statement::{ParameterKind, Parameters, Statement};
use std::collections::BTreeSet;

/// What one transaction of the contract's example sends.
const SENDS: usize = 8;

/// The connections of its role `query`.
const CONNECTIONS: u32 = 4;

fn tables() -> Job {
    example("tables", r#"{"default_us": 100}"#)
}

/// The number of the table that a request names, from 0.
fn table_of(request: &str) -> usize {
    let (_, rest) = request.split_once("sbtest").unwrap();
    rest[..4].parse::<usize>().unwrap() - 1
}

/// Whether counts are as even as chance makes them; the statistic exceeds `chi_max` once in a thousand.
fn is_even(counts: &[u32], chi_max: f64) -> bool {
    let mean = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    let squares = counts
        .iter()
        .map(|count| (f64::from(*count) - mean).powi(2));
    squares.sum::<f64>() / mean < chi_max
}

#[test]
fn each_class_of_an_operation_has_one_table_and_all_tables_are_alike_often() {
    let requests = requests(&tables(), 1);
    // Of point, points, update, and delete with insert; then of each pair of tables of the first two.
    let (mut counts, mut pairs) = ([[0_u32; 3]; 4], [0_u32; 9]);
    for connection in 0..CONNECTIONS {
        let sent = of(&requests, "query", connection);
        assert_eq!(sent.len(), 1000 * SENDS / 2);
        for operation in sent.chunks(SENDS) {
            let chosen: Vec<_> = operation[1..SENDS - 1]
                .iter()
                .map(|request| table_of(request))
                .collect();
            assert_eq!(chosen[0], chosen[1], "a repeated statement");
            assert_eq!(chosen[4], chosen[5], "delete and insert are of one class");
            for (class, table) in [chosen[0], chosen[2], chosen[3], chosen[4]]
                .into_iter()
                .enumerate()
            {
                counts[class][table] += 1;
            }
            pairs[chosen[0] * 3 + chosen[2]] += 1;
        }
    }
    // With 2 and 8 degrees of freedom.
    assert!(
        counts.iter().all(|tables| is_even(tables, 13.8)),
        "{counts:?}"
    );
    assert!(
        is_even(&pairs, 26.1),
        "classes draw for themselves: {pairs:?}"
    );
}

#[test]
fn another_try_of_a_transaction_goes_to_the_same_tables() {
    let mut job = tables();
    let once = requests(&job, 1);
    job.fake.as_mut().unwrap().errors = vec![FakeError {
        statement: "insert".to_owned(),
        every: 3,
        code: "40001".to_owned(),
    }];
    let again = requests(&job, 1);
    let sent = of(&again, "query", 1);
    assert!(sent.len() > 1000 * SENDS / 2 + 1000);
    let mut kept: Vec<&String> = Vec::new();
    for request in sent {
        if request == "ROLLBACK" {
            kept.truncate(kept.len() - (SENDS - 1));
        } else {
            kept.push(request);
        }
    }
    assert_eq!(kept, of(&once, "query", 1).iter().collect::<Vec<_>>());
}

#[test]
fn rows_are_numbered_over_clients_operations_and_items() {
    let requests = requests(&tables(), 1);
    let mut numbers = BTreeSet::new();
    for client in 0..2_i64 {
        let sent = of(&requests, "insert", u32::try_from(client).unwrap());
        assert_eq!(sent.len(), 10);
        for (operation, request) in (0..).zip(sent) {
            let rows = request.split_once("VALUES(").unwrap().1;
            for (item, row) in (0..).zip(rows.split("),(")) {
                let mut columns = row.split(", ");
                let number: i64 = columns.next().unwrap().parse().unwrap();
                let block = 1001 + 5 * (operation * 2 + client);
                assert_eq!(number, 1_000_000 * client + block + item, "{request}");
                assert_eq!(
                    columns.next().unwrap(),
                    number.to_string(),
                    "twice in an item"
                );
                numbers.insert(number);
            }
        }
    }
    assert_eq!(numbers.len(), 2 * 10 * 5);
}

#[test]
fn bound_items_are_numbered_as_written_ones_and_from_the_first_outside_of_a_repetition() {
    let mut job = tables();
    job.statements[7].protocol = Protocol::Prepared;
    let (values, mut draw) = (Values::new(&job), Draw::new(&job, &job.roles[1], 1));
    draw.begin(3);
    let kinds = [
        ParameterKind::Int8,
        ParameterKind::Int8,
        ParameterKind::Text,
    ];
    let mut out = Vec::new();
    let encoded = Statement::compile(&job, 7, "sbtest1").encode(
        &values,
        &mut draw,
        &Parameters::new(kinds.repeat(5)),
        &mut out,
    );
    assert_eq!(encoded, Ok(()));
    for item in 0..5_i64 {
        let number = 1_000_000 + 1001 + 5 * (3 * 2 + 1) + item;
        let bound = [8_i32.to_be_bytes().as_slice(), &number.to_be_bytes()].concat();
        let times = out.windows(12).filter(|bytes| *bytes == bound);
        assert_eq!(times.count(), 2, "item {item}");
    }
    let place = job.values.iter().position(|value| value.name == "place");
    draw.draw(&values, place.unwrap());
    assert_eq!(draw.drawn(place.unwrap()), 0);
}

#[test]
fn so_many_operations_of_a_role_as_a_sequence_says_have_the_same_number() {
    let requests = requests(&tables(), 1);
    let mut groups: Vec<i64> = (0..CONNECTIONS)
        .flat_map(|connection| of(&requests, "query", connection).chunks(SENDS))
        .map(|operation| {
            let arguments = operation[6].split_once('(').unwrap().1;
            arguments.split(',').nth(1).unwrap().parse().unwrap()
        })
        .collect();
    groups.sort_unstable();
    let expected: Vec<i64> = (0..2000).map(|number| 1 + number / 10 * 3).collect();
    assert_eq!(groups, expected);
}
