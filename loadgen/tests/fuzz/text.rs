//! Texts: the server's errors; passfiles, which are the user's.

use crate::EXPLORED;
use crate::bound::bounded;
use bolero::check;
use dyno_loadgen::job::{Password, PasswordPlace};
use dyno_loadgen::samples::Tuples;
use dyno_loadgen::session::{ServerError, SessionError, Target, resolve};
use dyno_loadgen::wire::Wire;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The most characters of a message and its detail.
const LINE_CHARACTERS_MAX: usize = 9_000;

#[test]
fn any_error_of_a_server_is_one_plain_line() {
    check!()
        .with_type::<(Vec<(u8, Vec<u8>)>, bool, u8)>()
        .with_test_time(EXPLORED)
        .for_each(|(fields, ends, times)| {
            let mut body = Vec::new();
            for (field, text) in fields {
                body.push(b"CMDSVX\0"[usize::from(*field) % 7]);
                body.extend(text.repeat(usize::from(*times)));
                body.push(0);
            }
            body.extend(ends.then_some(0));
            let Ok(error) = bounded(body.len(), || ServerError::parse(&body)) else {
                return;
            };
            assert!(error.code.iter().all(u8::is_ascii_alphanumeric));
            let line = error.to_string();
            assert!(!line.chars().any(char::is_control), "{line:?}");
            assert!(line.chars().count() < LINE_CHARACTERS_MAX);
        });
}

#[test]
fn any_file_of_samples_is_tuples_or_one_line() {
    check!()
        .with_type::<Vec<Vec<u8>>>()
        .with_test_time(EXPLORED)
        .for_each(|values| {
            let mut content = b"{\"values\": [".to_vec();
            content.extend(values.join(&b","[..]));
            content.extend(b"]}");
            match bounded(content.len(), || Tuples::parse(&content)) {
                Ok(tuples) => assert!(tuples.sampled(tuples.draw(0)).bytes() != Some(b"\0")),
                Err(line) => assert!(!line.chars().any(char::is_control), "{line:?}"),
            }
        });
}

/// A file of a test's own, which goes with it.
struct Passfile(PathBuf);

impl Passfile {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("dyno-fuzz-{}", std::process::id()));
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        Self(path)
    }

    /// The password that a file of this content has for the target.
    fn find(&self, content: &[u8], target: &Target) -> Result<Option<String>, SessionError> {
        fs::write(&self.0, content).unwrap();
        let place = PasswordPlace::Passfile(self.0.clone());
        let insecure = false;
        resolve(Some(&Password { place, insecure }), target)
    }
}

impl Drop for Passfile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A text as a field of a passfile, each character protected.
fn protected(text: &str) -> String {
    text.chars()
        .flat_map(|character| ['\\', character])
        .collect()
}

/// A text that fits into one line.
fn of_one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

#[test]
fn any_passfile_has_its_passwords_found_or_is_refused_in_one_line() {
    let file = Passfile::new();
    check!()
        .with_type::<([String; 4], u16, Vec<u8>)>()
        .with_test_time(EXPLORED)
        .for_each(|([host, user, database, password], port, junk)| {
            let target = Target {
                wire: Wire::Postgres,
                host: of_one_line(host),
                ip: None,
                options: String::new(),
                port: *port,
                user: of_one_line(user),
                database: of_one_line(database),
                password: None,
                insecure: false,
                application_name: String::new(),
                tls: None,
            };
            if let Err(error) = file.find(junk, &target) {
                assert!(!error.to_string().contains('\n'));
            }
            let password = of_one_line(password);
            let fields = [
                &target.host,
                &port.to_string(),
                &target.database,
                &target.user,
            ];
            let line = fields.map(|field| protected(field) + ":").concat() + &protected(&password);
            let content = [line.as_bytes(), b"\n", junk].concat();
            if std::str::from_utf8(&content).is_ok() {
                let found = file.find(&content, &target).expect("a line that fits");
                assert_eq!(found.as_deref(), Some(&password[..]));
            }
        });
}
