//! A value of a file that was drawn: as a literal, and as a parameter.

use crate::text::write_quoted;

/// What a value is to MySQL as a parameter, as a client binds it that has it as it stood in the statement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Parameter<'a> {
    /// NULL.
    Null,
    /// A whole number; true is 1, false is 0.
    Integer(i64),
    /// A whole number that only eight bytes without a sign hold.
    Unsigned(u64),
    /// A number with an exponent.
    Double(f64),
    /// Another number, with its digits.
    Decimal(&'a [u8]),
    /// What stood in quotes.
    Text(&'a [u8]),
}

impl<'a> Parameter<'a> {
    /// Reads a number as JSON has it, or true or false. Allocates nothing.
    fn bare(bytes: &'a [u8]) -> Self {
        match bytes {
            b"true" => return Self::Integer(1),
            b"false" => return Self::Integer(0),
            _ => {}
        }
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        if let Ok(number) = text.parse() {
            return Self::Integer(number);
        }
        if let Ok(number) = text.parse() {
            return Self::Unsigned(number);
        }
        match text.parse() {
            Ok(number) if bytes.iter().any(|byte| matches!(byte, b'e' | b'E')) => {
                Self::Double(number)
            }
            _ => Self::Decimal(bytes),
        }
    }
}

/// What a backslash is in the literals of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backslash {
    /// It stands for itself, unless the literal says otherwise (PostgreSQL).
    ByForm,
    /// It gives the next character a meaning, itself its own (MySQL).
    Doubled,
    /// It stands for itself (MySQL with NO_BACKSLASH_ESCAPES).
    AsItIs,
}

impl Backslash {
    /// What it is in a session of an engine; `as_it_is`: where one of MySQL has NO_BACKSLASH_ESCAPES.
    #[inline]
    #[must_use]
    pub fn of(is_mysql: bool, as_it_is: bool) -> Self {
        match (is_mysql, as_it_is) {
            (false, _) => Self::ByForm,
            (true, false) => Self::Doubled,
            (true, true) => Self::AsItIs,
        }
    }

    /// The characters that are doubled in a literal.
    #[inline]
    #[must_use]
    pub fn special(self) -> &'static [u8] {
        match self {
            Self::Doubled => b"'\\",
            Self::ByForm | Self::AsItIs => b"'",
        }
    }
}

/// How a value stood in the statement that it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Null,
    /// A number, true or false: without quotes.
    Bare,
    /// A text in which nothing has a meaning in a literal.
    Plain,
    /// A text with a quote in it.
    Quoted,
    /// A text with a backslash in it.
    Escaped,
}

/// A value that was drawn.
#[derive(Debug, Clone, Copy)]
pub struct Sampled<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) form: Form,
}

impl<'a> Sampled<'a> {
    /// Its bytes; none where it is NULL.
    #[inline]
    #[must_use]
    pub fn bytes(self) -> Option<&'a [u8]> {
        (self.form != Form::Null).then_some(self.bytes)
    }

    /// What it is to MySQL as a parameter. As a text a number would be compared otherwise: with a column of texts it
    /// could use that column's index, which it could not in the statement that it comes from.
    #[inline]
    #[must_use]
    pub fn parameter(self) -> Parameter<'a> {
        match self.form {
            Form::Null => Parameter::Null,
            Form::Bare => Parameter::bare(self.bytes),
            Form::Plain | Form::Quoted | Form::Escaped => Parameter::Text(self.bytes),
        }
    }

    /// Appends it as a literal.
    ///
    /// A text with a backslash is in PostgreSQL the form that means the same whatever `standard_conforming_strings` is. A
    /// space in front keeps that form apart from a word before it, and a number's sign from another one: `--` is a comment.
    #[inline]
    pub fn write_literal(self, out: &mut Vec<u8>, backslash: Backslash) {
        let text = |out: &mut Vec<u8>, special| {
            write_quoted(out, special, |out| out.extend_from_slice(self.bytes));
        };
        match self.form {
            Form::Null => out.extend_from_slice(b"NULL"),
            Form::Bare => {
                if self.bytes.first() == Some(&b'-') {
                    out.push(b' ');
                }
                out.extend_from_slice(self.bytes);
            }
            Form::Plain => text(out, b""),
            Form::Quoted => text(out, b"'"),
            Form::Escaped if backslash == Backslash::AsItIs => text(out, b"'"),
            Form::Escaped => {
                if backslash == Backslash::ByForm {
                    out.extend_from_slice(b" E");
                }
                text(out, b"'\\");
            }
        }
    }
}
