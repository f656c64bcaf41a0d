//! A time limit for waits that costs nothing while it lies ahead.
//!
//! A wait with a time limit sets a timer of the kernel each time it sleeps and takes it back when it wakes, which on a
//! virtual machine costs about as much as a receive. But most waits have the same limit, the end of the tick. So that is
//! set once, on a timer that is waited for beside the sockets.
//!
//! A processor that has slept long is slow to wake, on a virtual machine by more than a millisecond. So a long wait ends
//! a little early, and what is left is a short one.

use super::error::SessionError;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::os::fd::OwnedFd;

/// A limit that is nearer than this is given to the wait itself: it changes with each operation of a pace.
const NEAR_NS: u64 = 50_000_000;

/// How much earlier a long wait ends.
const EARLY_NS: u64 = 2_000_000;

const NEVER: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// A timer among what a worker waits for.
#[derive(Debug)]
pub(super) struct Alarm {
    timer: OwnedFd,
    /// What it is set to; 0 when it is not.
    set_ns: u64,
}

impl Alarm {
    /// A timer that is not set; its events bear the mark.
    ///
    /// # Errors
    /// Where the operating system has no descriptor left.
    pub(super) fn new(epoll: &OwnedFd, mark: u64) -> Result<Self, SessionError> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        epoll::add(epoll, &timer, EventData::new_u64(mark), EventFlags::IN)?;
        Ok(Self { timer, set_ns: 0 })
    }

    /// The time limit that a wait until `until_ns` (`u64::MAX`: without limit) still needs; none where the timer has it.
    /// A far limit ends the wait a little early; a timer that is set to an earlier time wakes in vain, once.
    ///
    /// # Errors
    /// Where the operating system refuses to set it.
    #[inline]
    pub(super) fn limit(
        &mut self,
        until_ns: u64,
        now_ns: u64,
    ) -> Result<Option<Timespec>, SessionError> {
        let early_ns = until_ns.saturating_sub(EARLY_NS);
        if early_ns == self.set_ns || until_ns == u64::MAX {
            return Ok(None);
        }
        let left_ns = until_ns.saturating_sub(now_ns);
        if left_ns < NEAR_NS {
            return Ok(Some(timespec(left_ns)));
        }
        self.set(early_ns)?;
        Ok(None)
    }

    /// Takes note that the timer has gone off.
    ///
    /// # Errors
    /// Where the operating system refuses to stop it.
    #[cold]
    pub(super) fn forget(&mut self) -> Result<(), SessionError> {
        self.set(0)
    }

    /// Sets the timer, by which it also forgets that it has gone off; 0 stops it.
    #[cold]
    fn set(&mut self, until_ns: u64) -> Result<(), SessionError> {
        let times = Itimerspec {
            it_interval: NEVER,
            it_value: timespec(until_ns),
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &times)?;
        self.set_ns = until_ns;
        Ok(())
    }
}

fn timespec(time_ns: u64) -> Timespec {
    Timespec {
        tv_sec: (time_ns / 1_000_000_000).cast_signed(),
        tv_nsec: (time_ns % 1_000_000_000).cast_signed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic_ns;
    use rustix::buffer::spare_capacity;
    use rustix::event::epoll::{CreateFlags, Event};

    const MARK: u64 = 7;

    #[test]
    fn a_far_limit_is_set_once_and_a_near_one_given_to_the_wait() {
        let epoll = epoll::create(CreateFlags::CLOEXEC).unwrap();
        let mut alarm = Alarm::new(&epoll, MARK).unwrap();
        assert_eq!(alarm.limit(u64::MAX, 5).unwrap(), None);
        assert_eq!(alarm.set_ns, 0);
        let now_ns = monotonic_ns();
        let far_ns = now_ns + NEAR_NS + 1_000_000;
        assert_eq!(alarm.limit(far_ns, now_ns).unwrap(), None);
        assert_eq!(alarm.set_ns, far_ns - EARLY_NS);
        assert_eq!(alarm.limit(far_ns, far_ns - 10).unwrap(), None);
        assert_eq!(
            alarm.limit(far_ns - 10, far_ns - 30).unwrap(),
            Some(timespec(20))
        );
        assert_eq!(
            alarm.limit(now_ns, far_ns).unwrap(),
            Some(timespec(0)),
            "it is over"
        );
    }

    #[test]
    fn it_goes_off_at_its_time_and_is_quiet_after() {
        let epoll = epoll::create(CreateFlags::CLOEXEC).unwrap();
        let mut alarm = Alarm::new(&epoll, MARK).unwrap();
        let now_ns = monotonic_ns();
        let until_ns = now_ns + NEAR_NS;
        assert_eq!(alarm.limit(until_ns, now_ns).unwrap(), None);
        let mut events: Vec<Event> = Vec::with_capacity(4);
        epoll::wait(&epoll, spare_capacity(&mut events), None).unwrap();
        assert!(monotonic_ns() >= until_ns - EARLY_NS, "a little early");
        let marks: Vec<_> = events.iter().map(|event| event.data.u64()).collect();
        assert_eq!(marks, [MARK]);
        alarm.forget().unwrap();
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), Some(&NEVER)).unwrap();
        assert!(events.is_empty());
    }
}
