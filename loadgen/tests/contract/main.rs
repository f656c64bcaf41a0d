//! The files of contract/ are what both languages agree on; what does not fit is refused with its key and remedy.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it stands"
)]

#[path = "../harness/mod.rs"]
mod harness;
mod values;

use dyno_loadgen::event::Event;
use dyno_loadgen::job::Job;
use serde_json::{Value, json};

/// Files of the contract with this beginning and end.
fn files(start: &str, end: &str) -> Vec<String> {
    let folder = format!("{}/contract", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| name.starts_with(start) && name.ends_with(end))
        .collect()
}

#[test]
fn example_jobs_are_valid_and_read_back_as_they_were() {
    let names = files("job-", ".json");
    assert!(names.len() >= 8, "{names:?}");
    for name in names {
        let text = harness::text(&name);
        let job = Job::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let written = serde_json::to_string(&job).unwrap();
        assert_eq!(Job::parse(&written).unwrap(), job, "{name}");
        let (mut before, mut after): (Value, Value) = (
            serde_json::from_str(&text).unwrap(),
            serde_json::from_str(&written).unwrap(),
        );
        // The fake's keys may be left out.
        for value in [&mut before, &mut after] {
            value.as_object_mut().unwrap().remove("fake");
        }
        assert_eq!(before, after, "{name}");
    }
}

#[test]
fn example_events_read_back_as_they_were() {
    let names = files("events-", ".jsonl");
    assert!(!names.is_empty());
    for line in names.iter().flat_map(|name| {
        let text = harness::text(name);
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    }) {
        let event: Event = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
    }
}

#[test]
fn a_job_is_read_from_a_stream_that_goes_on() {
    let text = format!(
        "{}\n{{\"do\":\"go\"}}\n",
        harness::text("job-qr100.json").trim_end()
    );
    let mut input = text.as_bytes();
    Job::read(&mut input).unwrap();
    assert_eq!(input, b"\n{\"do\":\"go\"}\n");
}

/// A job with one key changed; null keys on the way are made.
fn changed(name: &str, pointer: &str, value: Value) -> Value {
    let mut job: Value = serde_json::from_str(&harness::text(&format!("job-{name}.json"))).unwrap();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = job
        .pointer_mut(parent)
        .unwrap_or_else(|| panic!("{pointer}"));
    match parent {
        Value::Array(list) => list[key.parse::<usize>().unwrap()] = value,
        Value::Object(map) => {
            map.insert(key.to_owned(), value);
        }
        _ => panic!("{pointer}"),
    }
    job
}

/// An example, the key that is changed, its new value, then the key that is named and words of the message.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const CASES: &[Case] = &[
    ("qr100", "/protocol", "2", "protocol", "use 1"),
    ("qr100", "/colour", r#""red""#, "colour", "unknown field"),
    ("qr100", "/clients", "0", "clients", "at least 1"),
    ("qr100", "/server", "null", "server", "needs a server"),
    (
        "qr100",
        "/engine",
        r#""oracle""#,
        "engine",
        "unknown variant",
    ),
    ("qr100", "/engine", r#""fake""#, "fake", "default_us"),
    (
        "qr100",
        "/segment",
        r#"{"index": 2, "of": 2}"#,
        "segment",
        "below `of`",
    ),
    (
        "qr100",
        "/segment",
        r#"{"index": 0, "of": 3}"#,
        "segment.of",
        "at most one each",
    ),
    (
        "l.x",
        "/programs/0/code/0",
        r#"["sleep", 5]"#,
        "programs[0].code[0]",
        "between two `send`s",
    ),
    (
        "l.x",
        "/programs/0/code/3",
        r#"["sleep", 5]"#,
        "programs[0].code[3]",
        "between two `send`s",
    ),
    (
        "l.x",
        "/programs/0/code/1",
        r#"["sleep", 86400000001]"#,
        "programs[0].code[1]",
        "at most 86400000000, a day",
    ),
    (
        "qr100",
        "/tables",
        "{}",
        "statements[0].pieces[1]",
        "has no `pi`",
    ),
    (
        "qr100",
        "/values/1/uniform",
        "[1]",
        "values[1].uniform",
        "invalid length 1",
    ),
    (
        "qr100",
        "/values/1/uniform/0",
        r#"{"cursor": 3}"#,
        "values[1].uniform",
        "`cursors`, which has 1",
    ),
    (
        "qr100",
        "/values/1/constant",
        "3",
        "values[1]",
        "exactly one of",
    ),
    (
        "qr100",
        "/values/5/text/length",
        "[20, 10]",
        "values[5].text.length",
        "above the second",
    ),
    (
        "qr100",
        "/values/5/format",
        r#""integer""#,
        "values[5].format",
        "as `text`",
    ),
    (
        "qr100",
        "/values/2",
        r#"{"name": "x", "per": "item", "format": "integer", "add": {"value": 2, "plus": 1}}"#,
        "values[2].add",
        "itself",
    ),
    (
        "qr100",
        "/values/2",
        r#"{"name": "x", "per": "statement", "format": "integer", "add": {"value": 1, "plus": 1}}"#,
        "values[2].add",
        "more often",
    ),
    (
        "qr100",
        "/values/1/name",
        r#""now""#,
        "values[1].name",
        "twice",
    ),
    (
        "qr100",
        "/values/1/per",
        r#""transaction""#,
        "programs[0].code[0]",
        "draw it before",
    ),
    (
        "qr100",
        "/cursors/0/on",
        "9",
        "cursors[0].on",
        "`statements`, which has 5",
    ),
    (
        "qr100",
        "/statements/2/types",
        "[]",
        "statements[2].types",
        "0 types for 1 values",
    ),
    (
        "qr100",
        "/statements/0/types",
        r#"["int"]"#,
        "statements[0].types",
        "other protocols none",
    ),
    (
        "qr100",
        "/statements/0/pieces/3/repeat",
        "0",
        "statements[0].pieces[3].repeat",
        "1 to",
    ),
    (
        "qr100",
        "/statements/0/pieces/1",
        r#"{"after": 1}"#,
        "statements[0].pieces[1].after",
        "unknown field",
    ),
    (
        "qr100",
        "/programs/0/code/0",
        r#"["jump", 1]"#,
        "programs[0].code[0]",
        "no instruction `jump`",
    ),
    (
        "qr100",
        "/programs/0/code",
        "[]",
        "programs[0].code",
        "add a `send`",
    ),
    (
        "qr100",
        "/roles/0/name",
        r#""probe""#,
        "roles[0].name",
        "taken",
    ),
    (
        "qr100",
        "/roles/0/choose",
        "[]",
        "roles[0].choose",
        "chooses nothing",
    ),
    (
        "qr100",
        "/roles/0/choose/0/weight",
        "0",
        "roles[0].choose",
        "weight above 0",
    ),
    (
        "qr100",
        "/roles/0/choose/0/program",
        "5",
        "roles[0].choose[0].program",
        "`programs`, which has 5",
    ),
    (
        "qr100",
        "/roles/0/table",
        "null",
        "roles[0].table",
        "say which",
    ),
    (
        "qr100",
        "/roles/0/pace/per_s",
        "0",
        "roles[0].pace.per_s",
        "not above 0",
    ),
    (
        "qr100",
        "/roles/0/pace",
        r#"{"kind": "closed", "per_s": 3}"#,
        "roles[0].pace",
        "unknown field",
    ),
    (
        "qr100",
        "/roles/1/pace/to",
        r#""inserts""#,
        "roles[1].pace.to",
        "there are insert, delete, query",
    ),
    (
        "qr100",
        "/roles/1/pace/to",
        r#""delete""#,
        "roles[1].pace.to",
        "itself",
    ),
    (
        "qr100",
        "/roles/1/pace/lead",
        "0",
        "roles[1].pace.lead",
        "1 to",
    ),
    (
        "qr100",
        "/roles/1/stop",
        r#"{"operations": 5}"#,
        "roles[1].stop",
        "leave it out",
    ),
    (
        "qr100",
        "/roles/1/per",
        r#""step""#,
        "roles[1].pace.to",
        "same `per`",
    ),
    (
        "qr100",
        "/roles/2/pace",
        r#"{"kind": "tied", "to": "insert", "lead": 8}"#,
        "roles[1].pace.to",
        "a pair has two",
    ),
    (
        "qr100",
        "/roles/0/on_error/retry",
        r#"["4001"]"#,
        "roles[0].on_error.retry[0]",
        "SQLSTATE",
    ),
    (
        "qr100",
        "/roles/0/after",
        r#"["query"]"#,
        "roles[0].after[0]",
        "with the step only",
    ),
    (
        "qr100",
        "/roles/0/after",
        r#"["delete"]"#,
        "roles[0].after",
        "wait for itself",
    ),
    (
        "qr100",
        "/stop/roles",
        r#"["query"]"#,
        "stop.roles[0]",
        "would never end",
    ),
    ("qr100", "/stop/roles", "[]", "stop", "would never end"),
    ("qr100", "/stop/seconds", "3", "stop.roles", "one of them"),
    ("qr100", "/stop/warmup_s", "3", "stop.warmup_s", "give 0"),
    (
        "qr100",
        "/stop/seconds_max",
        "-3",
        "stop.seconds_max",
        "not above 0",
    ),
    (
        "qr100",
        "/stop/drain_s_max",
        "0",
        "stop.drain_s_max",
        "not above 0",
    ),
    ("qr100", "/roles", "[]", "roles", "neither"),
    (
        "qr100",
        "/roles/1/table/by",
        r#""in_turn""#,
        "roles[1].table.by",
        "has a cursor",
    ),
    (
        "fill",
        "/fills/0/streams",
        "65",
        "fills[0].streams",
        "at most 64",
    ),
    (
        "fill",
        "/fills/0/columns/1/each",
        "0",
        "fills[0].columns[1].each",
        "at least 1",
    ),
    (
        "fill",
        "/fills/0/after/0",
        r#"" ""#,
        "fills[0].after[0]",
        "one statement",
    ),
    (
        "fill",
        "/fills/0/columns/2/type",
        r#""int4""#,
        "fills[0].columns[2].value",
        "type `text`",
    ),
    (
        "fill",
        "/values/1/uniform/1",
        r#"{"cursor": 0}"#,
        "values[1].uniform",
        "which has 0",
    ),
    (
        "fake",
        "/fake/service_us/insrt",
        "3",
        "fake.service_us.insrt",
        "no statement",
    ),
    ("fake", "/fake/jitter", "1.5", "fake.jitter", "below 1"),
    (
        "fake",
        "/fake/errors/0/code",
        r#""x""#,
        "fake.errors[0].code",
        "SQLSTATE",
    ),
];

#[test]
fn what_is_wrong_with_a_job_is_named_with_its_key() {
    let mut wrong = Vec::new();
    for (name, pointer, value, key, words) in CASES.iter().chain(values::CASES) {
        let job = changed(name, pointer, serde_json::from_str(value).unwrap());
        let error = Job::parse(&job.to_string()).expect_err(pointer);
        let text = error.to_string();
        if error.key != *key || !text.contains(words) || text.contains('\n') {
            wrong.push(format!("{pointer}: {text}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(Job::parse("{").is_err() && Job::parse("").is_err());
    let trailing = format!("{} x", harness::text("job-qr100.json"));
    assert!(Job::parse(&trailing).is_err());
}

#[test]
fn roles_that_wait_in_a_circle_are_refused() {
    let mut job: Value = serde_json::from_str(&harness::text("job-cleanup.json")).unwrap();
    job["roles"][0]["after"] = json!(["checkpoint"]);
    let error = Job::parse(&job.to_string()).unwrap_err();
    assert_eq!(error.key, "roles[0].after");
}

#[test]
fn segments_share_every_schedule_but_bursts() {
    let mut job = changed("l.i0", "/roles/0/per", json!("step"));
    job["roles"][0]["connections"] = json!(2);
    job["segment"] = json!({"index": 1, "of": 2});
    for (arrivals, fits) in [("even", true), ("poisson", true), ("burst", false)] {
        job["roles"][0]["pace"] = json!({"kind": "rate", "arrivals": arrivals, "per_s": 10.0});
        let checked = Job::parse(&job.to_string());
        assert_eq!(checked.is_ok(), fits, "{arrivals}: {checked:?}");
    }
}
