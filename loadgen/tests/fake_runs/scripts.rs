//! Programs that compute, branch and pipeline: what they send, how long they take, and what ends them.

use crate::harness::{Played, converse, fake, play};
use crate::{SECOND_NS, timed};
use dyno_loadgen::event::Status;
use dyno_loadgen::job::{Expression, Instruction, Job, Program, Variable};
use dyno_loadgen::message::Command;
use serde_json::{Value, json};

/// The contract's example with a change of its JSON.
fn script(description: &str, change: impl FnOnce(&mut Value)) -> Job {
    let mut job = serde_json::to_value(fake("script", description)).unwrap();
    change(&mut job);
    Job::parse(&job.to_string()).unwrap()
}

/// The longest response of each operation of the example, and how many there were.
fn longest(played: &Played) -> Vec<(String, u64, u64)> {
    let ticks = played.ticks("mix");
    let names = ["mix", "begin", "read", "write", "end"].into_iter();
    let sums = names.map(|name| {
        let of_ticks = ticks.iter().map(|tick| &tick.operations[name]);
        let longest = of_ticks.clone().map(|operation| operation.max_us).max();
        let count = of_ticks.map(|operation| operation.count).sum();
        (name.to_owned(), longest.unwrap(), count)
    });
    sums.collect()
}

#[test]
fn a_script_goes_the_way_that_its_branch_says_and_is_timed_as_a_whole_and_by_statement() {
    // The fake gives 1 for the balance; the sleep is one of 2 ms.
    let played = play(&script(r#"{"default_us": 100}"#, |_| {}));
    assert_eq!(played.status, Status::Ok, "{:?}", played.reason());
    let of = |name: &str, longest_us| (name.to_owned(), longest_us, 2000);
    let straight = [
        of("mix", 2400),
        of("begin", 100),
        of("read", 100),
        of("write", 100),
        of("end", 100),
    ];
    assert_eq!(longest(&played), straight);
    let piped = play(&script(r#"{"default_us": 100}"#, |job| {
        job["variables"][9]["initial"]["boolean"] = false.into();
    }));
    assert_eq!(piped.status, Status::Ok, "{:?}", piped.reason());
    assert_eq!(longest(&piped)[0], of("mix", 400));
    assert_eq!(longest(&piped)[3], of("write", 100));
    let totals = piped.totals("mix");
    assert_eq!(totals[0], 2000);
}

#[test]
fn what_cannot_go_on_fails_the_step_with_its_place() {
    let plain = r#"{"default_us": 100}"#;
    let expression = |expression: Value| {
        script(plain, |job| {
            job["assignments"][2]["expression"] = expression;
        })
    };
    let code = |code: Value| script(plain, |job| job["programs"][0]["code"] = code);
    let integer = |number: i64| json!(["integer", number]);
    for (job, reason) in [
        (
            expression(json!(["divide", ["variable", 7], integer(0)])),
            "mix.sql:5:6: division by zero",
        ),
        (
            expression(json!(["random", ["variable", 7], integer(0)])),
            "mix.sql:5:6: empty range given to random",
        ),
        (
            script(r#"{"default_us": 100, "rows": {"read": 2}}"#, |_| {}),
            "mix.sql:4:1: expected one row, got 2",
        ),
        (
            script(plain, |job| {
                job["variables"][4]["initial"] = json!({"text": "x"});
            }),
            "mix.sql:7:8: invalid sleep time \"x\" for variable \"think_ms\"",
        ),
        (
            script(plain, |job| {
                job["variables"][4]["initial"] = Value::Null;
            }),
            "mix.sql:7:8: undefined variable \"think_ms\"",
        ),
        (
            code(json!([["send", 0], ["set", 2]])),
            "mix.sql:5:6: undefined variable \"balance\"",
        ),
        (
            script(plain, |job| {
                job["statements"][1]["into"]["columns"] = json!({"?column?": 7});
            }),
            "mix.sql:4:1: error storing into variable ?column?",
        ),
        (
            code(json!([["set", 0], ["send", 0]])),
            "script `mix`: end of script reached without completing the last transaction",
        ),
        (
            code(json!([["set", 0], ["pipeline", 0], ["send", 2]])),
            "script `mix`: end of script reached with pipeline open",
        ),
        (
            code(json!([["pipeline", 0], ["send", 1], ["flush", 0]])),
            "mix.sql:4:1: \\gset and \\aset are not allowed in pipeline mode",
        ),
        (
            code(json!([["pipeline", 0], ["pipeline", 0], ["flush", 0]])),
            "script `mix`: \\startpipeline: already in pipeline mode",
        ),
        (
            code(json!([["send", 2], ["flush", 0]])),
            "script `mix`: \\endpipeline: not in pipeline mode",
        ),
    ] {
        let played = play(&job);
        assert_eq!(played.status, Status::Failed, "{reason}");
        assert_eq!(played.reason().as_deref(), Some(reason));
    }
}

#[test]
fn an_error_within_a_pipeline_is_tried_again_with_the_rest() {
    let planted =
        r#"{"default_us": 100, "errors": [{"statement": "write", "every": 7, "code": "40001"}]}"#;
    let played = play(&script(planted, |job| {
        job["variables"][9]["initial"]["boolean"] = false.into();
        job["programs"][0]["code"] = json!([
            ["set", 0],
            ["send", 0],
            ["pipeline", 0],
            ["send", 2],
            ["sync", 0],
            ["send", 2],
            ["flush", 0],
            ["send", 3]
        ]);
    }));
    assert_eq!(played.status, Status::Ok, "{:?}", played.reason());
    let [count, _, errors, retries] = played.totals("mix");
    assert_eq!((count, errors), (2000, retries));
    assert!(
        retries > 500,
        "{retries} of two statements in 2,000 operations"
    );
}

/// Two clients whose scripts send nothing, beside two that do.
fn computing(seconds: f64) -> Job {
    let mut job = timed(r#"{"default_us": 100}"#, seconds, 0.0);
    job.variables = vec![Variable {
        name: "x".to_owned(),
        initial: None,
    }];
    let place = "x.sql:1:6".to_owned();
    job.assignments = vec![dyno_loadgen::job::Assignment {
        variable: 0,
        expression: Expression::Integer(1),
        place,
    }];
    job.programs.push(Program {
        name: "compute".to_owned(),
        code: vec![Instruction::Set(0)],
    });
    let mut role = job.roles[0].clone();
    "compute".clone_into(&mut role.name);
    role.choose[0].program = 1;
    job.roles.push(role);
    job
}

#[test]
fn scripts_that_send_nothing_leave_ticks_and_others_their_turn() {
    let played = play(&computing(0.2));
    assert_eq!(played.status, Status::Ok, "{:?}", played.reason());
    assert_eq!(played.active_ns(), SECOND_NS / 5);
    let others: u64 = played.counts("insert").iter().sum();
    assert!(
        (2 * 1200..=2 * 2000).contains(&others),
        "{others} of 4,000 at most"
    );
    let counts: Vec<u64> = {
        let ticks = played.ticks("compute");
        let client = |index: usize| {
            ticks
                .iter()
                .map(move |tick| tick.per_client[index][0])
                .sum()
        };
        (0..2).map(client).collect()
    };
    assert!(
        counts[0] > 5_000 && counts[0].abs_diff(counts[1]) <= 1,
        "{counts:?}"
    );
    let ticks = played.ticks("compute");
    assert!(
        ticks
            .iter()
            .all(|tick| tick.operations["compute"].max_us <= 400)
    );
}

#[test]
fn scripts_that_send_nothing_stop_when_they_are_told() {
    let mut job = computing(600.0);
    job.roles.remove(0);
    let played = converse(&job, &[("ready", Command::Go), ("tick", Command::Stop)]);
    assert_eq!(played.status, Status::Stopped);
    assert!(played.active_ns() < 60 * SECOND_NS);
}
