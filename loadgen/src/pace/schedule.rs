//! Says when operations become due, by the rate alone. A schedule that waits counts from a start that nobody knows yet;
//! only one that has begun can be asked for times.

use super::poisson::Poisson;
use super::share::Share;

/// One second in nanoseconds.
pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// A burst that took at least this long is followed at once (the published client's 0.95 s).
const BURST_OVERDUE_NS: u64 = 950_000_000;

/// When operations of a pacing become due, since its start.
#[derive(Debug)]
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

/// A schedule that has begun.
#[derive(Debug)]
pub(super) struct Started {
    /// When it began; later by the pauses since.
    start_ns: u64,
    schedule: Schedule,
}

impl Schedule {
    /// Begins the schedule at `start_ns`.
    pub(super) fn begin(self, start_ns: u64) -> Started {
        Started {
            start_ns,
            schedule: self,
        }
    }
}

impl Started {
    /// Tells whether it lets operations come at any time.
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        matches!(self.schedule, Schedule::Closed)
    }

    /// Tells whether arrivals come one by one, whatever became of those before them.
    pub(super) fn comes_singly(&self) -> bool {
        matches!(self.schedule, Schedule::Even(_) | Schedule::Poisson(_))
    }

    /// Returns when arrival `k` (the next one) may come.
    #[inline]
    pub(super) fn available_ns(&self, k: u64) -> u64 {
        let since_ns = match &self.schedule {
            Schedule::Closed => return 0,
            Schedule::Even(even) => even.due_ns(k),
            Schedule::Burst(burst) => burst.due_ns,
            Schedule::Poisson(poisson) => poisson.next_ns(),
        };
        self.start_ns + since_ns
    }

    /// Takes arrival `k`; returns when it was due.
    #[inline]
    pub(super) fn admit(&mut self, k: u64, now_ns: u64) -> u64 {
        let due_ns = self.available_ns(k);
        match &mut self.schedule {
            Schedule::Closed | Schedule::Even(_) => {}
            Schedule::Burst(burst) => burst.admit(now_ns.saturating_sub(self.start_ns)),
            Schedule::Poisson(poisson) => poisson.admit(),
        }
        due_ns
    }

    /// Returns how many were due by `now_ns`, where `admitted` have been taken; at most `quota`.
    pub(super) fn waiting(&mut self, admitted: u64, quota: u64, now_ns: u64) -> u64 {
        let Some(since_ns) = now_ns.checked_sub(self.start_ns) else {
            return 0;
        };
        let left = quota - admitted;
        match &mut self.schedule {
            Schedule::Even(even) => even.arrived(since_ns).saturating_sub(admitted).min(left),
            Schedule::Burst(burst) if burst.due_ns <= since_ns => burst.left.min(left),
            Schedule::Poisson(poisson) => poisson.waiting(left, since_ns),
            Schedule::Closed | Schedule::Burst(_) => 0,
        }
    }

    /// Moves what is still to come by a pause's length.
    pub(super) fn shift(&mut self, shift_ns: u64) {
        self.start_ns += shift_ns;
    }
}

/// Arrivals at equal distances.
#[derive(Debug)]
pub struct Even {
    per_s: f64,
    share: Share,
}

impl Even {
    /// Makes a schedule of `per_s` operations a second of which this process has a share.
    #[must_use]
    pub fn new(per_s: f64, share: Share) -> Self {
        Self { per_s, share }
    }

    /// Returns when this process's arrival `k` is due, since the start: number / rate.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive time in ns fits"
    )]
    pub(super) fn due_ns(&self, k: u64) -> u64 {
        let number = self.share.number(k);
        (number as f64 * 1e9 / self.per_s).round() as u64
    }

    /// Returns how many arrivals of this process were due when `since_ns` had passed since the start.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of operations fits"
    )]
    pub(super) fn arrived(&self, since_ns: u64) -> u64 {
        let last = (since_ns as f64 * self.per_s / 1e9) as u64;
        self.share.up_to(last)
    }
}

/// The Insert Benchmark's arrivals: one operation in the first second, then bursts; lost time is not caught up.
#[derive(Debug)]
pub struct Burst {
    /// When the burst that is being taken began, since the start.
    due_ns: u64,
    left: u64,
    size: u64,
}

impl Burst {
    /// Makes bursts of max(1, ceil(`per_s`)).
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive rate"
    )]
    pub fn new(per_s: f64) -> Self {
        Self {
            due_ns: 0,
            left: 1,
            size: (per_s.ceil() as u64).max(1),
        }
    }

    fn admit(&mut self, since_ns: u64) {
        self.left -= 1;
        if self.left == 0 {
            self.left = self.size;
            self.due_ns = if since_ns < self.due_ns + BURST_OVERDUE_NS {
                self.due_ns + SECOND_NS
            } else {
                since_ns
            };
        }
    }
}
