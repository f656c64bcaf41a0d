//! What the keys of a DSN mean, however they were written.

use crate::job::place::{Place, Tls, TlsMode};
use std::path::PathBuf;
use std::time::Duration;

/// PostgreSQL's port.
const PORT: u16 = 5432;
/// The keys that are understood.
const KEYS: [&str; 8] = [
    "user",
    "host",
    "port",
    "dbname",
    "sslmode",
    "sslrootcert",
    "application_name",
    "connect_timeout",
];

/// The values of [`KEYS`], by the key's place there, where they are given.
#[derive(Default)]
pub(super) struct Given([Option<String>; KEYS.len()]);

impl Given {
    /// Takes the value of a key.
    ///
    /// # Errors
    /// A key that is not known, stands twice, or would be a password's.
    pub(super) fn set(&mut self, key: &str, value: String) -> Result<(), String> {
        if matches!(key, "password" | "passfile" | "sslpassword") {
            return Err(format!(
                "`{key}` does not belong into it; name the place of the password by \
                 `server.password`"
            ));
        }
        let known = KEYS.iter().position(|&known| known == key);
        let Some(index) = known else {
            // What is no key in form may be a part of a password whose quotes do not close.
            let plain = |character: char| character.is_ascii_lowercase() || character == '_';
            let name = if key.chars().all(plain) { key } else { "…" };
            return Err(format!(
                "`{name}` is not understood; there are {}",
                KEYS.join(", ")
            ));
        };
        if value.contains('\0') {
            return Err(format!("`{key}` has a NUL; leave it out"));
        }
        if self.0[index].replace(value).is_some() {
            return Err(format!("`{key}` stands twice; give it once"));
        }
        Ok(())
    }

    /// A value that is there and not empty.
    fn get(&self, key: &str) -> Option<&str> {
        let index = KEYS.iter().position(|&known| known == key)?;
        self.0[index].as_deref().filter(|value| !value.is_empty())
    }

    fn need(&self, key: &str, example: &str) -> Result<String, String> {
        let value = self.get(key).map(str::to_owned);
        value.ok_or_else(|| format!("names no {key}; write {example}"))
    }

    /// What all of them say.
    ///
    /// # Errors
    /// What is missing or does not fit.
    pub(super) fn place(&self) -> Result<Place, String> {
        let place = Place {
            hosts: self.hosts()?,
            user: self.need("user", "postgresql://USER@host/database")?,
            database: self.need("dbname", "postgresql://user@host/DATABASE")?,
            tls: self.tls()?,
            application_name: self.get("application_name").map(str::to_owned),
            connect_timeout: self.connect_timeout()?,
        };
        if place.tls.is_some() && place.has_socket() {
            return Err(
                "a unix socket has no TLS; leave `sslmode` out or give a host name".to_owned(),
            );
        }
        Ok(place)
    }

    /// Hosts with the port of each, or the one port of all.
    fn hosts(&self) -> Result<Vec<(String, u16)>, String> {
        let hosts = self.need("host", "postgresql://user@HOST/database")?;
        let ports: Result<Vec<u16>, String> = self
            .get("port")
            .unwrap_or("")
            .split(',')
            .map(port)
            .collect();
        let ports = ports?;
        let hosts: Vec<&str> = hosts.split(',').collect();
        if hosts.contains(&"") {
            return Err("one of its hosts is empty; name it or remove its comma".to_owned());
        }
        if ports.len() != 1 && ports.len() != hosts.len() {
            return Err(format!(
                "has {} hosts and {} ports; give one port for all or one each",
                hosts.len(),
                ports.len()
            ));
        }
        let ports = ports.iter().cycle();
        Ok(hosts
            .into_iter()
            .map(str::to_owned)
            .zip(ports.copied())
            .collect())
    }

    fn tls(&self) -> Result<Option<Tls>, String> {
        let mode = match self.get("sslmode") {
            None | Some("disable") => None,
            Some("require") => Some(TlsMode::Require),
            Some("verify-ca") => Some(TlsMode::VerifyCa),
            Some("verify-full") => Some(TlsMode::VerifyFull),
            Some(open @ ("prefer" | "allow")) => {
                return Err(format!(
                    "`sslmode={open}` may encrypt or not, which are two benchmarks; say disable or \
                     require"
                ));
            }
            Some(_) => {
                return Err(
                    "`sslmode` is unknown; say disable, require, verify-ca or verify-full"
                        .to_owned(),
                );
            }
        };
        let root_certificate = self.get("sslrootcert");
        let Some(mode) = mode else {
            return match root_certificate {
                None => Ok(None),
                Some(_) => Err(
                    "`sslrootcert` is of no use without `sslmode`; say verify-ca or verify-full"
                        .to_owned(),
                ),
            };
        };
        let tls = Tls {
            mode,
            // "system" is libpq's word for the system's store.
            root_certificate: root_certificate
                .filter(|&path| path != "system")
                .map(PathBuf::from),
        };
        tls.problem()
            .map_or(Ok(Some(tls)), |problem| Err(problem.to_owned()))
    }

    fn connect_timeout(&self) -> Result<Option<Duration>, String> {
        let Some(text) = self.get("connect_timeout") else {
            return Ok(None);
        };
        match text.parse::<u32>() {
            Ok(seconds @ 1..) => Ok(Some(Duration::from_secs(seconds.into()))),
            _ => Err("`connect_timeout` must be whole seconds, 1 or more".to_owned()),
        }
    }
}

fn port(text: &str) -> Result<u16, String> {
    match text.parse::<u16>() {
        _ if text.is_empty() => Ok(PORT),
        Ok(port @ 1..) => Ok(port),
        _ => Err("its port is no number from 1 to 65535; correct it".to_owned()),
    }
}
