//! sysbench's pareto distribution: a + ⌊n · u^p⌋ with p = ln h / ln(1 − h).
//!
//! The first x of the range gets x^(1/p) of the draws: with h = 0.2 its first fifth gets four fifths
//! (`sb_rand_pareto` of sysbench 1.0).

use super::range::{Bounds, filled, size, unit, whole};
use serde::{Deserialize, Serialize};

/// What a job says of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pareto {
    /// The integers, the likeliest first.
    pub range: Bounds,
    /// The share of the range that gets the share 1 − h of the draws; above 0 and below 1.
    pub h: f64,
}

/// What is computed beforehand.
#[derive(Debug, Clone)]
pub(super) struct ParetoCurve {
    power: f64,
}

impl ParetoCurve {
    pub(super) fn new(shape: &Pareto) -> Self {
        Self {
            power: libm::log(shape.h) / libm::log1p(-shape.h),
        }
    }

    #[inline]
    pub(super) fn offset(&self, random: u64, last: u64) -> u64 {
        // u^p; of 0 it is 0, as the logarithm is −∞.
        let share = libm::exp(self.power * libm::log(unit(random)));
        let position = share * size(last);
        filled(whole(position, last), random, last)
    }
}
