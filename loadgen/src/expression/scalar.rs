//! The values that expressions compute with, and what becomes of one kind where another is wanted.

use super::{Fault, Outcome, double};
use crate::text::{write_double, write_integer};

/// A value; with a tag as wide as what it holds, so that it is copied in whole words.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(u64)]
pub enum Scalar {
    /// Nothing.
    #[default]
    Null,
    /// True or false.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A double.
    Double(f64),
}

/// 2^63, the first double above the integers.
const INTEGERS_END: f64 = 9_223_372_036_854_775_808.0;

/// Returns what cannot be computed.
#[cold]
pub(super) fn fault(fault: Fault) -> Outcome {
    Err(Box::new(fault))
}

impl Scalar {
    /// What its kind is called.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "boolean",
            Self::Integer(_) => "int",
            Self::Double(_) => "double",
        }
    }

    /// Whether it counts as true: a number that is not zero does, null does not.
    #[must_use]
    #[inline]
    pub fn is_true(self) -> bool {
        match self {
            Self::Null => false,
            Self::Boolean(truth) => truth,
            Self::Integer(number) => number != 0,
            Self::Double(number) => number != 0.0,
        }
    }

    /// Returns it as an integer; a double is rounded to the nearest, to an even one from the middle.
    ///
    /// # Errors
    /// Other kinds, and doubles that no integer is near.
    #[inline]
    pub fn integer(self) -> Result<i64, Box<Fault>> {
        match self {
            Self::Integer(number) => Ok(number),
            Self::Double(number) => {
                let whole = number.round_ties_even();
                if (-INTEGERS_END..INTEGERS_END).contains(&whole) {
                    #[expect(
                        clippy::cast_possible_truncation,
                        reason = "it is within the integers"
                    )]
                    Ok(whole as i64)
                } else {
                    Err(Box::new(Fault::DoubleToInteger(whole)))
                }
            }
            other => Err(Box::new(Fault::Coerce(other.kind(), "int"))),
        }
    }

    /// Returns it as a double.
    ///
    /// # Errors
    /// What is no number.
    #[inline]
    pub fn double(self) -> Result<f64, Box<Fault>> {
        match self {
            Self::Double(number) => Ok(number),
            Self::Integer(number) => Ok(number as f64),
            other => Err(Box::new(Fault::Coerce(other.kind(), "double"))),
        }
    }

    /// Returns it as a boolean.
    ///
    /// # Errors
    /// What is none.
    #[inline]
    pub fn boolean(self) -> Result<bool, Box<Fault>> {
        match self {
            Self::Boolean(truth) => Ok(truth),
            other => Err(Box::new(Fault::Coerce(other.kind(), "boolean"))),
        }
    }

    /// Appends it as it stands in a statement.
    #[inline]
    pub fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Integer(number) => write_integer(out, number),
            Self::Double(number) => write_double(out, number),
            Self::Null => out.extend_from_slice(b"NULL"),
            Self::Boolean(true) => out.extend_from_slice(b"true"),
            Self::Boolean(false) => out.extend_from_slice(b"false"),
        }
    }

    /// Reads a text as what it looks like: null, a boolean or the beginning of one, an integer, a double.
    ///
    /// # Errors
    /// What looks like none of them.
    pub fn read(text: &str) -> Result<Self, &'static str> {
        let is = |word: &str| text.eq_ignore_ascii_case(word);
        let begins = |word: &str| word.get(..text.len()).is_some_and(is);
        if text.is_empty() {
            return Err("is empty");
        }
        if is("null") {
            return Ok(Self::Null);
        }
        if begins("true") || begins("yes") || is("on") {
            return Ok(Self::Boolean(true));
        }
        if begins("false") || begins("no") || is("off") || is("of") {
            return Ok(Self::Boolean(false));
        }
        let number = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let out_of_range = |_| "is out of range for type bigint";
            return number.parse().map(Self::Integer).map_err(out_of_range);
        }
        let size = double::read(digits).ok_or("is malformed")?;
        let negative = number.starts_with('-');
        Ok(Self::Double(if negative { -size } else { size }))
    }
}
