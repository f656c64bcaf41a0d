//! pgbench's exponential distribution, cut off at the end of the range: its first integer is the likeliest.
//!
//! a + ⌊n · −ln(c + (1 − c)(1 − u)) / p⌋ with c = e^−p (pgbench's documentation, "Built-in functions": the first 1 % of the
//! range gets about p % of the draws).

use super::range::{Bounds, filled, size, unit, whole};
use serde::{Deserialize, Serialize};

/// What a job says of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exponential {
    /// The integers, the likeliest first.
    pub range: Bounds,
    /// p: how many times the logarithm of the density falls by 1 over the range; above 0.
    pub parameter: f64,
}

/// What is computed beforehand.
#[derive(Debug, Clone)]
pub(super) struct ExponentialCurve {
    parameter: f64,
    /// c − 1, computed so that it is right for small parameters, too.
    cut: f64,
}

impl ExponentialCurve {
    pub(super) fn new(shape: &Exponential) -> Self {
        Self {
            parameter: shape.parameter,
            cut: libm::expm1(-shape.parameter),
        }
    }

    #[inline]
    pub(super) fn offset(&self, random: u64, last: u64) -> u64 {
        // c + (1 − c)(1 − u) = 1 + (c − 1) u.
        let share = -libm::log1p(self.cut * unit(random)) / self.parameter;
        filled(whole(share * size(last), last), random, last)
    }
}
