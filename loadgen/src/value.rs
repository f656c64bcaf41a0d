//! Values as pure functions of a seed: independent of time, of threads and of what was drawn before.
//!
//! One value takes one random number of 64 bits; where a value needs several (a text's length and
//! its cut), they are derived from that one. Integers that are not uniform stand in `skewed`.

pub mod permutation;
pub mod range;
pub mod skewed;
pub mod zipf;

pub use permutation::Permutation;
pub use range::Bounds;
pub use skewed::{Distribution, Skewed};

/// The increment of SplitMix64: 2^64 divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The alphabet of base64 (RFC 4648, section 4).
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 characters that one random number yields: 6 bits each.
const BASE64_CHARACTERS_PER_DRAW: usize = 10;

/// Pattern characters that one random number yields; more would show the bias of reusing its bits.
const PATTERN_CHARACTERS_PER_DRAW: usize = 8;

/// Characters of an alphabet of at most 128 that one random number yields.
const ALPHABET_CHARACTERS_PER_DRAW: usize = 6;

/// Applies the finaliser of SplitMix64 (Steele, Lea and Flood 2014; Stafford's variant 13): a bijection that mixes all bits.
#[must_use]
#[inline]
pub fn mix64(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// Mixes one further part into a seed: for parts 0, 1, 2 … this is the sequence of SplitMix64 from `state`.
#[must_use]
#[inline]
pub fn mix_in(state: u64, part: u64) -> u64 {
    mix64(state.wrapping_add(GOLDEN.wrapping_mul(part.wrapping_add(1))))
}

/// Returns a random number of 64 bits that depends on the seed and on every part and their order.
#[must_use]
#[inline]
pub fn mix(seed: u64, parts: &[u64]) -> u64 {
    parts
        .iter()
        .fold(mix64(seed), |state, part| mix_in(state, *part))
}

/// 2^-53: turns the upper 53 bits of a random number into a share of one.
const SHARE_OF_BITS: f64 = 1.0 / (1_u64 << 53) as f64;

/// Returns a number of the exponential distribution of mean 1: −ln(U), U in (0, 1] (inverse of the distribution).
#[must_use]
#[inline]
pub fn exponential(random: u64) -> f64 {
    -libm::log(((random >> 11) + 1) as f64 * SHARE_OF_BITS)
}

/// Returns a name as a part of a seed (FNV-1a over its bytes, then mixed).
#[must_use]
pub fn name_part(name: &str) -> u64 {
    let hash = name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    mix64(hash)
}

/// Returns an integer from `low` to `high`, both inclusive, from one random number; `low` where `high` is less.
///
/// A multiplication to 128 bits (Lemire 2019) without rejection: no integer is likelier than another by
/// more than the range's size in 2^64.
#[must_use]
#[inline]
pub fn uniform(random: u64, low: i64, high: i64) -> i64 {
    if high < low {
        return low;
    }
    let span = u128::from(high.abs_diff(low)) + 1;
    let offset = if span > u128::from(u64::MAX) {
        random
    } else {
        ((u128::from(random) * span) >> 64) as u64
    };
    low.wrapping_add_unsigned(offset)
}

/// How a text is made: as the Insert Benchmark does (length, a share of it random, the rest a fill character in front).
///
/// The original cuts the random part at a random place out of 4 MiB of random bytes in base64, as that is cheap in its
/// language. Here it would be a cache miss for each row, taken from the server beside us (it was a third of the CPU of
/// l.i0), so the characters are drawn: every string of them is equally likely, as it is there.
#[derive(Debug, Clone, PartialEq)]
pub struct TextShape {
    /// What the part that is not random consists of; repeated and cut where it is longer than a character.
    pub fill: String,
    /// The shortest length in bytes.
    pub length_min: u32,
    /// The longest length in bytes.
    pub length_max: u32,
    /// The share of the length that is random, 0 to 1.
    pub random: f64,
    /// What random characters are taken from, each alike often; empty: base64's.
    pub alphabet: String,
}

impl TextShape {
    /// Appends the text of one random number.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "lengths are between length_min and length_max, which are u32"
    )]
    pub fn write(&self, out: &mut Vec<u8>, random: u64) {
        let low = i64::from(self.length_min);
        let length = uniform(mix_in(random, 0), low, i64::from(self.length_max)) as usize;
        let cut = ((length as f64 * self.random) as usize).min(length);
        let fill = self.fill.as_bytes();
        if let [byte] = fill {
            out.resize(out.len() + length - cut, *byte);
        } else {
            out.extend(fill.iter().copied().cycle().take(length - cut));
        }
        match self.alphabet.as_bytes() {
            [] => write_base64(out, cut, random),
            alphabet => write_of(out, alphabet, cut, random),
        }
    }
}

/// Appends `count` random characters of an alphabet.
fn write_of(out: &mut Vec<u8>, alphabet: &[u8], count: usize, random: u64) {
    let (mut bits, size) = (0, alphabet.len() as u128);
    for place in 0..count {
        if place % ALPHABET_CHARACTERS_PER_DRAW == 0 {
            bits = mix_in(random, (place / ALPHABET_CHARACTERS_PER_DRAW) as u64 + 1);
        }
        let product = u128::from(bits) * size;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the upper half is below the alphabet's length; the lower half goes on as the random bits"
        )]
        {
            out.push(alphabet[(product >> 64) as usize]);
            bits = product as u64;
        }
    }
}

/// Appends `count` random characters of base64.
#[inline]
fn write_base64(out: &mut Vec<u8>, count: usize, random: u64) {
    let start = out.len();
    out.resize(start + count, 0);
    for (draw, characters) in (1..).zip(out[start..].chunks_mut(BASE64_CHARACTERS_PER_DRAW)) {
        let mut bits = mix_in(random, draw);
        for character in characters {
            *character = BASE64[(bits & 63) as usize];
            bits >>= 6;
        }
    }
}

/// Appends a pattern in which `#` stands for a random digit and `@` for a random lower-case letter.
#[inline]
pub fn write_pattern(out: &mut Vec<u8>, pattern: &[u8], random: u64) {
    let mut bits = 0;
    let mut left = 0;
    let mut draws = 0;
    let start = out.len();
    out.extend_from_slice(pattern);
    for byte in &mut out[start..] {
        let (first, count) = match *byte {
            b'#' => (b'0', 10_u64),
            b'@' => (b'a', 26),
            _ => continue,
        };
        if left == 0 {
            bits = mix_in(random, draws);
            draws += 1;
            left = PATTERN_CHARACTERS_PER_DRAW;
        }
        left -= 1;
        let product = u128::from(bits) * u128::from(count);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the upper half is below 26; the lower half goes on as the random bits"
        )]
        {
            *byte = first + (product >> 64) as u8;
            bits = product as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mix_is_fixed_for_ever_so_that_old_results_can_be_made_again() {
        assert_eq!(mix64(GOLDEN), 0xE220_A839_7B1D_CDAF, "SplitMix64 of seed 0");
        assert_eq!(mix(42, &[1, 2, 3]), mix(42, &[1, 2, 3]));
        assert_ne!(mix(42, &[1, 2]), mix(42, &[2, 1]), "the order counts");
        assert_ne!(mix(42, &[]), mix(43, &[]));
        assert_ne!(name_part("insert"), name_part("delete"));
    }

    #[test]
    fn uniform_reaches_both_bounds_and_is_even() {
        let mut counts = [0_u32; 10];
        for draw in 0..100_000 {
            let value = uniform(mix(7, &[draw]), -5, 4);
            counts[usize::try_from(value + 5).unwrap()] += 1;
        }
        // The chi-squared statistic of 9 degrees of freedom exceeds 27.9 once in a thousand.
        let chi: f64 = counts
            .iter()
            .map(|count| (f64::from(*count) - 10_000.0).powi(2) / 10_000.0)
            .sum();
        assert!(chi < 27.9, "{counts:?}");
        assert_eq!(uniform(u64::MAX, i64::MIN, i64::MAX), i64::MAX);
        assert_eq!(uniform(0, i64::MIN, i64::MAX), i64::MIN);
        assert_eq!(
            uniform(u64::MAX, 9, 3),
            9,
            "an empty range gives its low bound"
        );
    }

    #[test]
    fn text_has_its_length_and_the_published_random_share() {
        let shape = TextShape {
            fill: "a".into(),
            length_min: 10,
            length_max: 20,
            random: 0.375,
            alphabet: String::new(),
        };
        let mut lengths = std::collections::BTreeSet::new();
        for draw in 0..1000 {
            let mut out = Vec::new();
            shape.write(&mut out, mix(3, &[draw]));
            lengths.insert(out.len());
            // 3 random characters for a length of 10 up to 7 for 20 (specs, section 1.3).
            let random = out.len() * 3 / 8;
            assert!(out[..out.len() - random].iter().all(|byte| *byte == b'a'));
        }
        assert_eq!(lengths, (10..=20).collect());
    }

    #[test]
    fn random_characters_are_all_of_base64_at_every_place_and_alike_often() {
        let mut seen = vec![[0_u32; 256]; 25];
        for draw in 0..64_000 {
            let mut out = Vec::new();
            write_base64(&mut out, 25, mix(9, &[draw]));
            for (place, byte) in out.iter().enumerate() {
                seen[place][usize::from(*byte)] += 1;
            }
        }
        for counts in seen {
            assert_eq!(counts.iter().sum::<u32>(), 64_000);
            // 1,000 expected of each, with a standard deviation of 31.
            assert!(
                BASE64
                    .iter()
                    .all(|byte| (800..1200).contains(&counts[usize::from(*byte)]))
            );
        }
    }

    #[test]
    fn characters_of_an_alphabet_are_alike_often_at_every_place() {
        let shape = TextShape {
            fill: "a".into(),
            length_min: 14,
            length_max: 14,
            random: 1.0,
            alphabet: "abcde01".into(),
        };
        let mut seen = vec![[0_u32; 256]; 14];
        for draw in 0..7_000 {
            let mut out = Vec::new();
            shape.write(&mut out, mix(9, &[draw]));
            for (place, byte) in out.iter().enumerate() {
                seen[place][usize::from(*byte)] += 1;
            }
        }
        for counts in seen {
            assert_eq!(counts.iter().sum::<u32>(), 7_000);
            // 1,000 expected of each, with a standard deviation of 29.
            assert!(
                b"abcde01"
                    .iter()
                    .all(|byte| (850..1150).contains(&counts[usize::from(*byte)]))
            );
        }
    }

    #[test]
    fn pattern_keeps_what_is_not_random() {
        let mut out = Vec::new();
        write_pattern(&mut out, b"###########-@@@@@@@@@@ x", 5);
        assert_eq!(out.len(), 24);
        assert!(out[..11].iter().all(u8::is_ascii_digit));
        assert!(out[12..22].iter().all(u8::is_ascii_lowercase));
        assert_eq!((out[11], &out[22..]), (b'-', b" x".as_slice()));
    }

    proptest! {
        #[test]
        fn uniform_stays_within_its_bounds(random: u64, a: i64, b: i64) {
            let (low, high) = (a.min(b), a.max(b));
            let value = uniform(random, low, high);
            prop_assert!((low..=high).contains(&value));
        }

        #[test]
        fn a_text_is_never_longer_or_shorter_than_its_shape(random: u64, low in 0_u32..50, more in 0_u32..50, share in 0.0..=1.0) {
            let shape = TextShape { fill: "ab".into(), length_min: low, length_max: low + more, random: share, alphabet: String::new() };
            let mut out = Vec::new();
            shape.write(&mut out, random);
            prop_assert!((low..=low + more).contains(&u32::try_from(out.len()).unwrap()));
        }
    }
}
