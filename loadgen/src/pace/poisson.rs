//! Draws Poisson arrivals: exponential gaps, from the seed one after the other, so that they are the same each time.

use super::share::Share;
use crate::value::{exponential, mix, mix_in, name_part};

/// What tells the seed of arrivals from the seeds of values.
const SEED_NAME: &str = "arrivals";

/// Arrivals at random: gaps of mean 1 / rate, none of which knows of another.
#[derive(Debug)]
pub struct Poisson {
    seed: u64,
    gap_ns: f64,
    share: Share,
    /// The arrival of this process that comes next.
    next: Arrival,
    /// The first that was not due when somebody asked last how many wait, so that none is looked at twice.
    ahead: Arrival,
}

/// An arrival of this process.
#[derive(Debug, Clone, Copy, Default)]
struct Arrival {
    /// How many of this process come before it.
    k: u64,
    /// Its number within the role.
    number: u64,
    /// When it is due, since the start.
    since_ns: f64,
}

/// Returns the seed of the arrivals of a role of one client.
#[must_use]
pub fn seed(seed: u64, step: &str, role: &str, client: u32) -> u64 {
    let parts = [step, role, SEED_NAME].map(name_part);
    mix_in(mix(seed, &parts), u64::from(client))
}

impl Poisson {
    /// Makes arrivals of `per_s` operations a second, drawn from [`seed`], of which this process has a share.
    #[must_use]
    pub fn new(per_s: f64, seed: u64, share: Share) -> Self {
        let mut poisson = Self {
            seed,
            gap_ns: 1e9 / per_s,
            share,
            next: Arrival::default(),
            ahead: Arrival::default(),
        };
        poisson.next.since_ns = poisson.gap(0);
        poisson.next = poisson.at(poisson.next, 0);
        poisson.ahead = poisson.next;
        poisson
    }

    /// Returns the gap before the role's arrival of this number.
    #[inline]
    fn gap(&self, number: u64) -> f64 {
        exponential(mix_in(self.seed, number)) * self.gap_ns
    }

    /// Returns this process's arrival `k`, from an earlier arrival or the same.
    #[inline]
    fn at(&self, from: Arrival, k: u64) -> Arrival {
        let number = self.share.number(k);
        let gaps = (from.number + 1..=number).map(|number| self.gap(number));
        Arrival {
            k,
            number,
            since_ns: gaps.fold(from.since_ns, |since_ns, gap| since_ns + gap),
        }
    }

    /// Returns when the next arrival is due, since the start.
    #[inline]
    pub(super) fn next_ns(&self) -> u64 {
        self.next.due_ns()
    }

    /// Takes the next arrival.
    #[inline]
    pub(super) fn admit(&mut self) {
        self.next = self.at(self.next, self.next.k + 1);
    }

    /// Returns how many were due when `since_ns` had passed since the start and have not been taken; at most `left`.
    pub(super) fn waiting(&mut self, left: u64, since_ns: u64) -> u64 {
        if self.ahead.k < self.next.k {
            self.ahead = self.next;
        }
        let end = self.next.k.saturating_add(left);
        while self.ahead.k < end && self.ahead.due_ns() <= since_ns {
            self.ahead = self.at(self.ahead, self.ahead.k + 1);
        }
        self.ahead.k.min(end) - self.next.k
    }
}

impl Arrival {
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive time in ns fits"
    )]
    fn due_ns(self) -> u64 {
        self.since_ns.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::SECOND_NS;
    use super::*;
    use proptest::prelude::*;

    /// The rate of the statistical tests; in nanoseconds its gaps are whole to one part in ten thousand.
    const PER_S: f64 = 100_000.0;
    const ARRIVALS: usize = 200_000;

    /// Takes the next arrival; when it was due.
    fn taken(poisson: &mut Poisson) -> u64 {
        let due_ns = poisson.next_ns();
        poisson.admit();
        due_ns
    }

    fn drawn(seed: u64, share: Share, count: usize) -> Vec<u64> {
        let mut poisson = Poisson::new(PER_S, seed, share);
        (0..count).map(|_| taken(&mut poisson)).collect()
    }

    /// Gaps of a process in units of their mean; the first is that from the start.
    fn gaps(seed: u64) -> Vec<f64> {
        let due = drawn(seed, Share::whole(), ARRIVALS);
        let before = std::iter::once(0).chain(due.iter().copied());
        let gaps = before.zip(&due).map(|(before, due)| due - before);
        gaps.map(|gap_ns| gap_ns as f64 * PER_S / 1e9).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn variance(values: &[f64]) -> f64 {
        let mean = mean(values);
        let squares = values.iter().map(|value| (value - mean).powi(2));
        squares.sum::<f64>() / (values.len() - 1) as f64
    }

    #[test]
    fn gaps_have_the_mean_and_the_variance_of_the_exponential_distribution() {
        for seed in 0..8 {
            let gaps = gaps(seed);
            // Five standard errors: of the mean 1 / √n, of the variance √(8 / n).
            let error = 1.0 / (ARRIVALS as f64).sqrt();
            assert!((mean(&gaps) - 1.0).abs() < 5.0 * error, "seed {seed}");
            let spread = (variance(&gaps) - 1.0).abs();
            assert!(spread < 5.0 * 8_f64.sqrt() * error, "seed {seed}: {spread}");
        }
    }

    #[test]
    fn gaps_follow_the_exponential_distribution_by_kolmogorov_and_smirnov() {
        for seed in 0..8 {
            let mut gaps = gaps(seed);
            gaps.sort_unstable_by(f64::total_cmp);
            let count = gaps.len() as f64;
            let distance = gaps.iter().enumerate().map(|(rank, gap)| {
                let expected = 1.0 - (-gap).exp();
                let (below, up_to) = (rank as f64 / count, (rank + 1) as f64 / count);
                (expected - below).abs().max((up_to - expected).abs())
            });
            // The limit that one in a thousand exceeds: 1.95 / √n (Kolmogorov's distribution).
            let limit = 1.95 / count.sqrt();
            let distance = distance.fold(0.0, f64::max);
            assert!(distance < limit, "seed {seed}: {distance} of {limit}");
        }
    }

    #[test]
    fn counts_are_as_widely_spread_as_their_mean_at_every_scale() {
        let due = drawn(3, Share::whole(), ARRIVALS);
        // Bins of one, ten and a hundred arrivals.
        for bin_ns in [10_000, 100_000, 1_000_000] {
            let bins = due[ARRIVALS - 1] / bin_ns;
            let mut counts = vec![0.0; usize::try_from(bins).unwrap()];
            for due_ns in &due {
                if let Some(count) = counts.get_mut(usize::try_from(due_ns / bin_ns).unwrap()) {
                    *count += 1.0;
                }
            }
            // The index of dispersion; its standard error is √(2 / n).
            let dispersion = variance(&counts) / mean(&counts);
            let error = (2.0 / counts.len() as f64).sqrt();
            assert!(
                (dispersion - 1.0).abs() < 4.0 * error,
                "{bin_ns} ns: {dispersion}"
            );
        }
    }

    #[test]
    fn neighbouring_gaps_and_roles_do_not_know_of_each_other() {
        let gaps = gaps(5);
        let next = gaps.iter().skip(1);
        let products = gaps
            .iter()
            .zip(next)
            .map(|(gap, next)| (gap - 1.0) * (next - 1.0));
        let correlation = products.sum::<f64>() / gaps.len() as f64;
        assert!(correlation.abs() < 4.0 / (ARRIVALS as f64).sqrt());
        let of = |step, role, client| seed(42, step, role, client);
        let seeds = [
            of("a", "b", 0),
            of("b", "a", 0),
            of("a", "b", 1),
            of("a", "c", 0),
            seed(43, "a", "b", 0),
        ];
        assert!((1..5).all(|index| !seeds[..index].contains(&seeds[index])));
    }

    #[test]
    fn the_arrivals_of_a_seed_are_these_to_the_last_bit() {
        let mut poisson = Poisson::new(1000.0, seed(42, "s", "r", 0), Share::whole());
        // A logarithm of glibc's differs from libm's in the last bit of numbers 25, 44 and 78.
        let gaps = [
            (0, 0x4144_5619_6491_3fc5),
            (1, 0x4142_a8ce_62c4_d307),
            (2, 0x4118_f547_05e8_4f7f),
            (25, 0x4107_93e1_2bcf_dcba),
            (44, 0x411c_088c_681a_4bc3),
            (78, 0x4121_4cf8_7892_c0fd),
        ];
        for (number, bits) in gaps {
            assert_eq!(poisson.gap(number).to_bits(), bits, "gap {number}");
        }
        let due = [2_665_523, 5_111_248, 5_520_161, 5_724_767];
        assert_eq!(due.map(|_| taken(&mut poisson)), due);
        let last = poisson.at(poisson.next, 1999);
        assert_eq!(last.since_ns.to_bits(), 0x41dd_a7be_227d_7e25);
    }

    proptest! {
        #[test]
        fn segments_share_one_sequence_without_a_gap(seed in any::<u64>(), cycle in 1_u64..7, split in any::<u64>()) {
            let of = |index: u64| (0..cycle).filter(|number| split >> number & 1 == index).collect::<Vec<_>>();
            let shares = [of(0), of(1)].into_iter().filter(|own| !own.is_empty());
            let mut due = Vec::new();
            for own in shares {
                let count = 20 * own.len();
                due.extend(drawn(seed, Share::new(cycle, own), count));
            }
            due.sort_unstable();
            prop_assert_eq!(&due, &drawn(seed, Share::whole(), due.len()));
        }

        #[test]
        fn as_many_wait_as_are_due_and_not_taken(
            seed in any::<u64>(), left in 0_u64..2000, turns in prop::collection::vec((0_u64..20, 0_u64..SECOND_NS / 5000), 1..20),
        ) {
            let due = drawn(seed, Share::whole(), 1000);
            let mut poisson = Poisson::new(PER_S, seed, Share::whole());
            let (mut count, mut since_ns) = (0, 0);
            for (take, pass_ns) in turns {
                since_ns += pass_ns;
                for _ in 0..take {
                    prop_assert_eq!(taken(&mut poisson), due[count]);
                    count += 1;
                }
                let arrived = due.iter().skip(count).take_while(|due_ns| **due_ns <= since_ns);
                prop_assert_eq!(poisson.waiting(left, since_ns), left.min(arrived.count() as u64));
            }
        }
    }
}
