//! What cannot be computed, in the words that pgbench has for it.

use super::{EXPONENT_MAX, PARAMETER_MIN, ZIPFIAN_MIN};
use std::fmt;

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// `/` or `%` by zero.
    DivisionByZero,
    /// Integers whose result has more than 64 bits; by what.
    OutOfRange(&'static str),
    /// A kind of value where another is wanted.
    Coerce(&'static str, &'static str),
    /// A double that no integer is near.
    DoubleToInteger(f64),
    /// A random integer of bounds in the wrong order.
    EmptyRange,
    /// A random integer of more than there can be.
    RangeTooLarge,
    /// The parameter of a gaussian.
    Gaussian(f64),
    /// The parameter of a Zipf distribution.
    Zipfian(f64),
    /// The parameter of an exponential.
    Exponential(f64),
    /// A permutation of nothing.
    PermuteSize,
    /// A variable that was given nothing yet: its index.
    Undefined(usize),
    /// What the job says.
    Said(Box<str>),
    /// A variable whose text cannot be computed with: its index, its text, and why.
    Malformed(usize, String, &'static str),
}

impl Fault {
    /// Returns it in words; `names` are those of the job's variables.
    #[must_use]
    pub fn text(&self, names: &[String]) -> String {
        match self {
            Self::Undefined(index) => format!("undefined variable \"{}\"", names[*index]),
            Self::Malformed(index, text, problem) => {
                format!(
                    "the value \"{text}\" of variable \"{}\" {problem}",
                    names[*index]
                )
            }
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DivisionByZero => formatter.write_str("division by zero"),
            Self::OutOfRange(operation) => write!(formatter, "bigint {operation} out of range"),
            Self::Coerce(kind, wanted) => write!(formatter, "cannot coerce {kind} to {wanted}"),
            Self::DoubleToInteger(number) => {
                write!(formatter, "double to int overflow for {number:.6}")
            }
            Self::EmptyRange => formatter.write_str("empty range given to random"),
            Self::RangeTooLarge => formatter.write_str("random range is too large"),
            Self::Gaussian(given) => write!(
                formatter,
                "gaussian parameter must be at least {PARAMETER_MIN:.6} (not {given:.6})"
            ),
            Self::Zipfian(given) => write!(
                formatter,
                "zipfian parameter must be in range [{ZIPFIAN_MIN:.3}, {EXPONENT_MAX:.0}] (not {given:.6})"
            ),
            Self::Exponential(given) => write!(
                formatter,
                "exponential parameter must be greater than zero (not {given:.6})"
            ),
            Self::Said(reason) => formatter.write_str(reason),
            Self::Undefined(_) => formatter.write_str("undefined variable"),
            Self::PermuteSize => {
                formatter.write_str("permute size parameter must be greater than zero")
            }
            Self::Malformed(_, text, problem) => {
                write!(formatter, "the value \"{text}\" {problem}")
            }
        }
    }
}
