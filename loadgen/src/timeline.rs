//! Keeps a worker's own account of time: the window, its ticks, and the time that counts.
//!
//! Pure: times come from the caller, in nanoseconds of CLOCK_MONOTONIC.

use crate::job::{SETTLE_NS, Stop, nanoseconds};

const SECOND_NS: u64 = 1_000_000_000;

/// What counts of a clock's time: all since it began, less what was skipped. The clock may be one of CPU, too.
#[derive(Debug, Clone, Copy, Default)]
pub struct ActiveTime {
    /// When the clock would have begun without what was skipped.
    began_ns: u64,
    /// When counting went on after what was skipped last.
    settled_ns: Option<u64>,
}

impl ActiveTime {
    /// Begins with nothing where the clock says `began_ns`.
    #[must_use]
    pub fn new(began_ns: u64) -> Self {
        Self {
            began_ns,
            settled_ns: None,
        }
    }

    /// Returns how much has counted when the clock says `now_ns`; it stands still in what is skipped.
    #[must_use]
    pub fn at(&self, now_ns: u64) -> u64 {
        let counted_ns = now_ns.max(self.settled_ns.unwrap_or(0));
        counted_ns.saturating_sub(self.began_ns)
    }

    /// Returns what the clock says when so much has counted, where nothing further is skipped.
    #[inline]
    #[must_use]
    pub fn clock_ns(&self, active_ns: u64) -> u64 {
        self.began_ns.saturating_add(active_ns)
    }

    /// Skips what lies between two times of the clock; what of it is skipped already is so once.
    pub fn skip(&mut self, from_ns: u64, until_ns: u64) {
        self.began_ns = until_ns.saturating_sub(self.at(from_ns));
        self.settled_ns = Some(until_ns);
    }

    /// Tells whether what happens at `now_ns` counts.
    #[inline]
    #[must_use]
    pub fn counts(&self, now_ns: u64) -> bool {
        Some(now_ns) > self.settled_ns
    }
}

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

/// Where a step stands. All but the clock's readings is active time since the step's start.
#[derive(Debug, Clone)]
pub struct Timeline {
    time: ActiveTime,
    /// How long the window stays closed.
    warmup_ns: u64,
    /// When a timed window closes.
    close_ns: Option<u64>,
    /// When the step is broken off.
    limit_ns: Option<u64>,
    /// What follows a pause and counts for nothing.
    settle_ns: u64,
    /// The number of the tick that is going on, when it began and when it ends.
    number: i64,
    began_ns: u64,
    boundary_ns: u64,
}

impl Timeline {
    /// Begins the timeline of a step that starts at `start_ns`.
    #[must_use]
    pub fn new(stop: &Stop, start_ns: u64) -> Self {
        let warmup_ns = nanoseconds(stop.warmup_s);
        // Ticks end at the window's start ± whole seconds, so that a first tick may be shorter.
        let (whole, part_ns) = (warmup_ns / SECOND_NS, warmup_ns % SECOND_NS);
        let skip = u64::from(part_ns == 0);
        Self {
            time: ActiveTime::new(start_ns),
            warmup_ns,
            close_ns: stop.seconds.map(|seconds| warmup_ns + nanoseconds(seconds)),
            limit_ns: stop.seconds_max.map(nanoseconds),
            settle_ns: stop.settle_s.map_or(SETTLE_NS, nanoseconds),
            number: skip.cast_signed() - whole.cast_signed(),
            began_ns: 0,
            boundary_ns: part_ns + skip * SECOND_NS,
        }
    }

    /// Tells whether the window opens with the step's start.
    #[must_use]
    pub fn opens_at_once(&self) -> bool {
        self.warmup_ns == 0
    }

    /// Returns when a timed window closes, by the clock.
    #[must_use]
    pub fn close_ns(&self) -> Option<u64> {
        self.close_ns.map(|close_ns| self.time.clock_ns(close_ns))
    }

    /// Returns when the step is broken off, by the clock.
    #[must_use]
    pub fn limit_ns(&self) -> Option<u64> {
        self.limit_ns.map(|limit_ns| self.time.clock_ns(limit_ns))
    }

    /// Returns when the tick ends that is going on, by the clock.
    #[inline]
    #[must_use]
    pub fn boundary_ns(&self) -> u64 {
        self.time.clock_ns(self.boundary_ns)
    }

    /// Returns the next time at which something is to be done, by the clock.
    #[inline]
    #[must_use]
    pub fn wake_ns(&self) -> u64 {
        let close_ns = self.close_ns.unwrap_or(u64::MAX);
        let limit_ns = self.limit_ns.unwrap_or(u64::MAX);
        self.time
            .clock_ns(self.boundary_ns.min(close_ns).min(limit_ns))
    }

    /// Tells whether what completes at `now_ns` counts: not so shortly after a pause.
    #[inline]
    #[must_use]
    pub fn counts(&self, now_ns: u64) -> bool {
        self.time.counts(now_ns)
    }

    /// Returns when counting began, or begins, again after the last pause; none before the first.
    #[inline]
    #[must_use]
    pub fn settled_ns(&self) -> Option<u64> {
        self.time.settled_ns
    }

    /// Ends the tick at its boundary.
    pub fn cut(&mut self) -> Cut {
        let end_ns = self.boundary_ns();
        self.cut_at(self.boundary_ns, end_ns)
    }

    /// Ends the last tick, which may be shorter than a second; none where nothing of it has passed.
    pub fn close(&mut self, end_ns: u64) -> Option<Cut> {
        // Before a pause has settled, the tick is as long as it was when all became quiet; what ended since is traced.
        let active_ns = self.active_ns(end_ns);
        let settles = Some(end_ns) < self.time.settled_ns;
        (active_ns > self.began_ns || settles).then(|| self.cut_at(active_ns, end_ns))
    }

    /// Returns what follows the last tick when all is quiet: no time, and the operations that were in flight at its end.
    #[must_use]
    pub fn drained(&self, end_ns: u64) -> Cut {
        Cut {
            number: self.number,
            end_ns,
            active_ns: 0,
            measured: self.number > 1,
        }
    }

    /// Ends the tick after so much active time, when the clock says `end_ns`.
    fn cut_at(&mut self, active_ns: u64, end_ns: u64) -> Cut {
        let cut = Cut {
            number: self.number,
            end_ns,
            active_ns: active_ns - self.began_ns,
            measured: self.number > 0,
        };
        self.number += 1;
        self.began_ns = active_ns;
        self.boundary_ns = active_ns + SECOND_NS;
        cut
    }

    /// Returns the active time since the start.
    #[must_use]
    pub fn active_ns(&self, now_ns: u64) -> u64 {
        self.time.at(now_ns)
    }

    /// Returns the active time of the window, in the ticks that were cut.
    #[must_use]
    pub fn window_ns(&self) -> u64 {
        self.began_ns.saturating_sub(self.warmup_ns)
    }

    /// Skips a pause in which all was quiet from `paused_ns` to `resumed_ns`, and what settles after it.
    pub fn resume(&mut self, paused_ns: u64, resumed_ns: u64) {
        self.time.skip(paused_ns, resumed_ns + self.settle_ns);
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
    fn what_is_skipped_twice_is_skipped_once_and_time_stands_still_meanwhile() {
        let mut time = ActiveTime::new(100);
        assert!(time.counts(100) && time.at(90) == 0);
        time.skip(150, 200);
        assert_eq!(
            [150, 180, 200, 230].map(|now| time.at(now)),
            [50, 50, 50, 80]
        );
        assert!(!time.counts(200) && time.counts(201));
        time.skip(180, 300);
        assert_eq!([250, 310].map(|now| time.at(now)), [50, 60]);
        assert_eq!(time.clock_ns(60), 310);
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
            (timeline.opens_at_once(), timeline.close_ns()),
            (false, Some(4_500_000_000))
        );
        assert_eq!(timeline.window_ns(), 2 * SECOND_NS);
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
    fn the_job_may_say_how_long_a_pause_settles() {
        let short = Stop {
            settle_s: Some(0.05),
            ..stop(Some(3.0), 0.0)
        };
        let mut timeline = Timeline::new(&short, 0);
        timeline.resume(400_000_000, 9_000_000_000);
        assert!(!timeline.counts(9_050_000_000) && timeline.counts(9_050_000_001));
        assert_eq!(timeline.boundary_ns(), 9_650_000_000);
    }

    #[test]
    fn a_pause_before_the_last_one_has_settled_adds_no_active_time_and_takes_none() {
        let mut timeline = Timeline::new(&stop(Some(3.0), 0.0), 0);
        timeline.resume(500_000_000, 2_000_000_000);
        // Counting would have begun at 2.2 s.
        assert_eq!(timeline.active_ns(2_050_000_000), 500_000_000);
        timeline.resume(2_050_000_000, 3_000_000_000);
        assert_eq!(timeline.active_ns(3_300_000_000), 600_000_000);
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
        assert_eq!(timeline.window_ns(), 1_400_000_000);
        let mut timeline = Timeline::new(&stop(None, 0.0), 0);
        timeline.cut();
        timeline.resume(SECOND_NS, 9_000_000_000);
        let active_ns = timeline.close(9_100_000_000).map(|cut| cut.active_ns);
        assert_eq!(active_ns, Some(0), "only what is traced");
    }
}
