//! Integers of a range of which some are likelier than others: what a job says of them, and how one is drawn.
//!
//! What can be computed is computed when the job is compiled. A draw is a pure function of one random number of 64 bits;
//! where a distribution needs several, they are derived from that one by counting.

#[cfg(test)]
mod tests;

use super::bates::{self, Bates};
use super::exponential::{Exponential, ExponentialCurve};
use super::gaussian::{self, Gaussian};
use super::pareto::{Pareto, ParetoCurve};
use super::permutation::Permutation;
use super::range::Bounds;
use super::special::{Special, SpecialCurve};
use super::zipf::{Zipf, ZipfCurve};

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
