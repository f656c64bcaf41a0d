//! Ranges of integers, and positions in them that are computed as doubles.

use super::mix64;
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
