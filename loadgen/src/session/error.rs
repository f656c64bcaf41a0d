//! What can go wrong in a session, told apart as far as the engine treats it differently.

use std::fmt;

use crate::record::Code;

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
    /// The SQLSTATE code as text.
    #[must_use]
    pub fn code_text(&self) -> &str {
        std::str::from_utf8(&self.code).unwrap_or("?????")
    }

    /// What the error counts as: its SQLSTATE, or MySQL's number where that is the general one, which says nothing (a
    /// lock that was waited for too long is 1205 and HY000).
    #[must_use]
    pub fn tally(&self) -> Code {
        if self.number > 0 && self.code == *GENERAL {
            number_code(self.number)
        } else {
            self.code
        }
    }
}

/// The SQLSTATE of an error that has none of its own.
const GENERAL: &[u8; 5] = b"HY000";

/// MySQL's number of an error in the room of a SQLSTATE, with spaces behind it.
#[must_use]
pub fn number_code(number: u16) -> Code {
    let mut code = *b"     ";
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(number).as_bytes();
    code[..digits.len()].copy_from_slice(digits);
    code
}

/// The server's text with every run of white space and control characters as one space; a long one is cut.
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
}
