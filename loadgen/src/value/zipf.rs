//! Zipf's distribution: the k-th of n integers has a probability proportional to k^−e.
//!
//! Rejection-inversion of Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions" (ACM TOMACS 6, 1996): no tables, so the range may be as wide as it likes, and e may be 0 (uniform) or 1.

use super::mix_in;
use super::range::{Bounds, filled, size, unit, whole};
use serde::{Deserialize, Serialize};

/// The largest exponent: pgbench's, and far beyond where all draws are the first integer.
pub const EXPONENT_MAX: f64 = 1000.0;

/// Below this, the quotients of [`log1p_over`] and [`expm1_over`] are their series' first two terms to the last digit.
const SERIES_BELOW: f64 = 1e-8;

/// What a job says of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zipf {
    /// The integers, the likeliest first.
    pub range: Bounds,
    /// e, from 0 to [`EXPONENT_MAX`].
    pub exponent: f64,
    /// Whether the integers are permuted, so that likely ones are no neighbours.
    #[serde(default)]
    pub scattered: bool,
}

/// What is computed beforehand.
#[derive(Debug, Clone)]
pub(super) struct ZipfCurve {
    exponent: f64,
    /// H(n + 1/2), where H is the integral of x^−e from 1.
    end: f64,
    /// H(3/2) − 1 as seen from `end`: the integral of all draws, negative.
    back: f64,
    /// How far below its integer a position is certain to be accepted.
    certain: f64,
}

impl ZipfCurve {
    pub(super) fn new(shape: &Zipf) -> Self {
        let mut curve = Self {
            exponent: shape.exponent,
            end: 0.0,
            back: 0.0,
            certain: 0.0,
        };
        curve.end = curve.integral(size(shape.range.last()) + 0.5);
        curve.back = curve.start() - curve.end;
        curve.certain = 2.0 - curve.inverse(curve.integral(2.5) - curve.density(2.0));
        curve
    }

    /// The rank, counted from 0.
    #[inline]
    pub(super) fn offset(&self, random: u64, last: u64) -> u64 {
        let mut tries = 0;
        loop {
            let draw = mix_in(random, tries);
            let area = self.end + unit(draw) * self.back;
            let position = self.inverse(area);
            let offset = whole(position - 0.5, last);
            let rank = offset as f64 + 1.0;
            if rank - position <= self.certain
                || area >= self.integral(rank + 0.5) - self.density(rank)
            {
                return filled(offset, draw, last);
            }
            tries += 1;
        }
    }

    /// Where the area begins: the first integer has its own probability and no more.
    fn start(&self) -> f64 {
        self.integral(1.5) - 1.0
    }

    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(x))
    }

    /// H(x) = (x^(1−e) − 1) / (1−e), and ln x where e is 1.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        expm1_over((1.0 - self.exponent) * log) * log
    }

    /// The x of an area H(x).
    fn inverse(&self, area: f64) -> f64 {
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        libm::exp(log1p_over(t) * area)
    }
}

/// ln(1 + t) / t, and 1 at 0.
fn log1p_over(t: f64) -> f64 {
    if t.abs() < SERIES_BELOW {
        1.0 - t / 2.0
    } else {
        libm::log1p(t) / t
    }
}

/// (e^t − 1) / t, and 1 at 0.
fn expm1_over(t: f64) -> f64 {
    if t.abs() < SERIES_BELOW {
        1.0 + t / 2.0
    } else {
        libm::expm1(t) / t
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_computed_beforehand_has_the_published_values() {
        // specs: sysbench, 4.2.
        for (exponent, certain, start) in [
            (0.8, 0.487_629_700_700, -0.577_641_144_012),
            (0.99, 0.483_876_698_321, -0.593_711_770_008),
            (1.0, 0.483_673_350_718, -0.594_534_891_892),
        ] {
            let curve = ZipfCurve::new(&Zipf {
                range: (1, 1000).into(),
                exponent,
                scattered: false,
            });
            assert!((curve.certain - certain).abs() < 1e-11, "{curve:?}");
            assert!((curve.start() - start).abs() < 1e-11, "{}", curve.start());
        }
    }

    #[test]
    fn the_area_is_finite_at_the_ends_of_what_is_allowed() {
        for exponent in [0.0, 0.5, 1.0, 1.5, EXPONENT_MAX] {
            for high in [1, 2, i64::MAX] {
                let curve = ZipfCurve::new(&Zipf {
                    range: (1, high).into(),
                    exponent,
                    scattered: false,
                });
                assert!(curve.end.is_finite() && curve.back < 0.0, "{curve:?}");
            }
        }
    }
}
