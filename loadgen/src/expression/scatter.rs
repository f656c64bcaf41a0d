//! Hashes and permutations that give the numbers that pgbench gives for the same seed.

use crate::value::mix_in;
use std::array::from_fn;

/// The increment and the first value of FNV-1a with 64 bits (Fowler, Noll and Vo).
const FNV_PRIME: u64 = 0x0100_0000_01b3;
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// The multiplier of `MurmurHash64A` (Appleby), and eight times it, by which a hash of eight bytes begins.
const MURMUR: u64 = 0xc6a4_a793_5bd1_e995;
const MURMUR_EIGHT: u64 = MURMUR.wrapping_mul(8);
const MURMUR_SHIFT: u32 = 47;

/// How often a permutation mixes.
const ROUNDS: usize = 6;

/// FNV-1a of the eight bytes of a number, the lowest first.
pub(super) fn fnv1a(number: i64, seed: i64) -> i64 {
    let start = FNV_START ^ seed.cast_unsigned();
    let bytes = number.to_le_bytes().into_iter();
    bytes
        .fold(start, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME)
        })
        .cast_signed()
}

/// `MurmurHash64A` of the eight bytes of a number.
#[inline]
pub(super) fn murmur2(number: i64, seed: i64) -> i64 {
    let block = number.cast_unsigned().wrapping_mul(MURMUR);
    let block = (block ^ (block >> MURMUR_SHIFT)).wrapping_mul(MURMUR);
    let hash = (seed.cast_unsigned() ^ MURMUR_EIGHT ^ block).wrapping_mul(MURMUR);
    let hash = (hash ^ (hash >> MURMUR_SHIFT)).wrapping_mul(MURMUR);
    (hash ^ (hash >> MURMUR_SHIFT)).cast_signed()
}

/// The generator xoroshiro128** (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2018).
struct Xoroshiro(u64, u64);

impl Xoroshiro {
    /// Its state is the first two numbers of SplitMix64 from a seed.
    fn new(seed: u64) -> Self {
        Self(mix_in(seed, 0), mix_in(seed, 1))
    }

    fn next(&mut self) -> u64 {
        let Self(first, second) = *self;
        let mixed = first ^ second;
        self.0 = first.rotate_left(24) ^ mixed ^ (mixed << 16);
        self.1 = mixed.rotate_left(37);
        first.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// A number up to `last`: its leading bits, as many as `last` has, drawn anew until they are not above it.
    fn up_to(&mut self, last: u64) -> u64 {
        if last == 0 {
            return 0;
        }
        loop {
            let number = self.next() >> last.leading_zeros();
            if number <= last {
                return number;
            }
        }
    }
}

/// A permutation of the numbers below a size: rounds, each of which multiplies, flips and turns the bits of the lower
/// numbers, as many as the largest power of two that fits, then of the upper ones, and adds.
#[derive(Debug, Clone)]
pub(super) struct Scatter {
    /// What it is of, and its seed.
    pub(super) key: (i64, i64),
    /// For each round an odd factor and what is flipped, for the lower and for the upper numbers; and what is added.
    rounds: [[u64; 5]; ROUNDS],
}

impl Scatter {
    /// Makes one of a size of at least 1.
    pub(super) fn new(size: i64, seed: i64) -> Self {
        let count = size.cast_unsigned();
        let mask = mask_of(count);
        let mut generator = Xoroshiro::new(seed.cast_unsigned());
        let mut round = || {
            let [lower, lower_flips, upper, upper_flips]: [u64; 4] =
                from_fn(|_| generator.next() & mask);
            let added = generator.up_to(count - 1);
            [lower | 1, lower_flips, upper | 1, upper_flips, added]
        };
        Self {
            key: (size, seed),
            rounds: from_fn(|_| round()),
        }
    }

    /// Returns the place of a number; one that is not below the size stands for its remainder.
    pub(super) fn at(&self, number: i64) -> i64 {
        let count = self.key.0.cast_unsigned();
        if count < 2 {
            return 0;
        }
        let mask = mask_of(count);
        let turn = |number: u64, factor: u64, flips: u64| {
            let number = (number.wrapping_mul(factor) ^ flips) & mask;
            (number << 1) & mask | number >> (mask.count_ones() - 1)
        };
        let start = number.cast_unsigned() % count;
        let place = self.rounds.iter().fold(start, |place, round| {
            let [lower, lower_flips, upper, upper_flips, added] = *round;
            let mut place = place;
            if place <= mask {
                place = turn(place, lower, lower_flips);
            }
            let mirrored = count - 1 - place;
            if mirrored <= mask {
                place = count - 1 - turn(mirrored, upper, upper_flips);
            }
            // Both are below 2^63, so that their sum fits.
            (place + added) % count
        });
        place.cast_signed()
    }
}

/// The bits of the numbers below the largest power of two up to a count of at least 1.
fn mask_of(count: u64) -> u64 {
    (1 << count.ilog2()) - 1
}
