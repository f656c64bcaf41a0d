//! A keyed permutation of the integers of a range: it scatters what is near, and makes a sequence look random without
//! any number coming twice.
//!
//! A Feistel network over a × b ≥ n numbers, a and b about √n, whose rounds add modulo a and b in turn; what falls outside
//! of the range is sent through again until it is inside (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002,
//! "generalized Feistel" and "cycle walking"). As a × b exceeds n by less than a, that is rare.

use super::range::Bounds;
use super::{mix, mix_in, name_part};
use std::array::from_fn;

/// Rounds for each half.
const ROUNDS: usize = 3;

/// A permutation of a range; the same for a seed and a range wherever it is used, so that likely integers are the same
/// ones in all roles, steps and fills.
#[derive(Debug, Clone)]
pub struct Permutation {
    range: Bounds,
    /// How many left halves and right halves there are; at most 2^32 each.
    halves: (u64, u64),
    /// For each round that of the left half and that of the right one.
    keys: [[Key; 2]; ROUNDS],
}

/// What makes a round's random function: a number that is exclusive-ored, and an odd one that is multiplied by.
#[derive(Debug, Clone, Copy)]
struct Key(u64, u64);

impl Key {
    /// A product's upper half over its lower: as random as a round needs, in half the time of a whole mix.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the upper half is added to the lower one"
    )]
    fn random(self, number: u64) -> u64 {
        let product = u128::from(number ^ self.0) * u128::from(self.1);
        (product >> 64) as u64 ^ product as u64
    }
}

impl Permutation {
    /// The permutation of a range that belongs to a seed.
    #[must_use]
    pub fn new(seed: u64, range: Bounds) -> Self {
        let parts = [range.low.cast_unsigned(), range.high.cast_unsigned()];
        let key = mix(seed, &[name_part("permutation"), parts[0], parts[1]]);
        let keys = from_fn(|round| {
            from_fn(|half| {
                let draw = 2 * (2 * round + half) as u64;
                Key(mix_in(key, draw), mix_in(key, draw + 1) | 1)
            })
        });
        let last = range.last();
        let left = last.isqrt() + 1;
        Self {
            range,
            halves: (left, last / left + 1),
            keys,
        }
    }

    /// The range that is permuted.
    #[must_use]
    pub fn range(&self) -> Bounds {
        self.range
    }

    /// What an integer becomes. One outside of the range is taken modulo the range's size, as pgbench's `permute` does.
    #[must_use]
    #[inline]
    pub fn number(&self, number: i64) -> i64 {
        let Bounds { low, high } = self.range;
        let offset = if (low..=high).contains(&number) {
            number.abs_diff(low)
        } else {
            self.wrapped(number)
        };
        low.wrapping_add_unsigned(self.at(offset))
    }

    /// What an offset in the range becomes.
    #[must_use]
    #[inline]
    pub fn at(&self, offset: u64) -> u64 {
        let mut offset = self.rounds(offset);
        // Walking along a cycle of a permutation that was entered inside of the range ends inside of it.
        while offset > self.range.last() {
            offset = self.rounds(offset);
        }
        offset
    }

    #[inline]
    fn rounds(&self, offset: u64) -> u64 {
        let (lefts, rights) = self.halves;
        let (mut left, mut right) = (offset / rights, offset % rights);
        for [of_left, of_right] in &self.keys {
            left = added(left, of_left.random(right), lefts);
            right = added(right, of_right.random(left), rights);
        }
        left * rights + right
    }

    #[cold]
    fn wrapped(&self, number: i64) -> u64 {
        let size = i128::from(self.range.last()) + 1;
        let offset = (i128::from(number) - i128::from(self.range.low)).rem_euclid(size);
        u64::try_from(offset).unwrap_or(0)
    }
}

/// `number` plus a random amount, modulo `count`, which is at most 2^32.
#[inline]
fn added(number: u64, random: u64, count: u64) -> u64 {
    // The upper half of the random number, scaled to the count.
    let sum = number + (((random >> 32) * count) >> 32);
    if sum < count { sum } else { sum - count }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn of_size(seed: u64, size: u32) -> Permutation {
        Permutation::new(seed, (0, i64::from(size) - 1).into())
    }

    fn is_bijective(permutation: &Permutation, size: u32) -> bool {
        let images: HashSet<_> = (0..u64::from(size))
            .map(|offset| permutation.at(offset))
            .collect();
        images.len() == size as usize && images.iter().all(|image| *image < u64::from(size))
    }

    #[test]
    fn every_size_up_to_a_thousand_is_permuted_without_loss() {
        for size in 1..=1000 {
            assert!(is_bijective(&of_size(size.into(), size), size), "{size}");
        }
    }

    #[test]
    fn each_place_is_as_likely_as_any_other_over_many_keys() {
        for size in [2, 3, 7, 10] {
            let mut counts = vec![0_u32; (size * size) as usize];
            for seed in 0..20_000 {
                let permutation = of_size(seed, size);
                for offset in 0..size {
                    let image = u32::try_from(permutation.at(offset.into())).unwrap();
                    counts[(offset * size + image) as usize] += 1;
                }
            }
            let expected = 20_000.0 / f64::from(size);
            // Five standard deviations of a count.
            let most = 5.0 * expected.sqrt();
            assert!(
                counts
                    .iter()
                    .all(|count| (f64::from(*count) - expected).abs() < most),
                "{counts:?}"
            );
        }
    }

    #[test]
    fn neighbours_are_scattered_over_the_range_without_any_pattern() {
        for (seed, step) in [(1, 1), (2, 1), (3, 7), (4, 1024), (5, 1000)] {
            let size = 1_000_000;
            let permutation = of_size(seed, size);
            let mut counts = [0.0; 50];
            for offset in 0..20_000 {
                let (from, to) = (permutation.at(offset), permutation.at(offset + step));
                let gap = (to + u64::from(size) - from) % u64::from(size);
                counts[usize::try_from(gap / 20_000).unwrap()] += 1.0;
            }
            let chi: f64 = counts
                .iter()
                .map(|count| (count - 400.0_f64).powi(2) / 400.0)
                .sum();
            // The chi-squared statistic of 49 degrees of freedom exceeds 85.4 once in a thousand.
            assert!(chi < 85.4, "{chi} {counts:?}");
        }
    }

    #[test]
    fn what_is_outside_of_the_range_is_taken_modulo_its_size() {
        let permutation = Permutation::new(1, (10, 19).into());
        for number in 10..=19 {
            assert_eq!(permutation.number(number + 10), permutation.number(number));
            assert_eq!(
                permutation.number(number - 1000),
                permutation.number(number)
            );
        }
        assert_eq!(permutation.number(i64::MAX), permutation.number(17));
        assert_eq!(permutation.number(i64::MIN), permutation.number(12));
    }

    #[test]
    fn the_key_is_of_the_seed_and_the_range_and_fixed_for_ever() {
        let images = |seed, range: (i64, i64)| {
            let permutation = Permutation::new(seed, range.into());
            [1, 2, 3].map(|number| permutation.number(number))
        };
        assert_eq!(images(42, (1, 1000)), [830, 399, 105]);
        assert_ne!(images(42, (1, 1000)), images(43, (1, 1000)));
        assert_ne!(images(42, (1, 1000)), images(42, (0, 1000)));
        assert_eq!(
            images(42, (i64::MIN, i64::MAX)),
            [
                -8_962_451_839_165_518_819,
                -2_976_425_977_986_387_186,
                7_423_103_810_513_924_668
            ]
        );
    }

    proptest! {
        #[test]
        fn a_permutation_loses_nothing(seed: u64, size in 1_u32..3000, low in -5000_i64..5000) {
            let range = (low, low + i64::from(size) - 1);
            let permutation = Permutation::new(seed, range.into());
            let images: HashSet<_> = (range.0..=range.1).map(|number| permutation.number(number)).collect();
            prop_assert_eq!(images.len(), size as usize);
            prop_assert!(images.iter().all(|image| (range.0..=range.1).contains(image)));
        }

        #[test]
        fn wide_ranges_are_kept_and_their_numbers_stay_different(seed: u64, a: i64, b: i64, near in 0_u64..500) {
            for range in [(a.min(b), a.max(b)), (i64::MIN, i64::MAX), (i64::MIN, i64::MAX - 1), (0, 1 << 40)] {
                let range = Bounds::from(range);
                let permutation = Permutation::new(seed, range);
                let end = range.last();
                let offsets: HashSet<_> = (0..200).flat_map(|k| [near + k, end.wrapping_sub(near + k)])
                    .filter(|offset| *offset <= end).collect();
                let images: HashSet<_> = offsets.iter().map(|offset| permutation.at(*offset)).collect();
                prop_assert_eq!(images.len(), offsets.len());
                prop_assert!(images.iter().all(|image| *image <= end));
            }
        }
    }
}
