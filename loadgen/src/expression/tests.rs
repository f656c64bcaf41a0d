//! What expressions give, as pgbench 15 gives it.

use super::{Registers, ScriptCode};
use crate::job::Job;
use crate::value::mix_in;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

/// A job whose assignments are these, to variable 0, and whose variables hold these at first.
fn job(variables: &Json, expressions: &[Json]) -> Job {
    let mut job: Json = serde_json::from_str(
        &std::fs::read_to_string(format!(
            "{}/contract/job-script.json",
            env!("CARGO_MANIFEST_DIR")
        ))
        .unwrap(),
    )
    .unwrap();
    job["variables"] = variables.clone();
    job["assignments"] = expressions
        .iter()
        .map(|expression| json!({"variable": 0, "expression": expression, "place": "x.sql:1:1"}))
        .collect();
    (job["branches"], job["sleeps"]) = (json!([]), json!([]));
    job["statements"] = json!([{"name": "one", "protocol": "simple", "pieces": ["SELECT 1"]}]);
    job["programs"][0]["code"] = json!([["send", 0]]);
    Job::parse(&job.to_string()).unwrap()
}

fn variables() -> Json {
    json!([
        {"name": "set"},
        {"name": "five", "initial": {"integer": 5}},
        {"name": "client", "initial": {"client": {"first": 5}}},
        {"name": "text", "initial": {"text": "ye"}},
        {"name": "bad", "initial": {"text": "5x"}},
    ])
}

/// What each expression gives as text, or why it gives nothing.
fn values(variables: &Json, expressions: &[Json]) -> Vec<String> {
    let job = job(variables, expressions);
    let code = ScriptCode::new(&job);
    let mut registers = Registers::new(&job, 0);
    let mut drawn = 0;
    let mut random = || {
        drawn += 1;
        mix_in(1, drawn)
    };
    let mut evaluate = |index: usize| {
        let outcome = code.assignments[index]
            .expression
            .evaluate(&mut registers, &mut random);
        match outcome {
            Ok(value) => {
                let mut text = Vec::new();
                value.write(&mut text);
                String::from_utf8(text).unwrap()
            }
            Err(fault) => fault.text(&code.variables),
        }
    };
    (0..expressions.len()).map(&mut evaluate).collect()
}

fn integer(number: i64) -> Json {
    json!(["integer", number])
}

/// Expressions and what they give. Variable 2 holds 5, which is known only when the script runs.
const TABLE: &[(&str, &str)] = &[
    (r#"["add",["variable",2],["integer",7]]"#, "12"),
    (
        r#"["add",["variable",2],["integer",9223372036854775807]]"#,
        "bigint add out of range",
    ),
    (
        r#"["subtract",["integer",-9223372036854775808],["variable",2]]"#,
        "bigint sub out of range",
    ),
    (
        r#"["multiply",["integer",9223372036854775807],["variable",2]]"#,
        "bigint mul out of range",
    ),
    (r#"["divide",["integer",-7],["integer",2]]"#, "-3"),
    (
        r#"["divide",["integer",-9223372036854775808],["integer",-1]]"#,
        "bigint div out of range",
    ),
    (r#"["remainder",["integer",-7],["variable",2]]"#, "-2"),
    (r#"["mod",["double",7.5],["integer",3]]"#, "2"),
    (
        r#"["remainder",["integer",-9223372036854775808],["integer",-1]]"#,
        "0",
    ),
    (
        r#"["divide",["variable",2],["integer",0]]"#,
        "division by zero",
    ),
    (r#"["divide",["variable",2],["double",0.0]]"#, "Infinity"),
    (
        r#"["divide",["integer",1],["double",3.0]]"#,
        "0.333333333333333",
    ),
    (r#"["negate",["variable",2]]"#, "-5"),
    (
        r#"["negate",["integer",-9223372036854775808]]"#,
        "bigint sub out of range",
    ),
    (r#"["lt",["variable",2],["double",5.5]]"#, "true"),
    (r#"["gt",["variable",2],["integer",5]]"#, "false"),
    (r#"["ge",["variable",2],["double",5.0]]"#, "true"),
    (
        r#"["eq",["boolean",true],["boolean",true]]"#,
        "cannot coerce boolean to int",
    ),
    (
        r#"["ne",["boolean",true],["double",1.0]]"#,
        "cannot coerce boolean to double",
    ),
    (r#"["le",["null"],["integer",1]]"#, "NULL"),
    (r#"["and",["boolean",false],["null"]]"#, "false"),
    (r#"["and",["null"],["boolean",false]]"#, "NULL"),
    (r#"["and",["boolean",true],["null"]]"#, "NULL"),
    (
        r#"["or",["boolean",true],["divide",["integer",1],["integer",0]]]"#,
        "true",
    ),
    (
        r#"["or",["boolean",false],["integer",1]]"#,
        "cannot coerce int to boolean",
    ),
    (r#"["or",["boolean",false],["boolean",false]]"#, "false"),
    (r#"["not",["null"]]"#, "NULL"),
    (r#"["not",["lt",["variable",2],["integer",3]]]"#, "true"),
    (r#"["is_null",["null"]]"#, "true"),
    (r#"["is_true",["integer",1]]"#, "false"),
    (r#"["is_false",["boolean",false]]"#, "true"),
    (
        r#"["case",["integer",0],["integer",1],["double",0.5],["integer",2],["integer",3]]"#,
        "2",
    ),
    (r#"["case",["null"],["integer",1],["null"]]"#, "NULL"),
    (r#"["bit_and",["integer",12],["integer",10]]"#, "8"),
    (r#"["bit_or",["integer",12],["integer",3]]"#, "15"),
    (r#"["bit_xor",["integer",12],["integer",10]]"#, "6"),
    (r#"["bit_not",["variable",2]]"#, "-6"),
    (
        r#"["shift_left",["integer",1],["integer",63]]"#,
        "-9223372036854775808",
    ),
    (r#"["shift_right",["integer",-16],["integer",2]]"#, "-4"),
    (r#"["shift_left",["integer",1],["integer",64]]"#, "1"),
    (r#"["abs",["integer",-17]]"#, "17"),
    (r#"["abs",["double",-1.5]]"#, "1.5"),
    (r#"["double",["variable",2]]"#, "5"),
    (
        r#"["double",["boolean",true]]"#,
        "cannot coerce boolean to double",
    ),
    (r#"["int",["double",2.5]]"#, "2"),
    (r#"["int",["double",3.5]]"#, "4"),
    (r#"["int",["double",-0.6]]"#, "-1"),
    (
        r#"["int",["double",1e+19]]"#,
        "double to int overflow for 10000000000000000000.000000",
    ),
    (
        r#"["greatest",["integer",1],["variable",2],["integer",3]]"#,
        "5",
    ),
    (
        r#"["least",["integer",1],["double",0.5],["variable",2]]"#,
        "0.5",
    ),
    (r#"["greatest",["integer",1],["null"]]"#, "NULL"),
    (r#"["power",["integer",2],["integer",10]]"#, "1024"),
    (r#"["power",["integer",10],["integer",15]]"#, "1e+15"),
    (r#"["exp",["integer",1]]"#, "2.71828182845905"),
    (r#"["ln",["double",10.0]]"#, "2.30258509299405"),
    (r#"["sqrt",["integer",2]]"#, "1.4142135623731"),
    (r#"["pi"]"#, "3.14159265358979"),
    (r#"["random",["variable",2],["variable",2]]"#, "5"),
    (
        r#"["random",["integer",2],["integer",1]]"#,
        "empty range given to random",
    ),
    (
        r#"["random",["integer",0],["integer",9223372036854775807]]"#,
        "random range is too large",
    ),
    (r#"["random",["null"],["integer",1]]"#, "NULL"),
    (
        r#"["random_gaussian",["integer",1],["integer",9],["double",1.5]]"#,
        "gaussian parameter must be at least 2.000000 (not 1.500000)",
    ),
    (
        r#"["random_zipfian",["integer",1],["integer",9],["integer",1]]"#,
        "zipfian parameter must be in range [1.001, 1000] (not 1.000000)",
    ),
    (
        r#"["random_exponential",["integer",1],["integer",9],["integer",0]]"#,
        "exponential parameter must be greater than zero (not 0.000000)",
    ),
    (
        r#"["permute",["integer",0],["integer",0],["integer",1]]"#,
        "permute size parameter must be greater than zero",
    ),
    (r#"["variable",3]"#, "true"),
    (
        r#"["add",["variable",4],["integer",1]]"#,
        "the value \"5x\" of variable \"bad\" is malformed",
    ),
    (r#"["variable",0]"#, "undefined variable \"set\""),
];

#[test]
fn expressions_give_what_pgbench_gives() {
    let expressions: Vec<Json> = TABLE
        .iter()
        .map(|(expression, _)| serde_json::from_str(expression).unwrap())
        .collect();
    let given = values(&variables(), &expressions);
    for ((expression, expected), given) in TABLE.iter().zip(given) {
        assert_eq!(given, *expected, "{expression}");
    }
}

/// Functions, their arguments, and the number that pgbench 15 printed.
const SCATTERED: [(&str, &[i64], i64); 15] = [
    ("hash_murmur2", &[0, 0], 8_217_090_173_679_840_641),
    ("hash_murmur2", &[10, 5432], -5_817_877_081_768_721_676),
    ("hash_murmur2", &[-1, -i64::MAX], -1_728_268_885_188_513_103),
    ("hash_fnv1a", &[0, 0], -6_284_781_860_667_377_211),
    ("hash_fnv1a", &[10, 5432], -7_793_829_335_365_542_153),
    ("hash_fnv1a", &[-1, -5], 3_002_647_230_868_340_502),
    ("permute", &[0, 1, 9], 0),
    ("permute", &[1, 2, 9], 0),
    ("permute", &[2, 3, 9], 2),
    ("permute", &[0, 10, 5432], 6),
    ("permute", &[9, 10, 5432], 2),
    ("permute", &[12_345, 1_000_000, -17], 413_302),
    ("permute", &[-5, 1000, 7], 935),
    (
        "permute",
        &[1 << 62, i64::MAX, 42],
        8_300_065_859_511_544_193,
    ),
    ("permute", &[7, 8, 0], 1),
];

#[test]
fn hashes_and_permutations_are_pgbenchs_own() {
    let expressions: Vec<_> = SCATTERED
        .iter()
        .map(|(function, arguments, _)| {
            let arguments = arguments.iter().map(|number| integer(*number));
            std::iter::once(json!(function)).chain(arguments).collect()
        })
        .collect();
    let given = values(&variables(), &expressions);
    for ((function, arguments, expected), given) in SCATTERED.iter().zip(given) {
        assert_eq!(given, expected.to_string(), "{function}{arguments:?}");
    }
}

proptest! {
    #[test]
    fn a_permutation_has_each_number_once(size in 1_i64..300, seed: i64) {
        let expressions: Vec<_> = (0..size)
            .map(|number| json!(["permute", ["integer", number], ["integer", size], ["integer", seed]]))
            .collect();
        let mut given: Vec<i64> = values(&variables(), &expressions)
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        given.sort_unstable();
        prop_assert_eq!(given, (0..size).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_drawn_is_within_its_bounds(low in -1000_i64..1000, more in 0_i64..1000, parameter in 2.0..20.0) {
        let arguments = json!([["integer", low], ["integer", low + more], ["double", parameter]]);
        let expressions: Vec<_> = ["random_exponential", "random_gaussian", "random_zipfian"]
            .iter()
            .map(|name| json!([name, arguments[0], arguments[1], arguments[2]]))
            .chain([json!(["random", arguments[0], arguments[1]])])
            .collect();
        for text in values(&variables(), &expressions) {
            let number: i64 = text.parse().unwrap();
            prop_assert!((low..=low + more).contains(&number));
        }
    }
}
