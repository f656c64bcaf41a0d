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
            self.tls.is_none() || !place.has_socket(),
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
