//! Says when operations may start and when they were due: schedules, and the pacings that apply them to a role or a
//! tied pair.
//!
//! Pure: times come from the caller, in nanoseconds of CLOCK_MONOTONIC. `contract/README.md`, "pace", is the description.

mod poisson;
mod schedule;
mod share;

pub use poisson::{Poisson, seed};
pub use schedule::{Burst, Even, Schedule};
pub use share::Share;

use schedule::Started;

/// Lets the operations of one role of one client, or of a tied pair of roles, start in the order of their numbers.
#[derive(Debug)]
pub enum Pacing {
    /// Its role waits for others to end: when it will begin is not known, so there is nothing to ask it.
    Waiting(Waiting),
    /// Its schedule has begun.
    Begun(Begun),
}

/// A pacing that has not begun: what it will go by.
#[derive(Debug)]
pub struct Waiting {
    schedule: Schedule,
    quota: u64,
    tie: Option<Tie>,
}

/// A pacing whose schedule has begun.
#[derive(Debug)]
pub struct Begun {
    schedule: Started,
    /// Operations of each member.
    quota: u64,
    /// How many each member has started; a pacing without a pair has the first only.
    started: [u64; 2],
    /// How many rounds are open to both members; without a pair, how many have started.
    admitted: u64,
    tie: Option<Tie>,
}

/// What binds a pair: either may be `lead` operations ahead of the other.
#[derive(Debug)]
struct Tie {
    lead: u64,
    /// By round modulo `lead`: when the other's progress allowed it.
    opened_ns: Box<[u64]>,
    /// By round modulo `lead`: when the schedule had it due, and when it was allowed.
    admitted_ns: Box<[(u64, u64)]>,
}

impl Pacing {
    /// Makes a pacing of one role, which waits; `quota` none: without end.
    #[must_use]
    pub fn single(schedule: Schedule, quota: Option<u64>) -> Self {
        Self::waiting(schedule, quota, None)
    }

    /// Makes a pacing of a pair, which waits: member 0 has the schedule, member 1 is tied to it.
    ///
    /// # Panics
    /// With a `lead` of 0.
    #[must_use]
    pub fn pair(schedule: Schedule, quota: Option<u64>, lead: u64) -> Self {
        assert!(lead >= 1, "a lead of 0 would never let anything start");
        let slots = usize::try_from(lead).unwrap_or(usize::MAX);
        let tie = Tie {
            lead,
            opened_ns: vec![0; slots].into(),
            admitted_ns: vec![(0, 0); slots].into(),
        };
        Self::waiting(schedule, quota, Some(tie))
    }

    fn waiting(schedule: Schedule, quota: Option<u64>, tie: Option<Tie>) -> Self {
        Self::Waiting(Waiting {
            schedule,
            quota: quota.unwrap_or(u64::MAX),
            tie,
        })
    }

    /// Begins the schedule at `start_ns`; a pacing that has begun goes on as it is.
    pub fn begin(&mut self, start_ns: u64) {
        if let Self::Waiting(waiting) = self {
            let schedule = std::mem::replace(&mut waiting.schedule, Schedule::Closed);
            let mut begun = Begun {
                schedule: schedule.begin(start_ns),
                quota: waiting.quota,
                started: [0; 2],
                admitted: 0,
                tie: waiting.tie.take(),
            };
            if let Some(tie) = &mut begun.tie {
                tie.opened_ns.fill(start_ns);
            }
            begun.admit(start_ns);
            *self = Self::Begun(begun);
        }
    }

    /// Returns the pacing, where its schedule has begun.
    #[inline]
    #[must_use]
    pub fn begun(&self) -> Option<&Begun> {
        match self {
            Self::Waiting(_) => None,
            Self::Begun(begun) => Some(begun),
        }
    }

    /// Returns the same, to go on with it.
    #[inline]
    #[must_use]
    pub fn begun_mut(&mut self) -> Option<&mut Begun> {
        match self {
            Self::Waiting(_) => None,
            Self::Begun(begun) => Some(begun),
        }
    }
}

impl Begun {
    /// Tells whether the member's next operation may start now.
    #[inline]
    #[must_use]
    pub fn ready(&self, member: usize, now_ns: u64) -> bool {
        let number = self.started[member];
        if self.tie.is_some() {
            return number < self.admitted;
        }
        number < self.quota && self.schedule.available_ns(number) <= now_ns
    }

    /// Starts the member's next operation, which must be ready; returns when it was due. In a closed pace the caller
    /// takes the previous completion where that is later.
    #[inline]
    pub fn start(&mut self, member: usize, now_ns: u64) -> u64 {
        debug_assert!(self.ready(member, now_ns));
        let number = self.started[member];
        self.started[member] += 1;
        let Some(tie) = &mut self.tie else {
            self.admitted += 1;
            return self.schedule.admit(number, now_ns);
        };
        let (scheduled_ns, allowed_ns) = tie.admitted_ns[tie.slot(number)];
        let behind = self.started[1 - member];
        if behind > number {
            // This start was the one that both had to do: another round is open.
            let slot = tie.slot(number + tie.lead);
            tie.opened_ns[slot] = now_ns;
        }
        let scheduled = member == 0 && !self.schedule.is_closed();
        self.admit(now_ns);
        if scheduled { scheduled_ns } else { allowed_ns }
    }

    /// Opens the rounds of a pair that the tie and the schedule allow by now; returns whether there are such.
    pub fn admit(&mut self, now_ns: u64) -> bool {
        let Some(tie) = &mut self.tie else {
            return false;
        };
        let before = self.admitted;
        let behind = self.started[0].min(self.started[1]);
        let end = self.quota.min(behind.saturating_add(tie.lead));
        while self.admitted < end && self.schedule.available_ns(self.admitted) <= now_ns {
            let due_ns = self.schedule.admit(self.admitted, now_ns);
            let slot = tie.slot(self.admitted);
            tie.admitted_ns[slot] = (due_ns, due_ns.max(tie.opened_ns[slot]));
            self.admitted += 1;
        }
        self.admitted > before
    }

    /// Tells whether a pair's round enters the queue of member 1 next or is in it: all rounds before it are open, and
    /// member 0 has room for its own part.
    #[must_use]
    pub fn queues(&self, round: u64, now_ns: u64) -> bool {
        self.tie.as_ref().is_some_and(|tie| {
            round < self.quota
                && round <= self.admitted
                && round < self.started[0].saturating_add(tie.lead)
                && self.schedule.available_ns(round) <= now_ns
        })
    }

    /// Returns when time alone lets something start next, or enter a pair's queue; none where only another operation can.
    #[inline]
    #[must_use]
    pub fn wake_ns(&self) -> Option<u64> {
        if self.schedule.is_closed() || self.admitted >= self.quota {
            return None;
        }
        if let Some(tie) = &self.tie
            && self.admitted >= self.started[0].saturating_add(tie.lead)
        {
            return None;
        }
        Some(self.schedule.available_ns(self.admitted))
    }

    /// Tells whether its arrivals come one by one and by time alone, so that one can be left out.
    #[must_use]
    pub fn can_skip(&self) -> bool {
        self.tie.is_none() && self.schedule.comes_singly()
    }

    /// Returns how many operations of the member are due and not started.
    #[must_use]
    pub fn backlog(&mut self, member: usize, now_ns: u64) -> u64 {
        if self.schedule.is_closed() {
            return 0;
        }
        let open = self.admitted - self.started[member];
        let scheduled = if member == 0 {
            self.schedule.waiting(self.admitted, self.quota, now_ns)
        } else {
            0
        };
        open + scheduled
    }

    /// Returns when the member's next operation is due, or was; none in a closed pace, and where only the other member can let it
    /// start.
    #[must_use]
    pub fn next_due_ns(&self, member: usize) -> Option<u64> {
        let number = self.started[member];
        if self.schedule.is_closed() || number >= self.quota {
            return None;
        }
        match &self.tie {
            Some(tie) if number < self.admitted => {
                let (scheduled_ns, allowed_ns) = tie.admitted_ns[tie.slot(number)];
                Some(if member == 0 {
                    scheduled_ns
                } else {
                    allowed_ns
                })
            }
            _ => (member == 0).then(|| self.schedule.available_ns(number)),
        }
    }

    /// Moves everything that is still to come by a pause's length.
    pub fn shift(&mut self, shift_ns: u64) {
        self.schedule.shift(shift_ns);
        if let Some(tie) = &mut self.tie {
            for opened_ns in &mut tie.opened_ns {
                *opened_ns += shift_ns;
            }
            for (due_ns, allowed_ns) in &mut tie.admitted_ns {
                *due_ns += shift_ns;
                *allowed_ns += shift_ns;
            }
        }
    }
}

impl Tie {
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "below the ring's length, which is a usize"
    )]
    fn slot(&self, round: u64) -> usize {
        (round % self.lead) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::schedule::SECOND_NS;
    use super::*;
    use proptest::prelude::*;

    const START_NS: u64 = 5 * SECOND_NS;

    fn begun(mut pacing: Pacing) -> Begun {
        pacing.begin(START_NS);
        match pacing {
            Pacing::Waiting(_) => panic!("it was begun"),
            Pacing::Begun(begun) => begun,
        }
    }

    /// Starts of a pacing whose single connection takes `service_ns`, in milliseconds since the start, with their due times.
    fn starts(
        pacing: &mut Begun,
        count: usize,
        service_ns: impl Fn(usize) -> u64,
    ) -> Vec<(u64, u64)> {
        let mut now_ns = START_NS;
        let mut starts = Vec::new();
        for number in 0..count {
            if !pacing.ready(0, now_ns) {
                now_ns = pacing.wake_ns().expect("a schedule goes on by time");
            }
            let due_ns = pacing.start(0, now_ns);
            starts.push((
                (now_ns - START_NS) / 1_000_000,
                (due_ns - START_NS) / 1_000_000,
            ));
            now_ns += service_ns(number);
        }
        starts
    }

    #[test]
    fn a_burst_begins_with_one_operation_and_goes_on_each_second() {
        let mut pacing = begun(Pacing::single(Schedule::Burst(Burst::new(2.5)), None));
        assert_eq!(
            starts(&mut pacing, 8, |_| 10_000_000),
            [
                (0, 0),
                (1000, 1000),
                (1010, 1000),
                (1020, 1000),
                (2000, 2000),
                (2010, 2000),
                (2020, 2000),
                (3000, 3000)
            ]
        );
    }

    #[test]
    fn a_slow_burst_is_followed_at_once_and_lost_time_is_not_caught_up() {
        let mut pacing = begun(Pacing::single(Schedule::Burst(Burst::new(2.0)), None));
        // The fourth and fifth are the third burst; its first takes 2.7 s, so that the next follows at once.
        let service = |number| {
            if number == 3 {
                2_700_000_000
            } else {
                1_000_000
            }
        };
        assert_eq!(
            starts(&mut pacing, 9, service),
            [
                (0, 0),
                (1000, 1000),
                (1001, 1000),
                (2000, 2000),
                (4700, 2000),
                (4701, 4700),
                (4702, 4700),
                (5700, 5700),
                (5701, 5700)
            ]
        );
    }

    #[test]
    fn even_arrivals_are_exact_and_catch_up() {
        let mut pacing = begun(Pacing::single(
            Schedule::Even(Even::new(3.0, Share::whole())),
            Some(7),
        ));
        let service = |number| if number == 1 { 1_500_000_000 } else { 1 };
        assert_eq!(
            starts(&mut pacing, 6, service),
            [
                (0, 0),
                (333, 333),
                (1833, 666),
                (1833, 1000),
                (1833, 1333),
                (1833, 1666)
            ]
        );
        assert_eq!(
            pacing.backlog(0, START_NS + 60 * SECOND_NS),
            1,
            "never more than the quota"
        );
    }

    #[test]
    fn segments_share_even_arrivals_without_a_gap() {
        let whole = Even::new(10.0, Share::whole());
        let parts = [vec![0, 2], vec![1]].map(|own| Even::new(10.0, Share::new(3, own)));
        let mut due: Vec<_> = (0..20).map(|k| parts[0].due_ns(k)).collect();
        due.extend((0..10).map(|k| parts[1].due_ns(k)));
        due.sort_unstable();
        assert_eq!(due, (0..30).map(|k| whole.due_ns(k)).collect::<Vec<_>>());
        let arrived = parts[0].arrived(SECOND_NS) + parts[1].arrived(SECOND_NS);
        assert_eq!(arrived, whole.arrived(SECOND_NS));
    }

    #[test]
    fn a_tied_operation_is_due_when_the_tie_allowed_it() {
        let mut pacing = begun(Pacing::pair(Schedule::Closed, Some(100), 2));
        assert_eq!(pacing.start(0, START_NS + 1), START_NS);
        assert_eq!(pacing.start(0, START_NS + 2), START_NS);
        assert!(!pacing.ready(0, START_NS + 3), "two ahead");
        assert_eq!(pacing.start(1, START_NS + 7), START_NS);
        assert!(pacing.ready(0, START_NS + 7));
        assert_eq!(
            pacing.start(0, START_NS + 9),
            START_NS + 7,
            "allowed by the other's start"
        );
        pacing.shift(100);
        assert_eq!(
            pacing.start(1, START_NS + 200),
            START_NS + 100,
            "a pause moves what was open"
        );
    }

    #[test]
    fn a_paced_pair_follows_the_schedule_together() {
        let mut pacing = begun(Pacing::pair(Schedule::Burst(Burst::new(3.0)), Some(4), 8));
        assert_eq!(
            (pacing.backlog(0, START_NS), pacing.backlog(1, START_NS)),
            (1, 1)
        );
        assert_eq!(pacing.start(0, START_NS), START_NS);
        assert!(!pacing.ready(0, START_NS) && pacing.ready(1, START_NS));
        assert_eq!(pacing.wake_ns(), Some(START_NS + SECOND_NS));
        assert!(pacing.admit(START_NS + SECOND_NS));
        assert_eq!(pacing.backlog(1, START_NS + SECOND_NS), 4);
        for _ in 0..3 {
            assert_eq!(
                pacing.start(0, START_NS + SECOND_NS + 5),
                START_NS + SECOND_NS
            );
        }
        assert_eq!(pacing.wake_ns(), None, "the quota is admitted");
        assert!(!pacing.ready(0, u64::MAX));
    }

    proptest! {
        #[test]
        fn a_pair_is_never_further_apart_than_its_lead_and_ends_equal(
            lead in 1_u64..10,
            quota in 1_u64..200,
            turns in prop::collection::vec(0_usize..2, 0..600),
        ) {
            let mut pacing = begun(Pacing::pair(Schedule::Closed, Some(quota), lead));
            let everything = turns.into_iter().chain((0..1000).map(|turn| turn % 2));
            for (turn, member) in everything.enumerate() {
                let now_ns = START_NS + turn as u64;
                if pacing.ready(member, now_ns) {
                    let due_ns = pacing.start(member, now_ns);
                    prop_assert!(due_ns <= now_ns);
                }
                prop_assert!(pacing.started[0].abs_diff(pacing.started[1]) <= lead);
            }
            prop_assert_eq!(pacing.started, [quota, quota]);
        }

        #[test]
        fn even_arrivals_wait_as_many_as_are_due(per_s in 0.1_f64..5000.0, after_ns in 0_u64..100 * SECOND_NS, cycle in 1_u64..5) {
            let even = Even::new(per_s, Share::new(cycle, vec![cycle - 1]));
            let arrived = even.arrived(after_ns);
            // A nanosecond's rounding lies between the two formulas.
            prop_assert!(arrived == 0 || even.due_ns(arrived - 1) <= after_ns + 1);
            prop_assert!(even.due_ns(arrived) + 1 >= after_ns);
        }
    }
}
