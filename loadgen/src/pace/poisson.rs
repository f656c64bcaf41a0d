//! Poisson arrivals: exponential gaps, drawn from the seed one after the other, so that they are the same each time.

use super::schedule::Share;
use crate::value::{mix, mix_in, name_part};

/// What tells the seed of arrivals from the seeds of values.
const SEED_NAME: &str = "arrivals";

/// 2^-53: turns the upper 53 bits of a random number into a share of one.
const SHARE_OF_BITS: f64 = 1.0 / (1_u64 << 53) as f64;

/// Arrivals at random: gaps of mean 1 / rate, none of which knows of another.
#[derive(Debug, Clone)]
pub struct Poisson {
    start_ns: u64,
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

/// The seed of the arrivals of a role of one client.
#[must_use]
pub fn seed(seed: u64, step: &str, role: &str, client: u32) -> u64 {
    let parts = [step, role, SEED_NAME].map(name_part);
    mix_in(mix(seed, &parts), u64::from(client))
}

impl Poisson {
    /// Arrivals of `per_s` operations a second, drawn from [`seed`], of which this process has a share.
    #[must_use]
    pub fn new(per_s: f64, seed: u64, share: Share) -> Self {
        let mut poisson = Self {
            start_ns: 0,
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

    /// The gap before the role's arrival of this number: −ln(U) · mean, U in (0, 1] (inverse of the distribution).
    #[inline]
    fn gap(&self, number: u64) -> f64 {
        let random = mix_in(self.seed, number) >> 11;
        -((random + 1) as f64 * SHARE_OF_BITS).ln() * self.gap_ns
    }

    /// This process's arrival `k`, from an earlier arrival or the same.
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

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive time in ns fits"
    )]
    fn due_ns(&self, arrival: Arrival) -> u64 {
        self.start_ns + arrival.since_ns.round() as u64
    }

    /// When the next arrival is due.
    #[inline]
    pub(super) fn next_ns(&self) -> u64 {
        self.due_ns(self.next)
    }

    /// Takes the next arrival; when it was due.
    #[inline]
    pub(super) fn admit(&mut self) -> u64 {
        let due_ns = self.next_ns();
        self.next = self.at(self.next, self.next.k + 1);
        due_ns
    }

    /// How many were due by `now_ns` and have not been taken; at most `left`.
    pub(super) fn waiting(&mut self, left: u64, now_ns: u64) -> u64 {
        if self.ahead.k < self.next.k {
            self.ahead = self.next;
        }
        let end = self.next.k.saturating_add(left);
        while self.ahead.k < end && self.due_ns(self.ahead) <= now_ns {
            self.ahead = self.at(self.ahead, self.ahead.k + 1);
        }
        self.ahead.k.min(end) - self.next.k
    }

    pub(super) fn shift(&mut self, shift_ns: u64) {
        self.start_ns += shift_ns;
    }
}
