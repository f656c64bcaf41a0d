//! Integers of a range of which some are likelier than others: what a job says of them, and how one is drawn.
//!
//! What can be computed is computed when the job is compiled. A draw is a pure function of one random number of 64 bits;
//! where a distribution needs several, they are derived from that one by counting.

#[cfg(test)]
mod tests;

use super::bates::{self, Bates};
use super::exponential::{Exponential, ExponentialCurve};
use super::gaussian::{self, Gaussian};
use super::mix64;
use super::pareto::{Pareto, ParetoCurve};
use super::permutation::Permutation;
use super::special::{Special, SpecialCurve};
use super::zipf::{Zipf, ZipfCurve};
use serde::{Deserialize, Serialize};

/// The bits of a double's significand.
const SIGNIFICAND_BITS: u32 = 53;

/// The leading bits of a computed position that rounding leaves right.
const EXACT_BITS: u32 = 48;

/// The lowest and the highest integer of a range, both inclusive; in JSON a list of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(i64, i64)", into = "(i64, i64)")]
pub struct Bounds {
    /// The lowest.
    pub low: i64,
    /// The highest, not below `low` in a valid job.
    pub high: i64,
}

impl Bounds {
    /// How much the highest integer is above the lowest.
    #[must_use]
    #[inline]
    pub fn last(self) -> u64 {
        self.high.abs_diff(self.low)
    }
}

impl From<(i64, i64)> for Bounds {
    fn from((low, high): (i64, i64)) -> Self {
        Self { low, high }
    }
}

impl From<Bounds> for (i64, i64) {
    fn from(bounds: Bounds) -> Self {
        (bounds.low, bounds.high)
    }
}

/// Which integers are likelier than others, as a job says it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// The k-th is likely by a power of 1/k.
    Zipf(Zipf),
    /// sysbench's: a share h of the range has the share 1 − h of the draws.
    Pareto(Pareto),
    /// sysbench 1.0's default: a small hot zone in the middle of a bell.
    Special(Special),
    /// sysbench's gaussian: the mean of several uniform numbers.
    Bates(Bates),
    /// pgbench's gaussian: a normal distribution cut off on both sides.
    Gaussian(Gaussian),
    /// pgbench's exponential: each part of the range is likelier than the next.
    Exponential(Exponential),
}

impl Distribution {
    /// The range that its integers are from.
    #[must_use]
    pub fn range(&self) -> Bounds {
        match self {
            Self::Zipf(shape) => shape.range,
            Self::Pareto(shape) => shape.range,
            Self::Special(shape) => shape.range,
            Self::Bates(shape) => shape.range,
            Self::Gaussian(shape) => shape.range,
            Self::Exponential(shape) => shape.range,
        }
    }
}

/// A distribution made ready to be drawn from.
#[derive(Debug, Clone)]
pub struct Skewed {
    range: Bounds,
    curve: Curve,
    scatter: Option<Permutation>,
}

#[derive(Debug, Clone)]
enum Curve {
    Zipf(ZipfCurve),
    Pareto(ParetoCurve),
    Special(SpecialCurve),
    Bates { iterations: u32 },
    Gaussian { parameter: f64 },
    Exponential(ExponentialCurve),
}

impl Skewed {
    /// Makes a valid distribution ready; `seed` is the job's, of which the key of a scattered one is made.
    #[must_use]
    pub fn new(distribution: &Distribution, seed: u64) -> Self {
        let range = distribution.range();
        let scattered = matches!(distribution, Distribution::Zipf(shape) if shape.scattered);
        let curve = match distribution {
            Distribution::Zipf(shape) => Curve::Zipf(ZipfCurve::new(shape)),
            Distribution::Pareto(shape) => Curve::Pareto(ParetoCurve::new(shape)),
            Distribution::Special(shape) => Curve::Special(SpecialCurve::new(shape)),
            Distribution::Bates(shape) => Curve::Bates {
                iterations: shape.iterations,
            },
            Distribution::Gaussian(shape) => Curve::Gaussian {
                parameter: shape.parameter,
            },
            Distribution::Exponential(shape) => Curve::Exponential(ExponentialCurve::new(shape)),
        };
        Self {
            range,
            curve,
            scatter: scattered.then(|| Permutation::new(seed, range)),
        }
    }

    /// The range that its integers are from.
    #[must_use]
    pub fn range(&self) -> Bounds {
        self.range
    }

    /// The integer of one random number.
    #[must_use]
    #[inline]
    pub fn number(&self, random: u64) -> i64 {
        let last = self.range.last();
        let offset = match &self.curve {
            Curve::Zipf(curve) => curve.offset(random, last),
            Curve::Pareto(curve) => curve.offset(random, last),
            Curve::Special(curve) => curve.offset(random, last),
            Curve::Bates { iterations } => bates::offset(*iterations, random, last),
            Curve::Gaussian { parameter } => gaussian::offset(*parameter, random, last),
            Curve::Exponential(curve) => curve.offset(random, last),
        };
        let offset = match &self.scatter {
            Some(permutation) => permutation.at(offset),
            None => offset,
        };
        self.range.low.wrapping_add_unsigned(offset)
    }
}

/// A number from 0 to below 1, of the upper 53 bits of a random number.
#[must_use]
#[inline]
pub(super) fn unit(random: u64) -> f64 {
    (random >> (u64::BITS - SIGNIFICAND_BITS)) as f64 / (1_u64 << SIGNIFICAND_BITS) as f64
}

/// How many integers there are up to `last`, 0 among them.
#[must_use]
#[inline]
pub(super) fn size(last: u64) -> f64 {
    last as f64 + 1.0
}

/// The whole part of a position in a range, at most `last`; 0 below 0.
#[must_use]
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the whole part is wanted, and such casts stop at both ends"
)]
pub(super) fn whole(position: f64, last: u64) -> u64 {
    (position as u64).min(last)
}

/// A whole part whose last bits, where a double of it has none or only rounding, are drawn of their own.
///
/// Without this, most integers of a range of more than 2^53 would never come. Offsets below 2^48 stay as they are.
#[must_use]
#[inline]
pub(super) fn filled(offset: u64, random: u64, last: u64) -> u64 {
    let rough = (u64::BITS - EXACT_BITS).saturating_sub(offset.leading_zeros());
    if rough == 0 {
        return offset;
    }
    let mask = (1 << rough) - 1;
    (offset & !mask | mix64(random) & mask).min(last)
}
