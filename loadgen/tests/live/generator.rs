//! Jobs for the generator's program on a real server, and what the server says of them.

use crate::server::{self, Server};
use dyno_loadgen::event::Event;
use serde_json::{Value, json};
use std::sync::Arc;

/// A job of the contract on this server, on tables of `name` that are made anew, unless they are `unused`.
pub(crate) fn job(server: &Server, example: &str, name: &str) -> Value {
    let path = format!("{}/contract/job-{example}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path)
        .unwrap()
        .replace("\"pi\"", &format!("\"{name}\""));
    let mut job: Value = serde_json::from_str(&text).unwrap();
    let target = server.target();
    job["autostart"] = true.into();
    job["server"] = json!({"host": target.host, "port": target.port, "user": target.user, "database": target.database});
    if name == "unused" {
        return job;
    }
    let mut session = server.session();
    for number in 1..=2 {
        let sql = format!(
            "DROP TABLE IF EXISTS {name}{number};
             CREATE TABLE {name}{number} (transactionid bigserial PRIMARY KEY, dateandtime timestamp,
               cashregisterid int NOT NULL, customerid int NOT NULL, productid int NOT NULL, price int NOT NULL, data varchar(4000));
             ALTER SEQUENCE {name}{number}_transactionid_seq CACHE 1000"
        );
        session.query(&sql).unwrap();
    }
    session.close();
    job
}

pub(crate) fn number(server: &Server, sql: &str) -> i64 {
    let mut session = server.session();
    let answer = session.query(sql).unwrap();
    session.close();
    answer.rows[0][0].as_deref().unwrap().parse().unwrap()
}

/// A closed role of one statement on `clients` clients, for a time. The statement waits, so that the processors have time
/// for the tests beside.
pub(crate) fn selects(server: &Server, clients: u32, seconds: f64) -> Value {
    let mut job = job(server, "l.i0", "unused");
    (job["clients"], job["tables"]["unused"]) = (clients.into(), 1.into());
    job["statements"][0]["pieces"] = json!(["SELECT pg_sleep(0.001)"]);
    job["roles"][0]["name"] = "select".into();
    job["roles"][0]["stop"] = Value::Null;
    job["stop"] = json!({"seconds": seconds});
    job
}

pub(crate) fn server() -> Option<Arc<Server>> {
    server::shared()
}

/// The same without making the tables anew.
pub(crate) fn job_on(server: &Server, example: &str, name: &str) -> Value {
    let mut made = job(server, example, "unused");
    let text = made
        .to_string()
        .replace("\"unused\"", &format!("\"{name}\""));
    made = serde_json::from_str(&text).unwrap();
    made
}

/// The server's processes that were announced, as an SQL list.
pub(crate) fn pids(events: &[Event]) -> String {
    let pids = events.iter().filter_map(|event| match event {
        Event::Connected { server_pid, .. } => Some(server_pid.to_string()),
        _ => None,
    });
    format!("({})", pids.collect::<Vec<_>>().join(","))
}
