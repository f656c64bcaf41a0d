//! Marks: where they stand among the operations of a connection, and which jobs have them.

use super::tests::requests;
use crate::job::Job;

/// A job of one client: statements `work` and `mark`, with the role's further keys.
fn job(clients: u32, role: &str) -> Result<Job, String> {
    let text = format!(
        r#"{{"protocol": 1, "seed": 7, "step": "counted", "engine": "fake", "fake": {{"default_us": 10}}, "clients": {clients},
            "statements": [{{"name": "work", "protocol": "simple", "pieces": ["SELECT 1"]}},
                           {{"name": "mark", "protocol": "simple", "pieces": ["SELECT pg_backend_pid()"]}}],
            "programs": [{{"name": "work", "code": [["send", 0]]}}, {{"name": "mark", "code": [["send", 1]]}}],
            "roles": [{{"name": "r", "per": "client", "connections": 1, "choose": [{{"program": 0, "weight": 1}}],
                        {role}}}],
            "stop": {{"roles": ["r"], "seconds_max": 60}}}}"#
    );
    Job::parse(&text).map_err(|error| error.to_string())
}

#[test]
fn three_marks_follow_the_warm_up_and_one_ends_the_window() {
    let role = r#""pace": {"kind": "closed"}, "stop": {"operations": 9}, "marks": {"program": 1, "warmup": 2}"#;
    let sent = requests(&job(1, role).unwrap(), 1);
    let sent: Vec<_> = sent[&("r".to_owned(), 0)]
        .iter()
        .map(|sql| sql.contains("pid"))
        .collect();
    assert_eq!(
        sent,
        [false, false, true, true, true, false, false, false, true]
    );
}

#[test]
fn jobs_whose_marks_cut_nothing_are_refused() {
    let marks = r#""marks": {"program": 1, "warmup": 2}"#;
    let few = r#""pace": {"kind": "closed"}, "stop": {"operations": 6}"#;
    let paced =
        r#""pace": {"kind": "rate", "arrivals": "even", "per_s": 5}, "stop": {"operations": 9}"#;
    let closed = r#""pace": {"kind": "closed"}, "stop": {"operations": 9}"#;
    for (clients, role, word) in [
        (1, format!("{few}, {marks}"), "give at least 7"),
        (1, format!("{paced}, {marks}"), "at a closed pace"),
        (2, format!("{closed}, {marks}"), "of one connection"),
        (
            1,
            format!(r#"{closed}, {marks}, "connect": "each""#),
            "that lasts",
        ),
        (
            1,
            format!(r#"{closed}, "marks": {{"program": 9, "warmup": 2}}"#),
            "programs",
        ),
    ] {
        let error = job(clients, &role).unwrap_err();
        assert!(error.contains(word), "{error}");
    }
}
