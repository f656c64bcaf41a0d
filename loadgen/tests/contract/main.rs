//! The files of contract/ are what both languages agree on; what does not fit is refused with its key and remedy.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it stands"
)]

mod cases;
#[path = "../harness/mod.rs"]
mod harness;
mod roles;
mod values;

use cases::CASES;
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

#[test]
fn what_is_wrong_with_a_job_is_named_with_its_key() {
    let mut wrong = Vec::new();
    for (name, pointer, value, key, words) in CASES.iter().chain(roles::CASES).chain(values::CASES)
    {
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

#[test]
fn each_segment_has_connections_and_a_part_of_what_ends_the_step() {
    let parse = |job: &Value| Job::parse(&job.to_string()).map_err(|error| error.key);
    // Twelve clients, and beside them one connection for all.
    let mut job = changed("l.i0", "/clients", json!(12));
    let mut beside = job["roles"][0].clone();
    beside["name"] = json!("beside");
    beside["per"] = json!("step");
    beside["stop"] = Value::Null;
    beside["pace"] = json!({"kind": "closed"});
    job["roles"].as_array_mut().unwrap().push(beside);
    job["segment"] = json!({"index": 2, "of": 3});
    assert!(parse(&job).is_ok(), "the last of three has clients only");
    job["stop"]["roles"] = json!(["insert", "beside"]);
    job["roles"][1]["stop"] = json!({"operations": 5});
    assert_eq!(parse(&job).unwrap_err(), "roles[1].connections");
    // Connections alone need no clients.
    job["roles"].as_array_mut().unwrap().remove(0);
    (job["clients"], job["roles"][0]["connections"]) = (json!(1), json!(3));
    job["stop"] = json!({"seconds": 5});
    assert!(parse(&job).is_ok());
    job["segment"] = json!({"index": 2, "of": 4});
    assert_eq!(parse(&job).unwrap_err(), "segment.of");
}
