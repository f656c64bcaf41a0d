//! The same work over each kind of connection that a job can ask for.

use crate::generator::{job, number, selects};
use crate::process::{Ended, run};
use crate::server::{self, Server};
use dyno_loadgen::event::{Event, Status};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The server in TLS.
fn in_tls(server: &Server) -> Value {
    let (port, root) = (server.target().port, server.data().join("root.crt"));
    json!({"host": "localhost", "port": port, "user": "dyno", "database": "postgres",
           "tls": {"mode": "verify-full", "root_certificate": root}})
}

/// What the captured statements saw, each connection's by itself.
fn captured(ended: &Ended) -> BTreeMap<u32, Vec<Option<String>>> {
    let mut seen: BTreeMap<u32, Vec<Option<String>>> = BTreeMap::new();
    for event in &ended.events {
        if let Event::Captured { client, rows, .. } = event {
            seen.entry(*client).or_default().extend(rows.concat());
        }
    }
    seen
}

#[test]
fn one_connection_and_many_work_in_tls() {
    let Some(server) = server::encrypted() else {
        return;
    };
    for clients in [1, 8] {
        let mut job = selects(&server, clients, 1.0);
        job["server"] = in_tls(&server);
        job["statements"][0]["pieces"] =
            json!(["SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"]);
        job["capture"] = json!(["rows"]);
        let ended = run(&job);
        let (status, reason, totals) = ended.done();
        assert_eq!((status, &reason), (Status::Ok, &None));
        assert!(totals["select"].count > 10, "{totals:?}");
        let seen = captured(&ended);
        assert_eq!(seen.len(), clients as usize);
        let in_tls = |value: &Option<String>| value.as_deref() == Some("t");
        assert!(seen.values().flatten().all(in_tls), "{seen:?}");
    }
}

#[test]
fn a_fill_in_tls_is_the_same_as_one_without() {
    let Some(server) = server::encrypted() else {
        return;
    };
    let mut digests = Vec::new();
    for place in [None, Some(in_tls(&server))] {
        let mut job = job(&server, "fill", "unused");
        server
            .session()
            .query("DROP TABLE IF EXISTS sbtest1, sbtest2")
            .unwrap();
        for table in ["sbtest1", "sbtest2"] {
            let sql = format!("CREATE TABLE {table} (id serial, k int, c char(120), pad char(60))");
            server.session().query(&sql).unwrap();
        }
        job["fills"][0]["rows"] = 20_000.into();
        job["server"] = place.unwrap_or_else(|| job["server"].clone());
        let ended = run(&job);
        let (status, reason, totals) = ended.done();
        assert_eq!((status, &reason), (Status::Ok, &None));
        assert_eq!(totals["fill"].rows, 40_000);
        digests.push(number(
            &server,
            "SELECT sum(hashtext(t::text)) FROM sbtest1 t",
        ));
    }
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn a_password_is_found_in_a_passfile() {
    let Some(server) = server::encrypted() else {
        return;
    };
    let role = "SET password_encryption = 'scram-sha-256'; DROP ROLE IF EXISTS by_text; \
                CREATE ROLE by_text LOGIN PASSWORD 'a:b'";
    server.session().query(role).unwrap();
    let port = server.target().port;
    let path: PathBuf = std::env::temp_dir().join(format!("dyno-pgpass-{}", std::process::id()));
    std::fs::write(&path, format!("127.0.0.1:{port}:*:by_text:a\\:b\n")).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let mut job = selects(&server, 1, 0.5);
    job["server"] = json!({
        "host": "127.0.0.1", "port": port, "user": "by_text", "database": "postgres",
        "tls": {"mode": "prefer"},
        "password": {"passfile": path},
    });
    let found = run(&job);
    job["server"]["host"] = "localhost".into();
    let missing = run(&job);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(found.done().0, Status::Ok, "{:?}", found.done());
    let (status, reason, _) = missing.done();
    assert_eq!(status, Status::Failed);
    let reason = reason.unwrap();
    assert!(reason.contains("has no line for `localhost:"), "{reason}");
}
