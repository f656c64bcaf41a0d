//! Integers of a range of which some are likelier than others: what a job says of them, and how one is drawn.
//!
//! Computes what it can when the job is compiled. A draw is a pure function of one random number of 64 bits; where a
//! distribution needs several, they are derived from that one by counting. Zipf's distribution stands in `zipf`.

#[cfg(test)]
mod tests;

use super::mix_in;
use super::permutation::Permutation;
use super::range::{Bounds, filled, size, unit, whole};
use super::zipf::{Zipf, ZipfCurve};
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// The most uniform numbers of one Bates draw; beyond it the bell is too narrow to be of use, and too dear.
pub const ITERATIONS_MAX: u32 = 1000;
/// The least parameter of a gaussian, as in pgbench: below it, more than one draw of twenty would be thrown away.
pub const PARAMETER_MIN: f64 = 2.0;

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
    Bates(Bates),
    Gaussian(Gaussian),
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
            Distribution::Bates(shape) => Curve::Bates(*shape),
            Distribution::Gaussian(shape) => Curve::Gaussian(*shape),
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
            Curve::Bates(shape) => shape.offset(random, last),
            Curve::Gaussian(shape) => shape.offset(random, last),
            Curve::Exponential(curve) => curve.offset(random, last),
        };
        let offset = match &self.scatter {
            Some(permutation) => permutation.at(offset),
            None => offset,
        };
        self.range.low.wrapping_add_unsigned(offset)
    }
}

/// sysbench's pareto distribution: a + ⌊n · u^p⌋ with p = ln h / ln(1 − h).
///
/// The first x of the range gets x^(1/p) of the draws: with h = 0.2 its first fifth gets four fifths
/// (`sb_rand_pareto` of sysbench 1.0).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pareto {
    /// The integers, the likeliest first.
    pub range: Bounds,
    /// The share of the range that gets the share 1 − h of the draws; above 0 and below 1.
    pub h: f64,
}

/// What a pareto draw needs, computed beforehand.
#[derive(Debug, Clone)]
struct ParetoCurve {
    power: f64,
}

impl ParetoCurve {
    fn new(shape: &Pareto) -> Self {
        Self {
            power: libm::log(shape.h) / libm::log1p(-shape.h),
        }
    }

    #[inline]
    fn offset(&self, random: u64, last: u64) -> u64 {
        // u^p; of 0 it is 0, as the logarithm is −∞.
        let share = libm::exp(self.power * libm::log(unit(random)));
        let position = share * size(last);
        filled(whole(position, last), random, last)
    }
}

/// sysbench's special distribution, the default of its version 1.0 and gone since: a small hot zone in the middle of a
/// bell.
///
/// Follows `sb_rand_special` of sysbench 1.0.20 as it is: the uniform number u that chooses between zone (its upper part)
/// and bell is used again for the place in the zone. So the zone is not the middle `percent` of the range: by default
/// its first quarter is left out and the rest moved up, from 0.25 % below the middle to 0.5 % above it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Special {
    /// The integers.
    pub range: Bounds,
    /// How many uniform numbers the bell is the mean of.
    pub iterations: u32,
    /// The width of the zone in percent of the range, before a part of it is left out; 0 to 100.
    pub percent: f64,
    /// What percent of the draws fall into the zone; 0 to 100.
    pub share: f64,
}

/// What a special draw needs, computed beforehand.
#[derive(Debug, Clone)]
struct SpecialCurve {
    iterations: u32,
    /// Uniform numbers below this choose the bell.
    bell: f64,
    /// Where the zone would begin, and its width.
    zone: (f64, f64),
}

impl SpecialCurve {
    fn new(shape: &Special) -> Self {
        // sysbench's t: one less than the number of integers.
        let span = shape.range.last() as f64;
        let width = span * shape.percent / 100.0;
        Self {
            iterations: shape.iterations,
            bell: (100.0 - shape.share) / 100.0,
            zone: (span / 2.0 - width / 2.0, width + 1.0),
        }
    }

    #[inline]
    fn offset(&self, random: u64, last: u64) -> u64 {
        let uniform = unit(random);
        if uniform < self.bell {
            return share(mean(self.iterations, random), u128::from(last));
        }
        let (start, width) = self.zone;
        filled(whole(start + uniform * width, last), random, last)
    }
}

/// The Bates distribution, the mean of several uniform numbers: what sysbench calls gaussian.
///
/// a + ⌊n · (u1 + … + um) / m⌋ (`sb_rand_gaussian` of sysbench 1.0, with m = `rand-spec-iter` = 12): a bell around the
/// middle whose standard deviation is n / √(12 m). Computes in whole numbers, so that it is exact for the widest range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bates {
    /// The integers; those in the middle are the likeliest.
    pub range: Bounds,
    /// m, from 1 (uniform) to [`ITERATIONS_MAX`].
    pub iterations: u32,
}

impl Bates {
    #[inline]
    fn offset(&self, random: u64, last: u64) -> u64 {
        share(mean(self.iterations, random), u128::from(last) + 1)
    }
}

/// The mean of uniform numbers below 2^64 that are derived from one.
#[inline]
fn mean(iterations: u32, random: u64) -> u64 {
    let draws = (0..u64::from(iterations)).map(|draw| u128::from(mix_in(random, draw)));
    let sum: u128 = draws.sum();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a mean of 64-bit numbers has at most 64 bits"
    )]
    {
        (sum / u128::from(iterations)) as u64
    }
}

/// The whole part of `size` times `fraction` / 2^64; `size` is at most 2^64.
#[inline]
fn share(fraction: u64, size: u128) -> u64 {
    // The product is below 2^64 times `size`, so its upper half has no more than 64 bits.
    ((u128::from(fraction) * size) >> 64) as u64
}

/// pgbench's gaussian distribution: a normal one, cut off at ± `parameter` standard deviations and stretched over the range.
///
/// a + ⌊n · (z + p) / 2p⌋ for a standard normal z, drawn anew until −p ≤ z < p (pgbench's documentation, "Built-in
/// functions": the middle 1/p of the range gets about 67 % of the draws, the middle 2/p 95 %).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gaussian {
    /// The integers; those in the middle are the likeliest.
    pub range: Bounds,
    /// Half the range in standard deviations, from [`PARAMETER_MIN`].
    pub parameter: f64,
}

impl Gaussian {
    #[inline]
    fn offset(&self, random: u64, last: u64) -> u64 {
        let parameter = self.parameter;
        let mut draws = 0;
        loop {
            let (first, second) = (mix_in(random, draws), mix_in(random, draws + 1));
            let deviation = normal(first, second);
            if (-parameter..parameter).contains(&deviation) {
                let position = (deviation + parameter) / (2.0 * parameter) * size(last);
                return filled(whole(position, last), second, last);
            }
            draws += 2;
        }
    }
}

/// A standard normal number (Box and Muller, "A note on the generation of random normal deviates", 1958).
#[inline]
fn normal(first: u64, second: u64) -> f64 {
    // 1 − u is never 0, which has no logarithm.
    let radius = (-2.0 * libm::log(1.0 - unit(first))).sqrt();
    radius * libm::cos(TAU * unit(second))
}

/// pgbench's exponential distribution, cut off at the end of the range: its first integer is the likeliest.
///
/// a + ⌊n · −ln(c + (1 − c)(1 − u)) / p⌋ with c = e^−p (pgbench's documentation, "Built-in functions": the first 1 % of
/// the range gets about p % of the draws).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exponential {
    /// The integers, the likeliest first.
    pub range: Bounds,
    /// p: how many times the logarithm of the density falls by 1 over the range; above 0.
    pub parameter: f64,
}

/// What an exponential draw needs, computed beforehand.
#[derive(Debug, Clone)]
struct ExponentialCurve {
    parameter: f64,
    /// c − 1, computed so that it is right for small parameters, too.
    cut: f64,
}

impl ExponentialCurve {
    fn new(shape: &Exponential) -> Self {
        Self {
            parameter: shape.parameter,
            cut: libm::expm1(-shape.parameter),
        }
    }

    #[inline]
    fn offset(&self, random: u64, last: u64) -> u64 {
        // c + (1 − c)(1 − u) = 1 + (c − 1) u.
        let share = -libm::log1p(self.cut * unit(random)) / self.parameter;
        filled(whole(share * size(last), last), random, last)
    }
}
