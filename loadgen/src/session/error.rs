//! What can go wrong in a session, told apart as far as the engine treats it differently, and how servers report it.

use std::fmt;

use super::fields::Fields;
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
    /// Reads the fields of PostgreSQL's `ErrorResponse` or `NoticeResponse`: a type byte and a
    /// NUL-terminated text each (PostgreSQL documentation, "Error and Notice Message Fields").
    ///
    /// # Errors
    /// Where a field does not end.
    pub fn parse(body: &[u8]) -> Result<Self, SessionError> {
        let mut error = Self {
            code: INTERNAL,
            number: 0,
            message: String::new(),
        };
        let mut detail = None;
        let mut rest = body;
        while let Some((&field, text)) = rest.split_first() {
            if field == 0 {
                break;
            }
            let mut text = Fields(text);
            let value = text.text().map_err(|_| {
                SessionError::Protocol("an error message of the server does not end".to_owned())
            })?;
            match field {
                b'C' => error.code = plain_code(value, INTERNAL),
                b'M' => error.message = one_line(value),
                b'D' => detail = Some(one_line(value)),
                _ => (),
            }
            rest = text.0;
        }
        if let Some(detail) = detail {
            error.message.push_str(": ");
            error.message.push_str(&detail);
        }
        Ok(error)
    }

    /// Reads MySQL's error packet: `0xff`, the number, `#` and SQLSTATE, the text (MySQL documentation, "ERR_Packet").
    ///
    /// # Errors
    /// Where it ends before its number.
    pub fn of_packet(body: &[u8]) -> Result<Self, SessionError> {
        let mut fields = Fields(body);
        fields.u8()?;
        let number = fields.le_u16()?;
        let marked = fields.0.strip_prefix(b"#");
        let (code, text) = marked
            .and_then(|rest| rest.split_at_checked(5))
            .unwrap_or((&GENERAL, fields.0));
        Ok(Self {
            code: plain_code(code, GENERAL),
            number,
            message: one_line(text),
        })
    }

    /// Returns the SQLSTATE code as text.
    #[must_use]
    pub fn code_text(&self) -> &str {
        std::str::from_utf8(&self.code).unwrap_or("?????")
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

/// MySQL's SQLSTATE of an error that has none of its own.
const GENERAL: Code = *b"HY000";
/// PostgreSQL's SQLSTATE of an internal error, which stands for one that cannot be read.
const INTERNAL: Code = *b"XX000";

/// Returns the five characters of a SQLSTATE, or another where they are none.
fn plain_code(value: &[u8], other: Code) -> Code {
    match Code::try_from(value) {
        Ok(code) if code.iter().all(u8::is_ascii_alphanumeric) => code,
        _ => other,
    }
}

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
        formatter.write_str(")")
    }
}

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
