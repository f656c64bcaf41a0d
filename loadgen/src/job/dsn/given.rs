//! What the keys of a DSN mean, however they were written.

use super::words::{Key, Words};
use crate::job::place::{Place, Tls, TlsMode};
use std::path::PathBuf;
use std::time::Duration;

/// The values of keys, by the key's place, where they are given.
pub(super) struct Given {
    words: &'static Words,
    values: [Option<String>; Key::ALL.len()],
}

impl Given {
    /// Makes an empty one of a DSN with these words.
    pub(super) fn new(words: &'static Words) -> Self {
        Self {
            words,
            values: Default::default(),
        }
    }

    /// Takes the value of a key by its name.
    ///
    /// # Errors
    /// A key that is not known, stands twice, or would be a password's.
    pub(super) fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        if matches!(name, "password" | "passfile" | "sslpassword") {
            return Err(format!(
                "`{name}` does not belong into it; name the place of the password by \
                 `server.password`"
            ));
        }
        let known = |key: &Key| !name.is_empty() && self.words.name(*key) == name;
        let Some(key) = Key::ALL.into_iter().find(known) else {
            // What is no key in form may be a part of a password whose quotes do not close.
            let plain =
                |character: char| character.is_ascii_lowercase() || "_-".contains(character);
            let name = if name.chars().all(plain) { name } else { "…" };
            return Err(format!(
                "`{name}` is not understood; there are {}",
                self.words.names()
            ));
        };
        self.put(key, value)
    }

    /// Takes the value of a key.
    ///
    /// # Errors
    /// One that stands twice or cannot be.
    pub(super) fn put(&mut self, key: Key, value: String) -> Result<(), String> {
        let name = self.words.name(key);
        if value.contains('\0') {
            return Err(format!("`{name}` has a NUL; leave it out"));
        }
        if self.values[key as usize].replace(value).is_some() {
            return Err(format!("`{name}` stands twice; give it once"));
        }
        Ok(())
    }

    /// Returns a value that is there and not empty.
    fn get(&self, key: Key) -> Option<&str> {
        self.values[key as usize]
            .as_deref()
            .filter(|value| !value.is_empty())
    }

    fn need(&self, key: Key, form: &str) -> Result<String, String> {
        let (name, scheme) = (self.words.name(key), self.words.scheme);
        let value = self.get(key).map(str::to_owned);
        value.ok_or_else(|| format!("names no {name}; write {scheme}://{form}"))
    }

    /// Returns what all of them say.
    ///
    /// # Errors
    /// What is missing or does not fit.
    pub(super) fn place(&self) -> Result<Place, String> {
        let place = Place {
            hosts: self.hosts()?,
            user: self.need(Key::User, "USER@host/database")?,
            database: self.need(Key::Database, "user@host/DATABASE")?,
            tls: self.tls()?,
            application_name: self.get(Key::Name).map(str::to_owned),
            connect_timeout: self.connect_timeout()?,
        };
        if place.tls.as_ref().is_some_and(Tls::is_needed) && place.has_socket() {
            let mode = self.words.name(Key::Mode);
            return Err(format!(
                "a unix socket has no TLS; leave `{mode}` out or give a host name"
            ));
        }
        Ok(place)
    }

    /// Returns hosts with the port of each, or the one port of all; or the one socket.
    fn hosts(&self) -> Result<Vec<(String, u16)>, String> {
        let ports: Result<Vec<u16>, String> = self
            .get(Key::Port)
            .unwrap_or("")
            .split(',')
            .map(|text| port(text, self.words.port))
            .collect();
        let ports = ports?;
        if let Some(socket) = self.get(Key::Socket) {
            if !matches!(self.get(Key::Host), None | Some("localhost")) {
                return Err("has a socket and another host; leave one of them out".to_owned());
            }
            if !socket.starts_with('/') {
                return Err("`socket` is no path; write /path/to/the/socket".to_owned());
            }
            return Ok(vec![(socket.to_owned(), ports[0])]);
        }
        let hosts = self.need(Key::Host, "user@HOST/database")?;
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
        let (key, root_key) = (self.words.name(Key::Mode), self.words.name(Key::Root));
        let root_certificate = self.get(Key::Root);
        let mode = self.mode()?;
        if root_certificate.is_some() && (mode.is_none() || self.get(Key::Mode).is_none()) {
            return Err(format!(
                "`{root_key}` is of no use without `{key}`; say {} or {}",
                self.words.modes[3], self.words.modes[4]
            ));
        }
        let Some(mode) = mode else {
            return Ok(None);
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

    /// Returns the mode that is given, else the one that the clients of both protocols have then: TLS where the server has it.
    fn mode(&self) -> Result<Option<TlsMode>, String> {
        let key = self.words.name(Key::Mode);
        let Some(given) = self.get(Key::Mode) else {
            return Ok(Some(TlsMode::Prefer));
        };
        let same = |word: &&str| self.words.reads(word, given);
        let modes = [
            None,
            Some(TlsMode::Prefer),
            Some(TlsMode::Require),
            Some(TlsMode::VerifyCa),
            Some(TlsMode::VerifyFull),
        ];
        let known = self.words.modes.iter().position(same);
        known.map(|place| modes[place]).ok_or_else(|| {
            let [none, prefer, require, ca, full] = self.words.modes;
            format!("`{key}` is unknown; say {none}, {prefer}, {require}, {ca} or {full}")
        })
    }

    fn connect_timeout(&self) -> Result<Option<Duration>, String> {
        let Some(text) = self.get(Key::Timeout) else {
            return Ok(None);
        };
        match text.parse::<u32>() {
            Ok(seconds @ 1..) => Ok(Some(Duration::from_secs(seconds.into()))),
            _ => Err(format!(
                "`{}` must be whole seconds, 1 or more",
                self.words.name(Key::Timeout)
            )),
        }
    }
}

fn port(text: &str, usual: u16) -> Result<u16, String> {
    match text.parse::<u16>() {
        _ if text.is_empty() => Ok(usual),
        Ok(port @ 1..) => Ok(port),
        _ => Err("its port is no number from 1 to 65535; correct it".to_owned()),
    }
}
