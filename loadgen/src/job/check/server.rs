//! What makes a job's `server` valid: TLS where there can be some.

use super::{Check, ensure, refuse};
use crate::job::{Server, Tls};

impl Server {
    pub(super) fn check(&self) -> Check {
        if let Some(problem) = self.tls.as_ref().and_then(Tls::problem) {
            return Err(refuse("server.tls", problem));
        }
        ensure(
            !self.tls.as_ref().is_some_and(Tls::is_needed) || !self.host.starts_with('/'),
            "server.tls",
            "a unix socket has no TLS; leave it out, or give a host name",
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::job::Job;
    use serde_json::{Value, json};

    const JOB: &str = include_str!("../../../../contract/job-qr100.json");

    /// A job of the contract with one key changed.
    fn changed(parent: &str, key: &str, value: Value) -> String {
        let mut job: Value = serde_json::from_str(JOB).expect("an object");
        job.pointer_mut(parent).expect("a parent")[key] = value;
        job.to_string()
    }

    #[test]
    fn what_is_wrong_with_a_server_is_named_with_its_key() {
        for (pointer, value, key, words) in [
            (
                "/server/tls",
                r#"{"mode": "require"}"#,
                "server.tls",
                "a unix socket has no TLS",
            ),
            (
                "/server/tls",
                r#"{"mode": "allow"}"#,
                "server.tls.mode",
                "unknown variant `allow`, expected one of `prefer`, `require`, `verify-ca`, `verify-full`",
            ),
            (
                "/server",
                r#"{"host": "db", "port": 1, "user": "u", "database": "d",
                    "tls": {"mode": "require", "root_certificate": "/x"}}"#,
                "server.tls",
                "looks at no certificate",
            ),
            (
                "/server",
                r#"{"host": "db", "port": 1, "user": "u", "database": "d",
                    "tls": {"mode": "require", "certificate": "/x"}}"#,
                "server.tls",
                "a certificate and its key come together",
            ),
            (
                "/server",
                r#"{"host": "db", "port": 1, "user": "u", "database": "d",
                    "tls": {"mode": "prefer", "direct": true}}"#,
                "server.tls",
                "direct cannot be preferred only",
            ),
            (
                "/server/password",
                r#"{"env": "A", "passfile": "/x"}"#,
                "server.password",
                "name its place",
            ),
            (
                "/server/password",
                r#"{"env": "A", "insecure": "yes"}"#,
                "server.password",
                "true or false",
            ),
            ("/server/port", "null", "server.port", "expected u16"),
        ] {
            let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
            let value = serde_json::from_str(value).expect("a value");
            let error = Job::parse(&changed(parent, name, value)).expect_err(pointer);
            assert_eq!(error.key, key, "{error}");
            assert!(error.problem.contains(words), "{error}");
        }
    }

    #[test]
    fn a_password_in_a_job_is_refused_and_not_repeated() {
        for password in [
            json!("hush"),
            json!({"hush": 1}),
            json!({"env": {"hush": 1}}),
            json!({"env": "A", "insecure": "hush"}),
            json!({"env": "A", "hush": true}),
        ] {
            let error = Job::parse(&changed("/server", "password", password)).expect_err("hush");
            assert_eq!(error.key, "server.password");
            assert!(!error.problem.contains("hush"), "{error}");
        }
    }

    #[test]
    fn a_password_that_may_be_exposed_says_so_in_a_job_and_is_written_as_it_was_read() {
        for (written, insecure) in [
            (json!({"env": "A"}), false),
            (json!({"passfile": "/x", "insecure": true}), true),
        ] {
            let job = Job::parse(&changed("/server", "password", written.clone())).expect("valid");
            let again = serde_json::to_value(&job).expect("written");
            assert_eq!(again["server"]["password"], written);
            let password = job.server.and_then(|server| server.password);
            assert_eq!(password.expect("there").insecure, insecure);
        }
    }

    #[test]
    fn an_endpoint_is_checked_as_a_server_is_and_each_role_has_its_own() {
        let place = json!({"host": "/run/s", "port": 1, "user": "u", "database": "d"});
        let with = |endpoints: Value, named: &str| {
            let text = changed("", "endpoints", endpoints);
            let mut job: Value = serde_json::from_str(&text).expect("an object");
            job["roles"][0]["endpoint"] = json!(named);
            Job::parse(&job.to_string())
        };
        let job = with(json!({"standby": place}), "standby").expect("valid");
        assert_eq!(job.roles[0].endpoint.as_deref(), Some("standby"));
        for (endpoints, named, key) in [
            (json!({"standby": place}), "other", "roles[0].endpoint"),
            (
                json!({"standby": {"host": "/run/s"}}),
                "standby",
                "endpoints.standby",
            ),
        ] {
            assert_eq!(with(endpoints, named).expect_err(key).key, key);
        }
    }
}
