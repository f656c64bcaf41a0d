//! Distributions against their exact probabilities and the published check values; all with fixed seeds, so exact.

use super::*;
use crate::chi_squared;
use crate::value::mix;
use crate::value::zipf::EXPONENT_MAX;
use proptest::prelude::*;

const SEED: u64 = 42;
/// Draws of a comparison with exact probabilities.
const DRAWS: u64 = 100_000;

fn zipf(range: impl Into<Bounds>, exponent: f64) -> Distribution {
    Distribution::Zipf(Zipf {
        range: range.into(),
        exponent,
        scattered: false,
    })
}

fn pareto(range: impl Into<Bounds>, h: f64) -> Distribution {
    let range = range.into();
    Distribution::Pareto(Pareto { range, h })
}

fn special(range: impl Into<Bounds>, percent: f64, share: f64) -> Distribution {
    Distribution::Special(Special {
        range: range.into(),
        iterations: 12,
        percent,
        share,
    })
}

fn bates(range: impl Into<Bounds>, iterations: u32) -> Distribution {
    let range = range.into();
    Distribution::Bates(Bates { range, iterations })
}

fn gaussian(range: impl Into<Bounds>, parameter: f64) -> Distribution {
    let range = range.into();
    Distribution::Gaussian(Gaussian { range, parameter })
}

fn exponential(range: impl Into<Bounds>, parameter: f64) -> Distribution {
    let range = range.into();
    Distribution::Exponential(Exponential { range, parameter })
}

/// Draws of a distribution, always the same.
fn draws(distribution: &Distribution, count: u64) -> impl Iterator<Item = i64> + use<> {
    let skewed = Skewed::new(distribution, SEED);
    (0..count).map(move |draw| skewed.number(mix(SEED, &[draw])))
}

/// The share of draws in the parts of the range from `from` to below `to` (shares of it).
fn share(distribution: &Distribution, from: f64, to: f64) -> f64 {
    let range = distribution.range();
    let size = range.last() as f64 + 1.0;
    let inside = draws(distribution, DRAWS).filter(|number| {
        let place = number.abs_diff(range.low) as f64 / size;
        (from..to).contains(&place)
    });
    inside.count() as f64 / DRAWS as f64
}

// --- Exact probabilities -----------------------------------------------------------------------

/// The differences of a cumulative distribution at 0, 1 … `size`.
fn steps(size: u32, cumulative: impl Fn(f64) -> f64) -> Vec<f64> {
    let place = |k: u32| cumulative(f64::from(k));
    (0..size).map(|k| place(k + 1) - place(k)).collect()
}

fn zipf_exact(size: u32, exponent: f64) -> Vec<f64> {
    let weights: Vec<_> = (1..=size).map(|k| f64::from(k).powf(-exponent)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// The probability that the mean of `count` uniform numbers is below x (Irwin and Hall, 1927).
fn mean_below(count: u32, x: f64) -> f64 {
    let x = x.clamp(0.0, 1.0) * f64::from(count);
    let mut sum = 0.0;
    let mut binomial = 1.0;
    for k in 0..count {
        if f64::from(k) > x {
            break;
        }
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        sum += sign * binomial * (x - f64::from(k)).powi(count.cast_signed());
        binomial *= f64::from(count - k) / f64::from(k + 1);
    }
    sum / (1..=count).map(f64::from).product::<f64>()
}

/// sysbench's special as its formula says: a bell below the share, and the upper part of the uniform numbers in the zone.
fn special_exact(size: u32, percent: f64, share: f64) -> Vec<f64> {
    let (span, share) = (f64::from(size - 1), share / 100.0);
    let width = span * percent / 100.0;
    let start = span / 2.0 - width / 2.0;
    let (from, to) = (start + (1.0 - share) * (width + 1.0), start + width + 1.0);
    let zone = |x: f64| ((x - from) / (to - from).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    steps(size, |x| {
        share * zone(x) + (1.0 - share) * mean_below(12, x / span)
    })
}

fn normal_below(z: f64) -> f64 {
    0.5 * (1.0 + libm::erf(z / std::f64::consts::SQRT_2))
}

fn gaussian_exact(size: u32, parameter: f64) -> Vec<f64> {
    let all = normal_below(parameter) - normal_below(-parameter);
    steps(size, |x| {
        normal_below((2.0 * x / f64::from(size) - 1.0) * parameter) / all
    })
}

fn exponential_exact(size: u32, parameter: f64) -> Vec<f64> {
    let all = -(-parameter).exp_m1();
    steps(size, |x| -(-parameter * x / f64::from(size)).exp_m1() / all)
}

/// Refuses draws whose chi-squared statistic exceeds what chance gives once in a thousand.
fn compare(distribution: &Distribution, exact: &[f64]) {
    let low = distribution.range().low;
    assert_eq!(distribution.range().last() + 1, exact.len() as u64);
    let mut counts = vec![0_u64; exact.len()];
    for number in draws(distribution, DRAWS) {
        counts[usize::try_from(number - low).unwrap()] += 1;
    }
    chi_squared::refuse_unlikely(&counts, exact, &format!("{distribution:?}"));
}

#[test]
fn zipf_has_its_exact_probabilities_with_exponents_of_1_and_on_both_sides() {
    for exponent in [0.0, 0.3, 0.8, 0.99, 1.0, 1.001, 1.5, 4.0] {
        for size in [1, 2, 10, 500] {
            compare(
                &zipf((1, size.into()), exponent),
                &zipf_exact(size, exponent),
            );
        }
    }
}

#[test]
fn pareto_has_its_exact_probabilities() {
    for h in [0.05_f64, 0.2, 0.5, 0.8] {
        for size in [1, 2, 50] {
            let power = (1.0 - h).ln() / h.ln();
            let exact = steps(size, |x| (x / f64::from(size)).powf(power));
            compare(&pareto((-7, i64::from(size) - 8), h), &exact);
        }
    }
}

#[test]
fn bates_has_its_exact_probabilities() {
    for iterations in [1, 2, 3, 12] {
        for size in [1, 2, 12, 41] {
            let exact = steps(size, |x| mean_below(iterations, x / f64::from(size)));
            compare(&bates((0, i64::from(size) - 1), iterations), &exact);
        }
    }
}

#[test]
fn special_has_the_exact_probabilities_of_what_sysbench_computes() {
    for (percent, zone) in [
        (1.0, 75.0),
        (10.0, 50.0),
        (30.0, 90.0),
        (5.0, 100.0),
        (5.0, 0.0),
    ] {
        for size in [2, 12, 100, 1001] {
            let exact = special_exact(size, percent, zone);
            compare(&special((1, size.into()), percent, zone), &exact);
        }
    }
    let one = special((5, 5), 1.0, 75.0);
    assert!(draws(&one, 100).all(|number| number == 5));
}

#[test]
fn gaussian_has_its_exact_probabilities() {
    for parameter in [2.0, 2.5, 5.0, 12.0] {
        for size in [1, 2, 15, 60] {
            let exact = gaussian_exact(size, parameter);
            compare(&gaussian((0, i64::from(size) - 1), parameter), &exact);
        }
    }
}

#[test]
fn exponential_has_its_exact_probabilities() {
    for parameter in [1e-18, 0.5, 5.0, 30.0] {
        for size in [1, 2, 20, 90] {
            let exact = if parameter < 1e-9 {
                vec![1.0 / f64::from(size); size as usize]
            } else {
                exponential_exact(size, parameter)
            };
            compare(&exponential((0, i64::from(size) - 1), parameter), &exact);
        }
    }
}

// --- What is published -------------------------------------------------------------------------

#[track_caller]
fn near(found: f64, published: f64, tolerance: f64) {
    assert!(
        (found - published).abs() <= tolerance,
        "{found}, not {published}"
    );
}

#[test]
fn zipf_gives_its_first_integers_the_published_shares() {
    for (size, first) in [
        (10, 0.2805),
        (1_000_000, 0.013_368),
        (10_000_000, 0.008_254),
        (50_000_000, 0.005_922),
    ] {
        let ones = draws(&zipf((1, size), 0.8), DRAWS).filter(|number| *number == 1);
        let found = ones.count() as f64 / DRAWS as f64;
        // Three standard deviations of the count.
        near(found, first, 3.0 * (first / DRAWS as f64).sqrt());
    }
    let wide = zipf((1, 10_000_000), 0.8);
    near(share(&wide, 0.0, 1e-4), 0.128, 0.002);
    near(share(&wide, 0.0, 0.01), 0.37, 0.01);
    near(share(&wide, 0.0, 0.1), 0.62, 0.005);
}

#[test]
fn the_ratio_of_neighbours_in_zipf_is_a_power_of_their_ranks() {
    let mut counts = [0.0; 6];
    for number in draws(&zipf((1, 1_000_000_000), 1.5), DRAWS) {
        if let Some(count) = counts.get_mut(usize::try_from(number).unwrap()) {
            *count += 1.0;
        }
    }
    for k in 1..5 {
        let ratio = (1.0 + 1.0 / k as f64).powf(1.5);
        near(counts[k] / counts[k + 1], ratio, 0.02 * ratio);
    }
}

#[test]
fn pareto_gives_the_beginning_of_the_range_the_published_shares() {
    let wide = pareto((1, 1_000_000), 0.2);
    for (part, published) in [(0.01, 0.528), (0.1, 0.727), (0.2, 0.8), (0.5, 0.908)] {
        near(share(&wide, 0.0, part), published, 0.004);
    }
}

#[test]
fn special_has_three_quarters_in_its_zone_which_is_not_quite_the_middle() {
    let wide = special((1, 1_000_000), 1.0, 75.0);
    near(share(&wide, 0.4975, 0.505), 0.75 + 0.25 * 0.036, 0.003);
    near(share(&wide, 0.495, 0.505), 0.762, 0.003);
    near(share(&wide, 0.495, 0.4975), 0.25 * 0.012, 0.001);
    // As sysbench 1.0.20 itself counted them in 2,000,000 draws from 1 to 12.
    let counted = [
        0, 15, 1358, 24_122, 122_072, 705_670, 1_121_229, 24_242, 1_280, 12, 0, 0,
    ];
    for (number, sysbench) in (1..).zip(counted) {
        let ours = draws(&special((1, 12), 1.0, 75.0), DRAWS).filter(|drawn| *drawn == number);
        let expected = f64::from(sysbench) * DRAWS as f64 / 2e6;
        near(ours.count() as f64, expected, 4.0 * expected.sqrt() + 4.0);
    }
}

#[test]
fn both_gaussians_have_their_bell_where_it_is_published() {
    let wide = gaussian((1, 1_000_000), 5.0);
    near(share(&wide, 0.4, 0.6), 0.683, 0.003);
    near(share(&wide, 0.3, 0.7), 0.9545, 0.003);
    let least = gaussian((1, 1_000_000), 2.0);
    near(share(&least, 0.25, 0.75), 0.67 + 0.045, 0.003);
    let numbers: Vec<_> = draws(&bates((0, 999_999), 12), DRAWS).collect();
    let square = |number: &i64| (*number as f64 - 500_000.0).powi(2);
    let variance = numbers.iter().map(square).sum::<f64>() / DRAWS as f64;
    near(variance.sqrt(), 1e6 / 12.0, 300.0);
}

#[test]
fn exponential_gives_the_first_percent_about_as_many_percent_as_its_parameter() {
    for parameter in [5.0, 10.0] {
        let found = share(&exponential((1, 1_000_000), parameter), 0.0, 0.01);
        near(found, parameter / 100.0, 0.1 * parameter / 100.0);
        let exact = exponential_exact(100, parameter)[0];
        near(found, exact, 4.0 * (exact / DRAWS as f64).sqrt());
    }
}

// --- Wide ranges -------------------------------------------------------------------------------

fn of_every_kind(range: Bounds) -> [Distribution; 8] {
    let scattered = Distribution::Zipf(Zipf {
        range,
        exponent: 0.8,
        scattered: true,
    });
    [
        zipf(range, 0.8),
        zipf(range, 1.0),
        scattered,
        pareto(range, 0.2),
        special(range, 1.0, 75.0),
        bates(range, 12),
        gaussian(range, 2.5),
        exponential(range, 5.0),
    ]
}

#[test]
fn the_shape_is_the_same_for_two_to_the_64_integers_as_for_a_thousand() {
    let thousand = of_every_kind((0, 999).into());
    let widest = of_every_kind((i64::MIN, i64::MAX).into());
    // Those of zipf depend on the size; that of a thousand and that of 2^64 share no figure.
    for (small, wide) in thousand.iter().zip(&widest).skip(3) {
        for place in [0.1, 0.25, 0.49, 0.5, 0.51, 0.8] {
            near(share(wide, 0.0, place), share(small, 0.0, place), 0.02);
        }
    }
    let exponent_1 = share(&widest[1], 0.0, 2.0_f64.powi(-32));
    near(exponent_1, 0.5, 0.01);
    let uniform = zipf((i64::MIN, i64::MAX), 0.0);
    near(share(&uniform, 0.0, 0.25), 0.25, 0.003);
}

#[test]
fn no_integer_of_a_wide_range_is_out_of_reach() {
    for distribution in of_every_kind((i64::MIN, i64::MAX).into()).iter().skip(2) {
        let mut ones = [0_u32; 64];
        for number in draws(distribution, 20_000) {
            for (bit, count) in ones.iter_mut().enumerate() {
                *count += u32::from(number >> bit & 1 == 1);
            }
        }
        // Half of the draws have each of the lowest bits, with a standard deviation of 71.
        for count in &ones[..16] {
            assert!((9600..10_400).contains(count), "{distribution:?}: {ones:?}");
        }
    }
}

proptest! {
    #[test]
    fn no_draw_leaves_its_range(random: u64, a: i64, b: i64, few in 0_i64..100) {
        for range in [(a.min(b), a.max(b)), (a, a.saturating_add(few)), (0, 1 << 40), (i64::MIN, i64::MAX)] {
            for distribution in of_every_kind(range.into()) {
                for random in [random, 0, u64::MAX] {
                    let number = Skewed::new(&distribution, SEED).number(random);
                    prop_assert!((range.0..=range.1).contains(&number), "{distribution:?} {number}");
                }
            }
        }
    }

    #[test]
    fn no_allowed_parameter_makes_a_draw_that_leaves_its_range_or_never_ends(
        random: u64,
        high in 0_i64..i64::MAX,
        unit in 1e-300_f64..1.0,
        few in 1_u32..=ITERATIONS_MAX,
    ) {
        let range = (0, high);
        for distribution in [
            zipf(range, unit * EXPONENT_MAX),
            zipf(range, EXPONENT_MAX),
            zipf(range, unit),
            pareto(range, unit * 0.999),
            special(range, unit * 100.0, unit * 100.0),
            special(range, 100.0, 100.0),
            bates(range, few),
            gaussian(range, PARAMETER_MIN / unit),
            exponential(range, unit),
            exponential(range, 1.0 / unit),
        ] {
            let number = Skewed::new(&distribution, SEED).number(random);
            prop_assert!((0..=high).contains(&number), "{distribution:?} {number}");
        }
    }
}

// --- The same for ever -------------------------------------------------------------------------

#[test]
fn what_a_seed_draws_is_fixed_for_ever_so_that_old_results_can_be_made_again() {
    let found = of_every_kind((1, 10_000_000).into()).map(|distribution| {
        let numbers: Vec<_> = draws(&distribution, 3).collect();
        [numbers[0], numbers[1], numbers[2]]
    });
    let fixed = [
        [1_426_321, 872_017, 1_603_901],
        [37_413, 12_457, 49_435],
        [8_699_492, 4_132_182, 9_310_893],
        [239_648, 19, 25],
        [5_009_612, 5_239_025, 5_442_142],
        [6_296_537, 5_239_025, 5_442_142],
        [5_931_131, 6_572_288, 6_709_266],
        [1_793_478, 347_005, 361_310],
    ];
    assert_eq!(found, fixed);
}
