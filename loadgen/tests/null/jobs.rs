//! Jobs of the contract come to their end against the null server.

use crate::programs::{Done, NullServer, done, run};
use serde_json::{Value, json};

/// Operations of each role that has a quota.
const OPERATIONS: u64 = 60;

/// Returns an example, shortened: quotas and rates are cut down, and what SQL prepares is sent as a text.
fn shortened(server: &NullServer, example: &str) -> Value {
    let mut job = server.job(example);
    for role in job["roles"].as_array_mut().unwrap() {
        if role["pace"]["kind"] == "rate" {
            role["pace"]["per_s"] = 60.0.into();
        }
        if let Some(operations) = role["stop"]["operations"].as_u64() {
            role["stop"]["operations"] = operations.min(OPERATIONS).into();
        }
    }
    for statement in job["statements"].as_array_mut().unwrap() {
        if statement["protocol"] == "execute" {
            (statement["protocol"], statement["types"]) = ("simple".into(), json!([]));
        }
    }
    job
}

fn count(done: &Done, role: &str) -> u64 {
    done.totals[role].count
}

#[test]
fn loads_and_deletes_do_their_quotas() {
    let server = NullServer::start();
    for (example, roles) in [
        ("l.i0", &["insert"][..]),
        ("l.x", &["index"]),
        ("l.i1", &["insert", "delete"]),
        ("tables", &["query"]),
    ] {
        let ended = run(&shortened(&server, example));
        let done = done(&ended);
        for role in roles {
            let expected = if *role == "index" { 1 } else { OPERATIONS };
            let all = expected * 2;
            assert_eq!(count(&done, role), all, "{example}, {role}, of two clients");
        }
    }
}

#[test]
fn queries_beside_inserts_go_on_until_these_end() {
    let server = NullServer::start();
    for example in ["qr100", "qp100"] {
        let ended = run(&shortened(&server, example));
        let done = done(&ended);
        assert_eq!(count(&done, "insert"), OPERATIONS * 2, "{example}");
        assert_eq!(count(&done, "delete"), OPERATIONS * 2, "{example}");
        let query = done.totals["query"];
        assert!(query.count > OPERATIONS, "{example}: {query:?}");
        assert_eq!(query.rows, query.count, "{example}: a row each");
    }
}

#[test]
fn maintenance_is_done_and_captured() {
    let server = NullServer::start();
    let ended = run(&shortened(&server, "cleanup"));
    let done = done(&ended);
    assert_eq!((count(&done, "vacuum"), count(&done, "checkpoint")), (2, 1));
}

#[test]
fn every_protocol_gets_its_row() {
    let server = NullServer::start();
    for protocol in ["simple", "extended", "prepared"] {
        let mut job = server.job("l.i0");
        job["values"] =
            json!([{"name": "id", "per": "item", "format": "integer", "uniform": [1, 9]}]);
        job["statements"] = json!([{"name": "point", "protocol": protocol, "types": [], "rows": 1,
            "pieces": ["SELECT c FROM ", {"table": "pi"}, " WHERE id=", {"value": 0}]}]);
        job["programs"] = json!([{"name": "point", "code": [["send", 0]]}]);
        job["roles"][0]["stop"]["operations"] = OPERATIONS.into();
        let ended = run(&job);
        let insert = done(&ended).totals["insert"];
        assert_eq!(
            (insert.count, insert.rows),
            (OPERATIONS * 2, OPERATIONS * 2),
            "{protocol}"
        );
    }
}
