//! What can go wrong in a session, told apart as far as the engine treats it differently, and how servers report it.

use std::fmt;

use crate::record::Code;
use crate::record::number_code;

/// The most characters that are kept of a text of the server.
const TEXT_CHARACTERS_MAX: usize = 4_000;

/// An error of a session. Its text is one line that says what to do, where something can be done.
#[derive(Debug)]
pub enum SessionError {
    /// The server could not be reached.
    Connect(String),
    /// The server did not let the user in.
    Auth(String),
    /// The connection is not encrypted as it was asked for; nothing has been sent over it.
    Tls(String),
    /// The server refused a statement outside the hot path; on it, see [`Reply::error`].
    ///
    /// [`Reply::error`]: super::Reply::error
    Server(ServerError),
    /// The server sent what the protocol does not allow here, or was asked what it cannot carry.
    Protocol(String),
    /// The connection ended while it was needed.
    Lost(String),
    /// The operating system refused something else.
    Io(std::io::Error),
}

/// An error that the server reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// The SQLSTATE code, five ASCII characters.
    pub code: Code,
    /// MySQL's own number of the error; 0 where the server has none.
    pub number: u16,
    /// The message on one line, with the detail after it where there is one.
    pub message: String,
}

impl ServerError {
    /// Returns the SQLSTATE code as text.
    #[must_use]
    pub fn code_text(&self) -> &str {
        std::str::from_utf8(&self.code).unwrap_or("?????")
    }

    /// Returns what to do about an error that poolers give where servers do not; empty for others.
    fn remedy(&self) -> &'static str {
        if UNPREPARED.contains(&self.code) && self.number == 0 {
            ": behind a pooler of transactions, write `protocol = \"extended\"` or `\"simple\"` in \
             the workload, or for `\"prepared\"` give PgBouncer, from 1.21 on, \
             `max_prepared_statements`"
        } else if self.message.starts_with(NOT_PASSED) {
            ": remove it from the DSN, or name it in PgBouncer's `ignore_startup_parameters`"
        } else {
            ""
        }
    }

    /// Whether the server ended a statement because its time was over. `limited`: the session has a limit, so that a
    /// cancelled statement of PostgreSQL, whose message is in the server's language, was cancelled for it.
    #[must_use]
    pub fn is_time_out(&self, limited: bool) -> bool {
        matches!(self.number, MYSQL_TIME_OUT | MARIADB_TIME_OUT)
            || (self.code == *QUERY_CANCELED
                && self.number == 0
                && (limited || self.message.contains(STATEMENT_TIMEOUT)))
    }

    /// Returns the error without what its message may quote of values: what stands in quotes, numbers, and the detail.
    ///
    /// Names of tables, columns and functions that are not there stay: they are in the statement's text.
    #[must_use]
    pub fn without_values(&self) -> Self {
        let message = if NAMES.contains(&self.code) {
            self.message.clone()
        } else {
            let quotes = |character: char| {
                matches!(character, '"' | '\'' | '`' | '(' | ':' | '«' | '„' | '“')
                    || character.is_numeric()
            };
            let (begin, rest) = match self.message.find(quotes) {
                Some(at) => self.message.split_at(at),
                None => (&*self.message, ""),
            };
            let cut = if rest.is_empty() { "" } else { "…" };
            format!("{begin}{cut}")
        };
        Self {
            message,
            ..self.clone()
        }
    }

    /// Returns what the error counts as: its SQLSTATE, or MySQL's number where that is the general one, which says nothing (a
    /// lock that was waited for too long is 1205 and HY000).
    #[must_use]
    pub fn tally(&self) -> Code {
        if self.number > 0 && self.code == GENERAL {
            number_code(self.number)
        } else {
            self.code
        }
    }
}

/// The state of a statement that was cancelled, and how PostgreSQL says that its time was over.
const QUERY_CANCELED: &Code = b"57014";
const STATEMENT_TIMEOUT: &str = "statement timeout";
/// What MySQL and MariaDB answer when a statement's time is over.
const MYSQL_TIME_OUT: u16 = 3024;
const MARIADB_TIME_OUT: u16 = 1969;
/// The states of errors whose messages quote names alone: of tables, columns, functions, schemas, and what is refused to a
/// user.
const NAMES: [Code; 7] = [
    *b"42P01", *b"42703", *b"42883", *b"3F000", *b"42501", *b"42S02", *b"42S22",
];

/// MySQL's SQLSTATE of an error that has none of its own.
pub(super) const GENERAL: Code = *b"HY000";

/// Returns the server's text with every run of white space and control characters as one space; a long one is cut.
pub(super) fn one_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let gap = |character: char| character.is_whitespace() || character.is_control();
    let (mut line, mut left) = (String::new(), TEXT_CHARACTERS_MAX);
    for word in text.split(gap).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        let before = line.len();
        line.extend(word.chars().take(left));
        if line.len() - before < word.len() {
            line.push('…');
            break;
        }
        left = left.saturating_sub(word.chars().count() + 1);
    }
    line
}

impl fmt::Display for ServerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (SQLSTATE {}", self.message, self.code_text())?;
        if self.number > 0 {
            write!(formatter, ", error {}", self.number)?;
        }
        write!(formatter, "){}", self.remedy())
    }
}

/// The states of a prepared statement that is not there, or is there already.
const UNPREPARED: [Code; 2] = [*b"26000", *b"42P05"];
/// How a pooler such as PgBouncer begins its refusal of what it does not pass on to the server.
const NOT_PASSED: &str = "unsupported startup parameter";

impl fmt::Display for SessionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(text)
            | Self::Auth(text)
            | Self::Tls(text)
            | Self::Protocol(text)
            | Self::Lost(text) => formatter.write_str(text),
            Self::Server(error) => write!(formatter, "the server answered: {error}"),
            Self::Io(error) => write!(formatter, "{error}"),
        }
    }
}

impl std::error::Error for SessionError {}

impl From<std::io::Error> for SessionError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<rustix::io::Errno> for SessionError {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Io(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_the_server_is_one_line_of_bounded_length() {
        assert_eq!(one_line(b" a\x1b[2J\r\n\0b\t "), "a [2J b");
        let long = one_line(&b"x".repeat(1 << 20));
        assert_eq!(long.chars().count(), TEXT_CHARACTERS_MAX + 1);
        assert!(long.ends_with('…'));
        let words = one_line(&b"a b ".repeat(TEXT_CHARACTERS_MAX));
        assert_eq!(words.chars().count(), TEXT_CHARACTERS_MAX + 1);
        assert_eq!(
            one_line(&b"y".repeat(TEXT_CHARACTERS_MAX)).len(),
            TEXT_CHARACTERS_MAX
        );
    }

    #[test]
    fn an_error_is_read_with_its_detail_on_one_line() {
        let body = b"SERROR\0C23505\0Mduplicate key\nvalue\0DKey (id)=(1)\texists.\0Fnb.c\0\0";
        let error = ServerError::parse(body).expect("an error");
        assert_eq!(error.code_text(), "23505");
        assert_eq!(error.message, "duplicate key value: Key (id)=(1) exists.");
        let text = "duplicate key value: Key (id)=(1) exists. (SQLSTATE 23505)";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn what_poolers_refuse_has_a_remedy() {
        for (body, remedy) in [
            (&b"C26000\0Mgone\0\0"[..], "`max_prepared_statements`"),
            (b"C42P05\0Mthere\0\0", "`max_prepared_statements`"),
            (
                b"C08P01\0Munsupported startup parameter: options\0\0",
                "`ignore_startup_parameters`",
            ),
        ] {
            let error = ServerError::parse(body).expect("an error").to_string();
            assert!(error.ends_with(remedy), "{error}");
        }
    }

    #[test]
    fn a_message_without_values_keeps_its_words() {
        for (body, kept) in [
            (
                &b"C22P02\0Minvalid input syntax for type integer: \"secret\"\0\0"[..],
                "invalid input syntax for type integer…",
            ),
            (
                b"C23505\0Mduplicate key value violates unique constraint \"k\"\0DKey (a)=(secret)\0\0",
                "duplicate key value violates unique constraint …",
            ),
            (b"C22012\0Mdivision by zero\0\0", "division by zero"),
            (
                b"C42P01\0Mrelation \"t\" does not exist\0\0",
                "relation \"t\" does not exist",
            ),
        ] {
            let error = ServerError::parse(body).expect("an error");
            assert_eq!(error.without_values().message, kept);
        }
        let error = ServerError::of_packet(b"\xff\x26\x04#23000Duplicate entry 'secret' for key");
        let message = error.expect("an error").without_values().message;
        assert_eq!(message, "Duplicate entry …");
    }

    #[test]
    fn a_time_out_is_told_from_other_errors() {
        let of = |body: &[u8]| ServerError::parse(body).expect("an error");
        let server = of(b"C57014\0Mcanceling statement due to statement timeout\0\0");
        let user = of(b"C57014\0Mcanceling statement due to user request\0\0");
        let german = of(b"C57014\0Mstorniere Anfrage\0\0");
        assert!(server.is_time_out(false) && german.is_time_out(true));
        assert!(!user.is_time_out(false) && !german.is_time_out(false));
        let packet = |bytes| ServerError::of_packet(bytes).expect("an error");
        assert!(packet(b"\xff\xd0\x0b#HY000maximum statement execution time").is_time_out(false));
        assert!(packet(b"\xff\xb1\x07#70100max_statement_time").is_time_out(false));
        assert!(!packet(b"\xff\xbd\x04#40001Deadlock").is_time_out(true));
    }

    #[test]
    fn an_error_without_an_end_or_a_code_does_no_harm() {
        assert!(ServerError::parse(b"C235").is_err());
        assert_eq!(ServerError::parse(b"").expect("empty").code_text(), "XX000");
        assert_eq!(
            ServerError::parse(b"C\xff\xff\xff\xff\xff\0\0")
                .expect("odd")
                .code_text(),
            "XX000"
        );
    }

    #[test]
    fn an_error_has_its_number_and_state_or_the_general_one() {
        let error = ServerError::of_packet(b"\xff\xbd\x04#40001Deadlock\nfound").expect("one");
        assert_eq!((error.number, error.code_text()), (1213, "40001"));
        let text = "Deadlock found (SQLSTATE 40001, error 1213)";
        assert_eq!(error.to_string(), text);
        assert_eq!(error.tally(), *b"40001");
        let early = ServerError::of_packet(b"\xff\x10\x04Too many connections").expect("one");
        assert_eq!(early.message, "Too many connections");
        assert_eq!((early.code, early.tally()), (*b"HY000", *b"1040 "));
        assert!(ServerError::of_packet(b"\xff\x10").is_err());
        let odd = ServerError::of_packet(b"\xff\x10\x04#\xff\xff\xff\xff\xff").expect("odd");
        assert_eq!(odd.code, *b"HY000");
    }
}
