//! sysbench's special distribution, the default of its version 1.0 and gone since: a small hot zone in the middle of a bell.
//!
//! `sb_rand_special` of sysbench 1.0.20, as it is: the uniform number u that chooses between zone (its upper part) and bell is used
//! again for the place in the zone. So the zone is not the middle `percent` of the range: by default its first quarter
//! is left out and the rest moved up, from 0.25 % below the middle to 0.5 % above it.

use super::bates::{mean, share};
use super::range::{Bounds, filled, unit, whole};
use serde::{Deserialize, Serialize};

/// What a job says of it.
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

/// What is computed beforehand.
#[derive(Debug, Clone)]
pub(super) struct SpecialCurve {
    iterations: u32,
    /// Uniform numbers below this choose the bell.
    bell: f64,
    /// Where the zone would begin, and its width.
    zone: (f64, f64),
}

impl SpecialCurve {
    pub(super) fn new(shape: &Special) -> Self {
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
    pub(super) fn offset(&self, random: u64, last: u64) -> u64 {
        let uniform = unit(random);
        if uniform < self.bell {
            return share(mean(self.iterations, random), u128::from(last));
        }
        let (start, width) = self.zone;
        filled(whole(start + uniform * width, last), random, last)
    }
}
