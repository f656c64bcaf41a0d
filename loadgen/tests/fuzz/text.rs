//! Texts: the server's errors, and passfiles.

use crate::EXPLORED;
use crate::memory::bounded;
use bolero::check;
use dyno_loadgen::session::postgres::ServerError;

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
