//! The Bates distribution, the mean of several uniform numbers: what sysbench calls gaussian.
//!
//! a + ⌊n · (u1 + … + um) / m⌋ (`sb_rand_gaussian` of sysbench 1.0, with m = `rand-spec-iter` = 12): a bell around the
//! middle whose standard deviation is n / √(12 m). Here in whole numbers, so that it is exact for the widest range.

use super::mix_in;
use super::range::Bounds;
use serde::{Deserialize, Serialize};

/// The most uniform numbers of one draw; beyond it the bell is too narrow to be of use, and too dear.
pub const ITERATIONS_MAX: u32 = 1000;

/// What a job says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bates {
    /// The integers; those in the middle are the likeliest.
    pub range: Bounds,
    /// m, from 1 (uniform) to [`ITERATIONS_MAX`].
    pub iterations: u32,
}

/// The offset in a range up to `last`.
#[inline]
pub(super) fn offset(iterations: u32, random: u64, last: u64) -> u64 {
    share(mean(iterations, random), u128::from(last) + 1)
}

/// The mean of uniform numbers below 2^64 that are derived from one.
#[inline]
pub(super) fn mean(iterations: u32, random: u64) -> u64 {
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
pub(super) fn share(fraction: u64, size: u128) -> u64 {
    // The product is below 2^64 times `size`, so its upper half has no more than 64 bits.
    ((u128::from(fraction) * size) >> 64) as u64
}
