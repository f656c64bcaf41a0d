//! The password that a job only names: found in the environment or in a file of libpq's format, and sent only where that
//! exposes it to nobody.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::{fs, io};

use super::error::{SessionError, one_line};
use super::target::Target;
use super::transport::Transport;
use crate::job::{Password, PasswordPlace};
use crate::wire::Wire;

/// Where servers put their socket by default: PostgreSQL's own builds, and those of distributions.
/// (libpq knows only the one that it was built with.)
const SOCKET_FOLDERS: [&str; 3] = ["/tmp", "/run/postgresql", "/var/run/postgresql"];

/// Who else can read what is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privacy {
    /// Whoever is on the way.
    Open,
    /// The same, and the job says that the password may be sent all the same.
    Insecure,
    /// Nobody: it stays on this machine, over a unix socket.
    Socket,
    /// Nobody, by TLS.
    Tls,
}

impl Privacy {
    /// Tells who can read what is sent to the target over its stream as it is now. A connection over TCP is open also on this
    /// machine: the one rule is easier to know than its exceptions, and what listens there may be a tunnel's end.
    pub(super) fn of(stream: &Transport, target: &Target) -> Self {
        match stream {
            Transport::Tls(_) => Self::Tls,
            Transport::Plain(_) if target.host.starts_with('/') => Self::Socket,
            Transport::Plain(_) if target.insecure => Self::Insecure,
            Transport::Plain(_) => Self::Open,
        }
    }
}

/// Returns the error of a server that does not let the user in; `reason` may quote what the server sent.
pub(super) fn not_let_in(user: &str, reason: &str) -> SessionError {
    let reason = one_line(reason.as_bytes());
    SessionError::Auth(format!(
        "the server does not let in user `{user}`: {reason}"
    ))
}

/// Returns the error of a server that asks for the password in a way that would expose it; `tls`: how TLS is asked for.
pub(super) fn exposed(user: &str, asked: &str, tls: &str) -> SessionError {
    SessionError::Auth(format!(
        "the server asks for the password of user `{user}` {asked}, which exposes it without TLS: ask for TLS (`{tls}`), \
         or allow it by `insecure = true` beside the password's place"
    ))
}

/// Returns the password for the target, whose own `password` is not looked at; `None` where the job names
/// none.
///
/// # Errors
/// `Auth` with the variable or file that does not hold it, and the remedy.
pub fn resolve(
    password: Option<&Password>,
    target: &Target,
) -> Result<Option<String>, SessionError> {
    match password.map(|password| &password.place) {
        None => Ok(None),
        Some(PasswordPlace::Env(name)) => of_environment(name).map(Some),
        Some(PasswordPlace::Passfile(path)) => of_file(path, target).map(Some),
    }
}

fn of_environment(name: &str) -> Result<String, SessionError> {
    std::env::var(name).map_err(|_| {
        SessionError::Auth(format!(
            "the environment variable `{name}` of `server.password` is not set: export it"
        ))
    })
}

fn of_file(path: &Path, target: &Target) -> Result<String, SessionError> {
    let refuse = |problem: String| {
        SessionError::Auth(format!("the passfile `{}` {problem}", path.display()))
    };
    let unreadable =
        |error: io::Error| refuse(format!("of `server.password` cannot be read: {error}"));
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(refuse("is no plain file: name one".to_owned()));
    }
    // libpq says so and goes on without a password; here that would be the server's refusal.
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(refuse("is open to others: run chmod 600 on it".to_owned()));
    }
    let text = fs::read_to_string(path).map_err(unreadable)?;
    find(&text, target).ok_or_else(|| {
        let Target {
            host,
            port,
            database,
            user,
            ..
        } = target;
        refuse(format!(
            "has no line for `{host}:{port}:{database}:{user}`: add one"
        ))
    })
}

/// Returns the password of the first line that fits (PostgreSQL documentation, "The Password File"):
/// `host:port:database:user:password`, `*` fits all, `\` takes the next character as it is.
/// A Unix socket's host is its folder, with MySQL its file; for the default folder, and any file, also `localhost`.
fn find(text: &str, target: &Target) -> Option<String> {
    let port = target.port.to_string();
    let socket_of_localhost = match target.wire {
        Wire::Postgres => SOCKET_FOLDERS.contains(&target.host.as_str()),
        Wire::MySql(_) => target.host.starts_with('/'),
    };
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| {
            let mut rest = line;
            let host = field(&mut rest)?;
            let fits = |field: &str, wanted: &str| field == "*" || unescaped(field) == wanted;
            let all = (fits(host, &target.host) || (socket_of_localhost && host == "localhost"))
                && fits(field(&mut rest)?, &port)
                && fits(field(&mut rest)?, &target.database)
                && fits(field(&mut rest)?, &target.user);
            all.then(|| unescaped(rest))
        })
}

/// Takes a field, as it is written, and the colon that ends it from the front of a line.
fn field<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let line = *rest;
    let mut escaped = false;
    let end = line.find(|character| {
        let ends = character == ':' && !escaped;
        escaped = character == '\\' && !escaped;
        ends
    })?;
    *rest = &line[end + 1..];
    Some(&line[..end])
}

/// Returns a text without the backslashes that protect the next character; one at the end stays.
fn unescaped(text: &str) -> String {
    let mut characters = text.chars();
    let mut plain = String::new();
    while let Some(character) = characters.next() {
        match character {
            '\\' => plain.push(characters.next().unwrap_or('\\')),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;

    fn target(host: &str) -> Target {
        Target {
            wire: Wire::Postgres,
            host: host.to_owned(),
            ip: None,
            port: 5432,
            user: "dyno".to_owned(),
            database: "ib".to_owned(),
            options: String::new(),
            password: None,
            insecure: false,
            application_name: "test".to_owned(),
            tls: None,
        }
    }

    fn at(place: PasswordPlace) -> Password {
        let insecure = false;
        Password { place, insecure }
    }

    #[test]
    fn the_first_line_that_fits_counts() {
        let text = "# a comment\n\
                    other:5432:ib:dyno:one\n\
                    db:5432:ib:someone:two\n\
                    db:*:ib:dyno:three\n\
                    *:*:*:*:four\n";
        assert_eq!(find(text, &target("db")).as_deref(), Some("three"));
        assert_eq!(find(text, &target("elsewhere")).as_deref(), Some("four"));
        assert_eq!(find("db:5433:ib:dyno:x\nbroken\n\n", &target("db")), None);
    }

    #[test]
    fn a_backslash_protects_colons_and_itself_and_the_password_may_hold_colons() {
        let text = r"\:\:1:5432:ib:dyno:a\\b:c\:d";
        assert_eq!(find(text, &target("::1")).as_deref(), Some(r"a\b:c:d"));
    }

    #[test]
    fn a_protected_star_is_itself_and_a_backslash_at_the_end_too() {
        let text = "\\*:5432:ib:dyno:one\n*:5432:ib:dyno:two\\\r\n";
        assert_eq!(find(text, &target("db")).as_deref(), Some("two\\"));
        assert_eq!(find(text, &target("*")).as_deref(), Some("one"));
        assert_eq!(
            find("d\\b:5432:i\\b:dyno:x", &target("db")).as_deref(),
            Some("x")
        );
        assert_eq!(find("d*:5432:ib:dyno:x", &target("db")), None);
    }

    #[test]
    fn a_socket_is_named_by_its_folder_and_the_default_one_also_as_localhost() {
        for (line, folder, password) in [
            ("/run/dyno:5432:ib:dyno:x", "/run/dyno", Some("x")),
            ("localhost:5432:ib:dyno:x", "/run/dyno", None),
            ("localhost:5432:ib:dyno:x", "/tmp", Some("x")),
            ("localhost:5432:ib:dyno:x", "/var/run/postgresql", Some("x")),
            ("/tmp:5432:ib:dyno:x", "/tmp", Some("x")),
            ("localhost:5432:ib:dyno:x", "db", None),
        ] {
            assert_eq!(find(line, &target(folder)).as_deref(), password, "{line}");
        }
    }

    #[test]
    fn a_file_that_is_missing_open_to_others_or_without_a_line_is_an_error_that_names_it() {
        let path = std::env::temp_dir().join(format!("dyno-passfile-{}", std::process::id()));
        let password = at(PasswordPlace::Passfile(path.clone()));
        let resolve = || resolve(Some(&password), &target("db"));
        let _ = fs::remove_file(&path);
        let missing = resolve().expect_err("missing").to_string();
        fs::write(&path, "db:5432:ib:dyno:secret\n").expect("a file");
        fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("permissions");
        let open = resolve().expect_err("open").to_string();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("permissions");
        assert_eq!(resolve().expect("found").as_deref(), Some("secret"));
        fs::write(&path, "db:5432:other:dyno:secret\n").expect("a file");
        let none = resolve().expect_err("no line").to_string();
        fs::remove_file(&path).expect("removed");
        fs::create_dir(&path).expect("a folder");
        let folder = resolve().expect_err("a folder").to_string();
        fs::remove_dir(&path).expect("removed");
        assert!(folder.contains("no plain file"), "{folder}");
        assert!(
            open.contains("chmod 600") && none.contains("`db:5432:ib:dyno`"),
            "{open} {none}"
        );
        for text in [missing, open, none] {
            assert!(
                text.contains(&path.display().to_string()) && !text.contains("secret"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_variable_that_is_not_set_is_an_error_that_names_it() {
        let password = at(PasswordPlace::Env("DYNO_NO_SUCH_VARIABLE".to_owned()));
        let refused = resolve(Some(&password), &target("db")).expect_err("not set");
        assert!(refused.to_string().contains("`DYNO_NO_SUCH_VARIABLE`"));
        assert_eq!(resolve(None, &target("db")).expect("none"), None);
    }
}
