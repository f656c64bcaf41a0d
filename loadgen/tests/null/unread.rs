//! Nobody reads the events: the step ends with the reason, and its memory does not grow without an end.

use crate::process::Generator;
use crate::programs::NullServer;
use dyno_loadgen::record::RECORDS_UNREAD_MAX;
use serde_json::{Value, json};
use std::io::Read;
use std::time::{Duration, Instant};

/// So many that the events of a few seconds are more than a pipe holds.
const CLIENTS: u64 = 1500;

#[test]
fn a_step_whose_events_nobody_reads_ends_with_the_reason() {
    let server = NullServer::start();
    let mut job = server.job("l.i0");
    (job["clients"], job["threads"]) = (CLIENTS.into(), 1.into());
    job["values"] = json!([]);
    job["statements"][0]["pieces"] = json!(["SELECT 1"]);
    let role = &mut job["roles"][0];
    role["pace"] = json!({"kind": "rate", "arrivals": "even", "per_s": 1.0});
    role["stop"] = Value::Null;
    job["stop"] = json!({"roles": [], "seconds": 600.0, "warmup_s": 0.0, "seconds_max": null});
    let mut generator = Generator::start(&job);
    generator.until("window_open");
    let patience = Duration::from_secs(4 * RECORDS_UNREAD_MAX as u64);
    let until = Instant::now() + patience;
    let exit = loop {
        if let Some(exit) = generator.child.try_wait().unwrap() {
            break exit;
        }
        assert!(Instant::now() < until, "it goes on");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(exit.code(), Some(1));
    let mut told = String::new();
    let stderr = generator.child.stderr.as_mut().unwrap();
    stderr.read_to_string(&mut told).unwrap();
    assert!(told.contains("nobody has read the events"), "{told}");
}
