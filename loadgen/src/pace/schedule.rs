//! Schedules: when operations become due, by the rate alone.

use super::poisson::Poisson;
use super::share::Share;

/// One second in nanoseconds.
pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// A burst that took at least this long is followed at once (the published client's 0.95 s).
const BURST_OVERDUE_NS: u64 = 950_000_000;

/// When operations of a line become due.
#[derive(Debug, Clone)]
pub enum Schedule {
    /// At any time.
    Closed,
    /// At equal distances, whatever was late.
    Even(Even),
    /// A second's worth together.
    Burst(Burst),
    /// At random, each independent of the others.
    Poisson(Poisson),
}

/// Arrivals at equal distances.
#[derive(Debug, Clone)]
pub struct Even {
    pub(super) start_ns: u64,
    per_s: f64,
    share: Share,
}

impl Even {
    /// A schedule of `per_s` operations a second of which this process has a share.
    #[must_use]
    pub fn new(per_s: f64, share: Share) -> Self {
        Self {
            start_ns: 0,
            per_s,
            share,
        }
    }

    /// When this process's arrival `k` is due: start + number / rate.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive time in ns fits"
    )]
    pub(super) fn due_ns(&self, k: u64) -> u64 {
        let number = self.share.number(k);
        self.start_ns + (number as f64 * 1e9 / self.per_s).round() as u64
    }

    /// How many arrivals of this process were due by `now_ns`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of operations fits"
    )]
    pub(super) fn arrived(&self, now_ns: u64) -> u64 {
        if now_ns < self.start_ns {
            return 0;
        }
        let last = ((now_ns - self.start_ns) as f64 * self.per_s / 1e9) as u64;
        self.share.up_to(last)
    }
}

/// The Insert Benchmark's arrivals: one operation in the first second, then bursts; lost time is not caught up.
#[derive(Debug, Clone)]
pub struct Burst {
    start_ns: u64,
    left: u64,
    size: u64,
}

impl Burst {
    /// Bursts of max(1, ceil(`per_s`)).
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive rate"
    )]
    pub fn new(per_s: f64) -> Self {
        Self {
            start_ns: 0,
            left: 1,
            size: (per_s.ceil() as u64).max(1),
        }
    }

    fn admit(&mut self, now_ns: u64) -> u64 {
        let due_ns = self.start_ns;
        self.left -= 1;
        if self.left == 0 {
            self.left = self.size;
            let next_ns = due_ns + SECOND_NS;
            self.start_ns = if now_ns < due_ns + BURST_OVERDUE_NS {
                next_ns
            } else {
                now_ns
            };
        }
        due_ns
    }
}

impl Schedule {
    /// When arrival `k` (the next one) may come.
    pub(super) fn available_ns(&self, k: u64) -> u64 {
        match self {
            Self::Closed => 0,
            Self::Even(even) => even.due_ns(k),
            Self::Burst(burst) => burst.start_ns,
            Self::Poisson(poisson) => poisson.next_ns(),
        }
    }

    /// Takes arrival `k`; returns when it was due.
    pub(super) fn admit(&mut self, k: u64, now_ns: u64) -> u64 {
        match self {
            Self::Closed => 0,
            Self::Even(even) => even.due_ns(k),
            Self::Burst(burst) => burst.admit(now_ns),
            Self::Poisson(poisson) => poisson.admit(),
        }
    }

    /// How many were due by `now_ns`, where `admitted` have been taken; at most `quota`.
    pub(super) fn waiting(&mut self, admitted: u64, quota: u64, now_ns: u64) -> u64 {
        let left = quota - admitted;
        match self {
            Self::Even(even) => even.arrived(now_ns).saturating_sub(admitted).min(left),
            Self::Burst(burst) if burst.start_ns <= now_ns => burst.left.min(left),
            Self::Poisson(poisson) => poisson.waiting(left, now_ns),
            Self::Closed | Self::Burst(_) => 0,
        }
    }

    pub(super) fn shift(&mut self, shift_ns: u64) {
        match self {
            Self::Closed => {}
            Self::Even(Even { start_ns, .. }) | Self::Burst(Burst { start_ns, .. }) => {
                *start_ns += shift_ns;
            }
            Self::Poisson(poisson) => poisson.shift(shift_ns),
        }
    }
}
