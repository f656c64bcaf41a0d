//! The same job gives the same events, those of the contract's example among them.

use crate::SECOND_NS;
use crate::harness::{self, Played, play};
use dyno_loadgen::event::{Event, Status};
use dyno_loadgen::job::Job;
use serde_json::Value;

#[test]
fn the_same_seed_gives_the_same_events_and_another_seed_others() {
    let job = harness::example("fake");
    let events = |job: &Job| settled(&play(job), 0);
    let first = events(&job);
    assert!(first.len() > 20);
    assert_eq!(first, events(&job));
    let mut other = job;
    other.seed += 1;
    assert_ne!(first, events(&other));
}

#[test]
fn the_examples_of_events_are_what_the_example_job_gives() {
    let played = play(&harness::example("fake"));
    if std::env::var_os("DYNO_WRITE_EXAMPLES").is_some() {
        let path = format!("{}/contract/events-fake.jsonl", env!("CARGO_MANIFEST_DIR"));
        let hello = r#"{"event":"hello","mono_ns":1000000000,"protocol":1,"version":"0.1.0","commit":null,"profile":"release","pid":4711}"#;
        let events = settled(&played, 10 * SECOND_NS).join("\n");
        std::fs::write(path, format!("{hello}\n{events}\n")).unwrap();
    }
    let text = harness::text("events-fake.jsonl");
    let events = text.lines().skip(1);
    let written = Played {
        events: events
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
        status: Status::Ok,
    };
    let (expected, actual) = (settled(&written, 0), settled(&played, 0));
    for (number, (expected, actual)) in expected.iter().zip(&actual).enumerate() {
        assert_eq!(
            expected, actual,
            "event {number}; DYNO_WRITE_EXAMPLES=1 cargo test writes them anew"
        );
    }
    assert_eq!(expected.len(), actual.len());
}

/// Events as lines without what differs from run to run: as if the step had started at `base_ns`, and with fixed
/// values for memory and the wall clock.
fn settled(played: &Played, base_ns: u64) -> Vec<String> {
    let start_ns = played.start_ns();
    let events = played.events.iter().map(|event| {
        let mut event = serde_json::to_value(event).unwrap();
        if matches!(event["event"].as_str(), Some("connected" | "ready")) {
            event["mono_ns"] = start_ns.into();
        }
        let fixed = [
            ("unix_ns", 1_760_000_000_000_000_000_u64),
            ("peak_rss_bytes", 18_000_000),
        ];
        for (key, _) in fixed {
            event.as_object_mut().unwrap().remove(key);
        }
        shift(&mut event, start_ns, base_ns);
        for (key, number) in fixed {
            let expected = match key {
                "unix_ns" => "started",
                _ => "done",
            };
            if event["event"] == expected {
                event[key] = number.into();
            }
        }
        let typed: Event = serde_json::from_value(event).unwrap();
        serde_json::to_string(&typed).unwrap()
    });
    events.collect()
}

/// Moves every absolute time in an event, which no other number is as large as.
fn shift(value: &mut Value, start_ns: u64, base_ns: u64) {
    match value {
        Value::Number(number) => {
            let time_ns = number.as_u64().filter(|time_ns| *time_ns >= start_ns);
            if let Some(time_ns) = time_ns {
                *value = (time_ns - start_ns + base_ns).into();
            }
        }
        Value::Array(list) => list
            .iter_mut()
            .for_each(|value| shift(value, start_ns, base_ns)),
        Value::Object(map) => map
            .values_mut()
            .for_each(|value| shift(value, start_ns, base_ns)),
        _ => {}
    }
}
