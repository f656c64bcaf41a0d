//! What can go wrong in a session, told apart as far as the engine treats it differently.

use std::fmt;

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
    pub code: [u8; 5],
    /// The message on one line, with the detail after it where there is one.
    pub message: String,
}

impl ServerError {
    /// The SQLSTATE code as text.
    #[must_use]
    pub fn code_text(&self) -> &str {
        std::str::from_utf8(&self.code).unwrap_or("?????")
    }

    /// Reads the fields of an `ErrorResponse` or `NoticeResponse`: a type byte and a
    /// NUL-terminated text each (PostgreSQL documentation, "Error and Notice Message Fields").
    ///
    /// # Errors
    /// Where a field does not end.
    pub fn parse(body: &[u8]) -> Result<Self, SessionError> {
        let mut error = Self {
            code: *b"XX000",
            message: String::new(),
        };
        let mut detail = None;
        let mut rest = body;
        while let Some((&field, text)) = rest.split_first() {
            if field == 0 {
                break;
            }
            let end = text.iter().position(|&byte| byte == 0).ok_or_else(|| {
                SessionError::Protocol("an error message of the server does not end".to_owned())
            })?;
            let (value, after) = (&text[..end], &text[end + 1..]);
            match field {
                b'C' => error.code = plain_code(value),
                b'M' => error.message = one_line(value),
                b'D' => detail = Some(one_line(value)),
                _ => (),
            }
            rest = after;
        }
        if let Some(detail) = detail {
            error.message.push_str(": ");
            error.message.push_str(&detail);
        }
        Ok(error)
    }
}

/// The five characters of a SQLSTATE; what is none becomes `XX000` (internal error).
fn plain_code(value: &[u8]) -> [u8; 5] {
    match <[u8; 5]>::try_from(value) {
        Ok(code) if code.iter().all(u8::is_ascii_alphanumeric) => code,
        _ => *b"XX000",
    }
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
        write!(
            formatter,
            "{} (SQLSTATE {})",
            self.message,
            self.code_text()
        )
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
    fn an_error_is_read_with_its_detail_on_one_line() {
        let body = b"SERROR\0C23505\0Mduplicate key\nvalue\0DKey (id)=(1)\texists.\0Fnb.c\0\0";
        let error = ServerError::parse(body).expect("an error");
        assert_eq!(error.code_text(), "23505");
        assert_eq!(error.message, "duplicate key value: Key (id)=(1) exists.");
        let text = "duplicate key value: Key (id)=(1) exists. (SQLSTATE 23505)";
        assert_eq!(error.to_string(), text);
    }

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
}
