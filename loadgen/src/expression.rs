//! Expressions of scripts, compiled to a tree that is quick to compute. What they compute is what pgbench computes (its
//! documentation, "Built-in Operators" and "Built-In Functions"; where that is silent, as its program does).

mod compile;
mod double;
mod fault;
mod formula;
mod function;
mod register;
mod scalar;
mod scatter;
#[cfg(test)]
mod tests;

pub use compile::{AssignmentCode, BranchCode, ScriptCode};
pub use fault::Fault;
pub use formula::Formula;
pub use register::Registers;
pub use scalar::Scalar;

use crate::job::Function;
use crate::value::skewed::{Exponential, Gaussian, PARAMETER_MIN};
use crate::value::zipf::{EXPONENT_MAX, Zipf};
use crate::value::{Bounds, Distribution, uniform};
use scalar::fault;

/// The least exponent of a Zipf distribution, as in pgbench: its way to draw has to have one above 1.
const ZIPFIAN_MIN: f64 = 1.001;

/// What an expression gives.
pub type Outcome = Result<Scalar, Box<Fault>>;

/// An expression that is ready to be computed.
#[derive(Debug)]
pub enum Expression {
    /// Always the same.
    Constant(Scalar),
    /// What a variable holds.
    Variable(usize),
    /// An integer between two constants, both inclusive.
    Uniform(i64, i64),
    /// An integer between two that are computed.
    Random(Box<[Expression; 2]>),
    /// An integer of a distribution: its name, lower and upper bound and parameter, and where each connection keeps what
    /// it has computed of the last ones.
    Skewed(Function, Box<[Expression; 3]>, usize),
    /// A number in its place in a permutation: number, size, seed, and where each connection keeps the last one.
    Permute(Box<[Expression; 3]>, usize),
    /// A function of one argument.
    Unary(Function, Box<Expression>),
    /// A function of two arguments.
    Binary(Function, Box<[Expression; 2]>),
    /// The greatest, or the least.
    Extremum(Function, Box<[Expression]>),
    /// False where the first is, whatever the second is.
    And(Box<[Expression; 2]>),
    /// True where the first is, whatever the second is.
    Or(Box<[Expression; 2]>),
    /// Conditions, each with its value, and at last what it is else.
    Case(Box<[Expression]>),
    /// Its argument, which is also shown with its place.
    Debug(Box<(String, Expression)>),
    /// What a value was drawn as last, which its connection knows.
    Drawn(usize),
    /// What cannot be computed, for this reason.
    Error(Box<str>),
}

impl Expression {
    /// Computes it; `random` gives random numbers of 64 bits.
    ///
    /// # Errors
    /// What cannot be computed, such as a division by zero.
    #[inline]
    pub fn evaluate(&self, registers: &mut Registers, random: &mut impl FnMut() -> u64) -> Outcome {
        match self {
            Self::Constant(constant) => Ok(*constant),
            Self::Variable(index) => registers.value(*index),
            Self::Uniform(low, high) => Ok(Scalar::Integer(uniform(random(), *low, *high))),
            Self::Binary(function, pair) => {
                let left = pair[0].operand(registers, random)?;
                let right = pair[1].operand(registers, random)?;
                function::binary(*function, left, right)
            }
            Self::Unary(function, argument) => {
                function::unary(*function, argument.evaluate(registers, random)?)
            }
            Self::Random(pair) => {
                let low = pair[0].evaluate(registers, random)?;
                let high = pair[1].evaluate(registers, random)?;
                if low == Scalar::Null || high == Scalar::Null {
                    return Ok(Scalar::Null);
                }
                let range = range(low, high)?;
                Ok(Scalar::Integer(uniform(random(), range.low, range.high)))
            }
            other => other.evaluate_rarer(registers, random),
        }
    }

    /// Computes an operand: most are variables and constants, which need no call.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a call costs more than what it computes"
    )]
    fn operand(&self, registers: &mut Registers, random: &mut impl FnMut() -> u64) -> Outcome {
        match self {
            Self::Constant(constant) => Ok(*constant),
            Self::Variable(index) => registers.value(*index),
            other => other.evaluate(registers, random),
        }
    }

    /// Computes what is not among the functions that most scripts are made of.
    fn evaluate_rarer(
        &self,
        registers: &mut Registers,
        random: &mut impl FnMut() -> u64,
    ) -> Outcome {
        match self {
            Self::And(pair) => lazy(pair, false, registers, random),
            Self::Or(pair) => lazy(pair, true, registers, random),
            Self::Case(branches) => {
                for branch in branches.chunks(2) {
                    match branch {
                        [condition, value] => {
                            if condition.evaluate(registers, random)?.is_true() {
                                return value.evaluate(registers, random);
                            }
                        }
                        rest => return rest[0].evaluate(registers, random),
                    }
                }
                Ok(Scalar::Null)
            }
            Self::Extremum(function, arguments) => {
                let mut values = [Scalar::Null; crate::job::ARGUMENTS_MAX];
                for (value, argument) in values.iter_mut().zip(arguments) {
                    *value = argument.evaluate(registers, random)?;
                }
                function::extremum(*function, &values[..arguments.len()])
            }
            Self::Permute(arguments, slot) => match three(arguments, registers, random)? {
                Some([number, size, seed]) => {
                    let (number, size) = (number.integer()?, size.integer()?);
                    let seed = seed.integer()?;
                    if size <= 0 {
                        return fault(Fault::PermuteSize);
                    }
                    Ok(Scalar::Integer(
                        registers.permuted(*slot, number, size, seed),
                    ))
                }
                None => Ok(Scalar::Null),
            },
            Self::Skewed(function, arguments, slot) => match three(arguments, registers, random)? {
                Some([low, high, parameter]) => {
                    let distribution = distribution(*function, low, high, parameter)?;
                    let number = registers.skewed(*slot, &distribution, random());
                    Ok(Scalar::Integer(number))
                }
                None => Ok(Scalar::Null),
            },
            Self::Debug(shown) => {
                let value = shown.1.evaluate(registers, random)?;
                registers.show(&shown.0, value);
                Ok(value)
            }
            Self::Drawn(_) => Ok(Scalar::Null),
            Self::Error(reason) => fault(Fault::Said(reason.clone())),
            common => common.evaluate(registers, random),
        }
    }
}

/// AND and OR: the first decides where it is `deciding`, and where it is null.
fn lazy(
    pair: &[Expression; 2],
    deciding: bool,
    registers: &mut Registers,
    random: &mut impl FnMut() -> u64,
) -> Outcome {
    for expression in pair {
        let value = expression.evaluate(registers, random)?;
        if value == Scalar::Null || value.boolean()? == deciding {
            return Ok(value);
        }
    }
    Ok(Scalar::Boolean(!deciding))
}

/// Computes three arguments; none where one of them is null.
fn three(
    arguments: &[Expression; 3],
    registers: &mut Registers,
    random: &mut impl FnMut() -> u64,
) -> Result<Option<[Scalar; 3]>, Box<Fault>> {
    let mut values = [Scalar::Null; 3];
    for (value, argument) in values.iter_mut().zip(arguments) {
        *value = argument.evaluate(registers, random)?;
    }
    Ok((!values.contains(&Scalar::Null)).then_some(values))
}

/// Returns the range of two bounds, which has to have fewer integers than there are of 63 bits.
#[inline]
fn range(low: Scalar, high: Scalar) -> Result<Bounds, Box<Fault>> {
    let (low, high) = (low.integer()?, high.integer()?);
    if low > high {
        return Err(Box::new(Fault::EmptyRange));
    }
    match high.checked_sub(low) {
        Some(last) if last < i64::MAX => Ok(Bounds { low, high }),
        _ => Err(Box::new(Fault::RangeTooLarge)),
    }
}

fn distribution(
    function: Function,
    low: Scalar,
    high: Scalar,
    parameter: Scalar,
) -> Result<Distribution, Box<Fault>> {
    let range = range(low, high)?;
    let parameter = parameter.double()?;
    // Written so that what is no number is refused, too.
    match function {
        Function::RandomGaussian if parameter >= PARAMETER_MIN => {
            Ok(Distribution::Gaussian(Gaussian { range, parameter }))
        }
        Function::RandomGaussian => Err(Box::new(Fault::Gaussian(parameter))),
        Function::RandomZipfian if (ZIPFIAN_MIN..=EXPONENT_MAX).contains(&parameter) => {
            Ok(Distribution::Zipf(Zipf {
                range,
                exponent: parameter,
                scattered: false,
            }))
        }
        Function::RandomZipfian => Err(Box::new(Fault::Zipfian(parameter))),
        _ if parameter > 0.0 => Ok(Distribution::Exponential(Exponential { range, parameter })),
        _ => Err(Box::new(Fault::Exponential(parameter))),
    }
}
