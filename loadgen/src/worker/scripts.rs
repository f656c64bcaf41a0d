//! What scripts send when they are tried again: the same draws, and variables as the try before left them.

use super::tests::{example, of, requests};
use crate::job::{Instruction, Job};
use serde_json::json;

/// Counts its tries in a variable that lasts, draws, and sends both; each third statement is refused.
fn counting(errors: bool) -> Job {
    let planted = json!([{"statement": "write", "every": 3, "code": "40001"}]);
    let fake = json!({"default_us": 100, "errors": if errors { planted } else { json!([]) }});
    let mut job = serde_json::to_value(example("script", &fake.to_string())).unwrap();
    job["assignments"] = json!([
        {"variable": 7, "place": "x.sql:1:1", "expression":
            ["add", ["variable", 7], ["integer", 1]]},
        {"variable": 6, "place": "x.sql:2:1", "expression": ["random", ["integer", 0], ["integer", 1_000_000]]},
    ]);
    job["variables"][7]["initial"] = json!({"integer": 0});
    job["statements"][2]["protocol"] = "simple".into();
    job["statements"][2]["libpq"] = false.into();
    job["statements"][2]["results"] = "binary".into();
    job["statements"][2]["pieces"] =
        json!(["INSERT ", {"variable": 6}, " ", {"variable": 7}, " ", {"variable": 0}]);
    job["programs"][0]["code"] = json!([["set", 0], ["set", 1], ["send", 2]]);
    job["roles"][0]["stop"] = json!({"operations": 20});
    let job = Job::parse(&job.to_string()).unwrap();
    assert_eq!(job.programs[0].code[2], Instruction::Send(2));
    job
}

/// The numbers of each request of a client: what it drew, its variable, the client.
fn sent(job: &Job, connection: u32) -> Vec<[i64; 3]> {
    let requests = requests(job, 1);
    let numbers = |request: &String| {
        let mut words = request.split(' ').skip(1).map(|word| word.parse().unwrap());
        [0; 3].map(|_| words.next().unwrap())
    };
    of(&requests, "mix", connection)
        .iter()
        .map(numbers)
        .collect()
}

#[test]
fn a_script_that_is_tried_again_draws_the_same_and_keeps_its_variables() {
    for connection in 0..2 {
        let once = sent(&counting(false), connection);
        assert_eq!(once.len(), 20);
        let again = sent(&counting(true), connection);
        assert!(again.len() > 25, "{again:?}");
        for (try_, numbers) in (1..).zip(&again) {
            assert_eq!(
                numbers[1..],
                [try_, i64::from(connection)],
                "counted in each try"
            );
        }
        let mut drawn: Vec<_> = again.iter().map(|numbers| numbers[0]).collect();
        drawn.dedup();
        assert_eq!(
            drawn,
            once.iter().map(|numbers| numbers[0]).collect::<Vec<_>>()
        );
    }
}
