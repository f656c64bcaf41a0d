//! The log of operations in pgbench's form.

use crate::harness::play;
use crate::inserts;
use dyno_loadgen::event::Status;
use dyno_loadgen::job::{Arrivals, Job, Log, Otherwise, Pace};

/// Runs a job with a log of that share; the lines, and how the step ended.
fn logged(mut job: Job, share: f64) -> (Vec<String>, Status) {
    let prefix = std::env::temp_dir().join(format!(
        "dyno-log-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    let log = Log {
        prefix: prefix.to_str().unwrap().to_owned(),
        share,
    };
    let path = log.path("insert");
    job.log = Some(log);
    let status = play(&job).status;
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    (text.lines().map(str::to_owned).collect(), status)
}

/// A line without the time of its end.
fn told(line: &str) -> String {
    let words: Vec<_> = line.split(' ').collect();
    assert!(
        words[4].len() == 10 && words[5].parse::<u32>().unwrap() < 1_000_000,
        "{line}"
    );
    [&words[..4], &words[6..]].concat().join(" ")
}

#[test]
fn a_line_says_of_an_operation_what_pgbench_says() {
    let description = r#"{"default_us": 10000, "errors": [{"statement": "insert", "every": 3, "code": "40001"}]}"#;
    let mut job = inserts(description, 12);
    job.clients = 1;
    let role = &mut job.roles[0];
    role.latency_limit_ms = Some(5.0);
    role.pace = Pace::Rate {
        arrivals: Arrivals::Even,
        per_s: 500.0,
    };
    role.on_error.otherwise = Otherwise::CountRetryable;
    // Due every 2 ms. At 10 ms those of 2 and 4 ms are left out, at 20 ms those up to 14 ms; that of 16 ms fails at 30 ms,
    // over its limit, and the rest is left out.
    let (lines, status) = logged(job.clone(), 1.0);
    assert_eq!(status, Status::Ok);
    let lines: Vec<_> = lines.iter().map(|line| told(line)).collect();
    let skipped = |number: u32| format!("0 {number} skipped 0 0 0");
    let mut expected = vec!["0 1 10000 0 0 0".to_owned(), skipped(2), skipped(3)];
    expected.push("0 4 14000 0 4000 0".to_owned());
    expected.extend((5..9).map(skipped));
    expected.push("0 9 serialization 0 0 0".to_owned());
    expected.extend((10..13).map(skipped));
    assert_eq!(lines, expected);
    job.roles[0].pace = Pace::Closed {};
    job.roles[0].latency_limit_ms = None;
    let (lines, _) = logged(job, 1.0);
    assert_eq!(
        told(&lines[2]),
        "0 3 20000 0 1",
        "with its retry, and without a rate no lag"
    );
}

#[test]
fn a_share_is_a_sample_and_the_same_each_time() {
    let lines = |share| logged(inserts(r#"{"default_us": 500}"#, 1000), share).0;
    let numbers = |share| -> Vec<String> { lines(share).iter().map(|line| told(line)).collect() };
    assert_eq!(lines(1.0).len(), 2000);
    let sample = numbers(0.1);
    // Of a binomial distribution: 200, within five of its standard deviations.
    assert!((133..267).contains(&sample.len()), "{}", sample.len());
    assert_eq!(sample, numbers(0.1));
}

#[test]
fn a_log_that_cannot_be_made_ends_the_step_before_it_begins() {
    let mut job = inserts(r#"{"default_us": 500}"#, 10);
    job.log = Some(Log {
        prefix: "/nowhere/at-all/log".to_owned(),
        share: 1.0,
    });
    let played = play(&job);
    assert_eq!(played.status, Status::Failed);
    let reason = played.reason().unwrap();
    assert!(reason.contains("`/nowhere/at-all/log.insert`"), "{reason}");
}
