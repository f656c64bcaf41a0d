//! The functions that depend on their arguments alone. Where one is null, so is what they give, but for the questions
//! whether it is.

use super::scalar::fault;
use super::{Fault, Outcome, Scalar, scatter};
use crate::job::Function;

/// Computes a function of one argument.
#[inline]
pub(super) fn unary(function: Function, argument: Scalar) -> Outcome {
    match function {
        Function::IsNull => return Ok(Scalar::Boolean(argument == Scalar::Null)),
        Function::IsTrue => return Ok(Scalar::Boolean(argument == Scalar::Boolean(true))),
        Function::IsFalse => return Ok(Scalar::Boolean(argument == Scalar::Boolean(false))),
        _ if argument == Scalar::Null => return Ok(Scalar::Null),
        _ => {}
    }
    let number = || argument.double();
    Ok(match (function, argument) {
        (Function::Not, _) => Scalar::Boolean(!argument.boolean()?),
        (Function::BitNot, _) => Scalar::Integer(!argument.integer()?),
        (Function::Negate, _) => return binary(Function::Subtract, Scalar::Integer(0), argument),
        (Function::Abs, Scalar::Integer(number)) => Scalar::Integer(number.wrapping_abs()),
        (Function::Abs, _) => Scalar::Double(number()?.abs()),
        (Function::Double, _) => Scalar::Double(number()?),
        (Function::Exp, _) => Scalar::Double(libm::exp(number()?)),
        (Function::Ln, _) => Scalar::Double(libm::log(number()?)),
        (Function::Sqrt, _) => Scalar::Double(number()?.sqrt()),
        (Function::Int, _) => Scalar::Integer(argument.integer()?),
        _ => Scalar::Null,
    })
}

/// Computes a function of two arguments.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "a call costs as much as what it computes"
)]
pub(super) fn binary(function: Function, left: Scalar, right: Scalar) -> Outcome {
    match (left, right) {
        (Scalar::Integer(left), Scalar::Integer(right)) => {
            let quick = match function {
                Function::Add => left.checked_add(right),
                Function::Subtract => left.checked_sub(right),
                Function::Multiply => left.checked_mul(right),
                Function::Divide if right > 0 => Some(left / right),
                Function::Remainder if right > 0 => Some(left % right),
                _ => None,
            };
            match quick {
                Some(number) => Ok(Scalar::Integer(number)),
                None => integers(function, left, right),
            }
        }
        (Scalar::Null, _) | (_, Scalar::Null) => Ok(Scalar::Null),
        (Scalar::Double(_), _) | (_, Scalar::Double(_)) if takes_doubles(function) => {
            Ok(doubles(function, left.double()?, right.double()?))
        }
        _ => integers(function, left.integer()?, right.integer()?),
    }
}

fn takes_doubles(function: Function) -> bool {
    matches!(
        function,
        Function::Add
            | Function::Subtract
            | Function::Multiply
            | Function::Divide
            | Function::Lt
            | Function::Le
            | Function::Eq
            | Function::Ne
            | Function::Power
    )
}

#[inline]
fn integers(function: Function, left: i64, right: i64) -> Outcome {
    let checked = |result: Option<i64>, name| match result {
        Some(number) => Ok(Scalar::Integer(number)),
        None => fault(Fault::OutOfRange(name)),
    };
    Ok(match function {
        Function::Add => return checked(left.checked_add(right), "add"),
        Function::Subtract => return checked(left.checked_sub(right), "sub"),
        Function::Multiply => return checked(left.checked_mul(right), "mul"),
        Function::Divide | Function::Remainder | Function::Mod if right == 0 => {
            return fault(Fault::DivisionByZero);
        }
        Function::Divide => return checked(left.checked_div(right), "div"),
        Function::Remainder | Function::Mod => Scalar::Integer(left.wrapping_rem(right)),
        Function::Lt => Scalar::Boolean(left < right),
        Function::Le => Scalar::Boolean(left <= right),
        Function::Eq => Scalar::Boolean(left == right),
        Function::Ne => Scalar::Boolean(left != right),
        Function::BitAnd => Scalar::Integer(left & right),
        Function::BitOr => Scalar::Integer(left | right),
        Function::BitXor => Scalar::Integer(left ^ right),
        Function::ShiftLeft => Scalar::Integer(left.wrapping_shl(places(right))),
        Function::ShiftRight => Scalar::Integer(left.wrapping_shr(places(right))),
        Function::Power => doubles(function, left as f64, right as f64),
        Function::HashMurmur2 => Scalar::Integer(scatter::murmur2(left, right)),
        Function::HashFnv1a => Scalar::Integer(scatter::fnv1a(left, right)),
        _ => Scalar::Null,
    })
}

/// How far a shift goes: by the last six bits, as processors do it.
fn places(by: i64) -> u32 {
    u32::try_from(by & 63).unwrap_or(0)
}

fn doubles(function: Function, left: f64, right: f64) -> Scalar {
    match function {
        Function::Add => Scalar::Double(left + right),
        Function::Subtract => Scalar::Double(left - right),
        Function::Multiply => Scalar::Double(left * right),
        Function::Divide => Scalar::Double(left / right),
        Function::Lt => Scalar::Boolean(left < right),
        Function::Le => Scalar::Boolean(left <= right),
        #[expect(clippy::float_cmp, reason = "the script asks whether they are equal")]
        Function::Eq => Scalar::Boolean(left == right),
        #[expect(clippy::float_cmp, reason = "the script asks whether they are equal")]
        Function::Ne => Scalar::Boolean(left != right),
        Function::Power => Scalar::Double(libm::pow(left, right)),
        _ => Scalar::Null,
    }
}

/// Computes the greatest or the least: a double where one of them is.
pub(super) fn extremum(function: Function, values: &[Scalar]) -> Outcome {
    if values.contains(&Scalar::Null) {
        return Ok(Scalar::Null);
    }
    let greatest = function == Function::Greatest;
    if values
        .iter()
        .any(|value| matches!(value, Scalar::Double(_)))
    {
        let mut best = values[0].double()?;
        for value in &values[1..] {
            let value = value.double()?;
            let keeps = if greatest { best > value } else { best < value };
            best = if keeps { best } else { value };
        }
        return Ok(Scalar::Double(best));
    }
    let mut best = values[0].integer()?;
    for value in &values[1..] {
        let value = value.integer()?;
        best = if greatest {
            best.max(value)
        } else {
            best.min(value)
        };
    }
    Ok(Scalar::Integer(best))
}
