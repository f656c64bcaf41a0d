//! What makes a job's `server` valid: one way to write it, whole, and TLS where there can be some.

use super::{Check, JobError, ensure, refuse};
use crate::job::{Place, Server, Tls};

impl Server {
    pub(super) fn check(&self) -> Check {
        self.place().map(drop)
    }

    /// The server's place, whichever way it was written; of a job that was read it is there.
    ///
    /// # Errors
    /// Names the key that is missing or does not fit, and the remedy.
    pub fn place(&self) -> Result<Place, JobError> {
        let place = match &self.dsn {
            Some(dsn) => {
                self.check_dsn_alone()?;
                dsn.place.clone()
            }
            None => Place {
                hosts: vec![(
                    needed(self.host.as_ref(), "host")?,
                    needed(self.port.as_ref(), "port")?,
                )],
                user: needed(self.user.as_ref(), "user")?,
                database: needed(self.database.as_ref(), "database")?,
                tls: self.tls.clone(),
                application_name: None,
                connect_timeout: None,
            },
        };
        if let Some(problem) = self.tls.as_ref().and_then(Tls::problem) {
            return Err(refuse("server.tls", problem));
        }
        ensure(
            !self.tls.as_ref().is_some_and(Tls::is_needed) || !place.has_socket(),
            "server.tls",
            "a unix socket has no TLS; leave it out, or give a host name",
        )?;
        Ok(place)
    }

    fn check_dsn_alone(&self) -> Check {
        let others = [
            ("host", self.host.is_some(), "in the DSN"),
            ("port", self.port.is_some(), "in the DSN"),
            ("user", self.user.is_some(), "in the DSN"),
            ("database", self.database.is_some(), "as the DSN's dbname"),
            (
                "tls",
                self.tls.is_some(),
                "as the DSN's sslmode and sslrootcert",
            ),
        ];
        for (key, given, remedy) in others {
            ensure(
                !given,
                format!("server.{key}"),
                format!("stands beside `dsn`; give it {remedy}"),
            )?;
        }
        Ok(())
    }
}

fn needed<T: Clone>(value: Option<&T>, key: &str) -> Result<T, JobError> {
    value.cloned().ok_or_else(|| {
        refuse(
            format!("server.{key}"),
            "is missing; give host, port, user and database, or a dsn",
        )
    })
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
            (
                "/server/port",
                "null",
                "server.port",
                "is missing; give host, port, user and database, or a dsn",
            ),
            (
                "/server/dsn",
                r#""postgresql://u@db/d""#,
                "server.host",
                "stands beside `dsn`",
            ),
            (
                "/server",
                r#"{"dsn": "postgresql://u@db/d", "tls": {"mode": "require"}}"#,
                "server.tls",
                "as the DSN's sslmode",
            ),
            (
                "/server",
                r#"{"dsn": "postgresql://u:x@db/d"}"#,
                "server.dsn",
                "`server.password`",
            ),
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
                "endpoints.standby.port",
            ),
            (
                json!({"standby": {"dsn": "mysql://u@db/d"}}),
                "standby",
                "endpoints.standby.dsn",
            ),
        ] {
            assert_eq!(with(endpoints, named).expect_err(key).key, key);
        }
    }

    #[test]
    fn a_server_by_a_dsn_is_where_its_own_keys_would_say() {
        let text = "postgresql://u@db:5433/d?sslmode=verify-ca&sslrootcert=/x";
        let tls = json!({"mode": "verify-ca", "root_certificate": "/x"});
        let keys = json!({"host": "db", "port": 5433, "user": "u", "database": "d", "tls": tls});
        let read = |server: Value| {
            let job = Job::parse(&changed("", "server", server)).expect("valid");
            let written = serde_json::to_value(&job).expect("written");
            assert_eq!(Job::parse(&written.to_string()).expect("valid"), job);
            let place = job.server.expect("a server").place().expect("a place");
            (written, place)
        };
        let (written, place) = read(json!({"dsn": text}));
        assert_eq!(place, read(keys).1);
        assert_eq!(written["server"]["dsn"], text);
    }
}
