//! A worker's own account of time: the window, its ticks, and what a pause moves.
//!
//! Pure: times come from the caller, in nanoseconds of CLOCK_MONOTONIC.

use crate::job::Stop;

/// What follows a pause and counts for nothing, neither operations nor CPU.
pub const SETTLE_NS: u64 = 200_000_000;

const SECOND_NS: u64 = 1_000_000_000;

/// The end of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The tick's number: tick k ends k seconds of active time after the window's start.
    pub number: i64,
    /// When it ended.
    pub end_ns: u64,
    /// Its length without pauses.
    pub active_ns: u64,
    /// Whether it lies in the window.
    pub measured: bool,
}

/// Where a step stands.
#[derive(Debug, Clone)]
pub struct Timeline {
    open_ns: u64,
    close_ns: Option<u64>,
    limit_ns: Option<u64>,
    number: i64,
    began_ns: u64,
    boundary_ns: u64,
    settled_ns: u64,
    active_ns: u64,
}

/// Seconds as whole nanoseconds.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be at least 0; saturates"
)]
pub fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

impl Timeline {
    /// The timeline of a step that starts at `start_ns`.
    #[must_use]
    pub fn new(stop: &Stop, start_ns: u64) -> Self {
        let warmup_ns = nanoseconds(stop.warmup_s);
        let open_ns = start_ns + warmup_ns;
        // Ticks end at the window's start ± whole seconds, so that a first tick may be shorter.
        let whole = warmup_ns / SECOND_NS;
        let first_ns = open_ns - whole * SECOND_NS;
        let skip = u64::from(first_ns == start_ns);
        Self {
            open_ns,
            close_ns: stop.seconds.map(|seconds| open_ns + nanoseconds(seconds)),
            limit_ns: stop
                .seconds_max
                .map(|seconds| start_ns + nanoseconds(seconds)),
            number: skip.cast_signed() - whole.cast_signed(),
            began_ns: start_ns,
            boundary_ns: first_ns + skip * SECOND_NS,
            settled_ns: 0,
            active_ns: 0,
        }
    }

    /// When the window opens.
    #[must_use]
    pub fn open_ns(&self) -> u64 {
        self.open_ns
    }

    /// When a timed window closes.
    #[must_use]
    pub fn close_ns(&self) -> Option<u64> {
        self.close_ns
    }

    /// When the step is broken off.
    #[must_use]
    pub fn limit_ns(&self) -> Option<u64> {
        self.limit_ns
    }

    /// When the tick ends that is going on.
    #[inline]
    #[must_use]
    pub fn boundary_ns(&self) -> u64 {
        self.boundary_ns
    }

    /// The next time at which something is to be done.
    #[inline]
    #[must_use]
    pub fn wake_ns(&self) -> u64 {
        let close_ns = self.close_ns.unwrap_or(u64::MAX);
        self.boundary_ns
            .min(close_ns)
            .min(self.limit_ns.unwrap_or(u64::MAX))
    }

    /// Whether what completes at `now_ns` counts: not so shortly after a pause.
    #[inline]
    #[must_use]
    pub fn counts(&self, now_ns: u64) -> bool {
        now_ns > self.settled_ns
    }

    /// When counting begins again after a pause.
    #[must_use]
    pub fn settled_ns(&self) -> u64 {
        self.settled_ns
    }

    /// Ends the tick at its boundary.
    pub fn cut(&mut self) -> Cut {
        self.cut_at(self.boundary_ns)
    }

    /// Ends the last tick, which may be shorter than a second; none where nothing of it has passed.
    pub fn close(&mut self, end_ns: u64) -> Option<Cut> {
        // Before a pause has settled, the tick is as long as it was when all became quiet; what ended since is traced.
        let counted_ns = end_ns.max(self.settled_ns);
        (counted_ns > self.began_ns || end_ns < self.settled_ns).then(|| Cut {
            end_ns,
            ..self.cut_at(counted_ns)
        })
    }

    fn cut_at(&mut self, end_ns: u64) -> Cut {
        let cut = Cut {
            number: self.number,
            end_ns,
            active_ns: end_ns - self.began_ns,
            measured: self.number > 0,
        };
        if cut.measured {
            self.active_ns += cut.active_ns;
        }
        self.number += 1;
        self.began_ns = end_ns;
        self.boundary_ns = end_ns + SECOND_NS;
        cut
    }

    /// The window's active time in the ticks that were cut.
    #[must_use]
    pub fn active_ns(&self) -> u64 {
        self.active_ns
    }

    /// Moves what is to come: all was quiet from `paused_ns` to `resumed_ns`, and counting begins after that has settled.
    /// By how much it was moved: what counts for nothing, without what of it had done so already.
    pub fn resume(&mut self, paused_ns: u64, resumed_ns: u64) -> u64 {
        let from_ns = paused_ns.max(self.settled_ns);
        self.settled_ns = resumed_ns + SETTLE_NS;
        let shift_ns = self.settled_ns - from_ns;
        let open = self.number > 0;
        self.began_ns += shift_ns;
        self.boundary_ns += shift_ns;
        if !open {
            self.open_ns += shift_ns;
        }
        for end_ns in [&mut self.close_ns, &mut self.limit_ns]
            .into_iter()
            .flatten()
        {
            *end_ns += shift_ns;
        }
        shift_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(seconds: Option<f64>, warmup_s: f64) -> Stop {
        Stop {
            seconds,
            warmup_s,
            ..Stop::default()
        }
    }

    #[test]
    fn ticks_end_at_whole_seconds_from_the_windows_start() {
        let mut timeline = Timeline::new(&stop(Some(2.0), 2.5), 0);
        let cuts: Vec<_> = (0..5).map(|_| timeline.cut()).collect();
        let numbers: Vec<_> = cuts
            .iter()
            .map(|cut| (cut.number, cut.end_ns / 1_000_000, cut.measured))
            .collect();
        assert_eq!(
            numbers,
            [
                (-2, 500, false),
                (-1, 1500, false),
                (0, 2500, false),
                (1, 3500, true),
                (2, 4500, true)
            ]
        );
        assert_eq!(cuts[0].active_ns, SECOND_NS / 2);
        assert_eq!(
            (timeline.open_ns(), timeline.close_ns()),
            (2_500_000_000, Some(4_500_000_000))
        );
        assert_eq!(timeline.active_ns(), 2 * SECOND_NS);
        assert_eq!(
            timeline.close(4_500_000_000),
            None,
            "nothing of a further tick has passed"
        );
        assert_eq!(
            timeline.close(4_600_000_000).map(|cut| cut.active_ns),
            Some(100_000_000)
        );
    }

    #[test]
    fn a_warm_up_of_whole_seconds_and_none_begin_with_a_whole_tick() {
        assert_eq!(Timeline::new(&stop(Some(1.0), 2.0), 0).cut().number, -1);
        let mut timeline = Timeline::new(&stop(None, 0.0), 7);
        let cut = timeline.cut();
        assert_eq!(
            (cut.number, cut.end_ns, cut.measured),
            (1, SECOND_NS + 7, true)
        );
    }

    #[test]
    fn a_pause_and_what_settles_after_it_are_no_active_time() {
        let mut timeline = Timeline::new(&stop(Some(3.0), 0.0), 0);
        timeline.cut();
        timeline.resume(1_400_000_000, 9_000_000_000);
        assert!(!timeline.counts(9_200_000_000) && timeline.counts(9_200_000_001));
        let cut = timeline.cut();
        assert_eq!((cut.end_ns, cut.active_ns), (9_800_000_000, SECOND_NS));
        assert_eq!(timeline.close_ns(), Some(10_800_000_000));
    }

    #[test]
    fn a_pause_before_the_last_one_has_settled_adds_no_active_time_and_takes_none() {
        let mut timeline = Timeline::new(&stop(Some(3.0), 0.0), 0);
        assert_eq!(timeline.resume(500_000_000, 2_000_000_000), 1_700_000_000);
        // Counting would have begun at 2.2 s.
        assert_eq!(timeline.resume(2_050_000_000, 3_000_000_000), 1_000_000_000);
        let cut = timeline.cut();
        assert_eq!((cut.end_ns, cut.active_ns), (3_700_000_000, SECOND_NS));
        assert_eq!(timeline.close_ns(), Some(5_700_000_000));
    }

    #[test]
    fn what_was_counted_before_a_pause_is_told_though_the_step_ends_before_it_has_settled() {
        let mut timeline = Timeline::new(&stop(None, 0.0), 0);
        timeline.cut();
        timeline.resume(1_400_000_000, 9_000_000_000);
        let cut = timeline.close(9_100_000_000).unwrap();
        assert_eq!(
            (cut.number, cut.end_ns, cut.active_ns),
            (2, 9_100_000_000, 400_000_000)
        );
        assert_eq!(timeline.active_ns(), 1_400_000_000);
        let mut timeline = Timeline::new(&stop(None, 0.0), 0);
        timeline.cut();
        timeline.resume(SECOND_NS, 9_000_000_000);
        let active_ns = timeline.close(9_100_000_000).map(|cut| cut.active_ns);
        assert_eq!(active_ns, Some(0), "only what is traced");
    }
}
