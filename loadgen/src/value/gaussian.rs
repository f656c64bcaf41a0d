//! pgbench's gaussian distribution: a normal one, cut off at ± `parameter` standard deviations and stretched over the range.
//!
//! a + ⌊n · (z + p) / 2p⌋ for a standard normal z, drawn anew until −p ≤ z < p (pgbench's documentation, "Built-in
//! functions": the middle 1/p of the range gets about 67 % of the draws, the middle 2/p 95 %).

use super::mix_in;
use super::range::{Bounds, filled, size, unit, whole};
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// The least parameter, as in pgbench: below it, more than one draw of twenty would be thrown away.
pub const PARAMETER_MIN: f64 = 2.0;

/// What a job says of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gaussian {
    /// The integers; those in the middle are the likeliest.
    pub range: Bounds,
    /// Half the range in standard deviations, from [`PARAMETER_MIN`].
    pub parameter: f64,
}

/// The offset in a range up to `last`.
#[inline]
pub(super) fn offset(parameter: f64, random: u64, last: u64) -> u64 {
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

/// A standard normal number (Box and Muller, "A note on the generation of random normal deviates", 1958).
#[inline]
fn normal(first: u64, second: u64) -> f64 {
    // 1 − u is never 0, which has no logarithm.
    let radius = (-2.0 * libm::log(1.0 - unit(first))).sqrt();
    radius * libm::cos(TAU * unit(second))
}
