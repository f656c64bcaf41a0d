//! Bounds since when replies may have been readable, from a worker's waits alone.
//!
//! The kernel does not say since when a socket has been readable. But a worker sees all of its sockets at each wait:
//! a reply that a wait gives was not there at the wait before (a look that found nothing), or at this wait's own begin
//! where that went to sleep. So one reading of the clock behind each wait bounds the time that any reply has lain there.
//!
//! Whether a wait slept shows in how long it took: to hand out what is there takes the kernel less than
//! [`AWAKE_NS_MAX`] and [`AWAKE_PER_EVENT_NS_MAX`] for each event, to put a thread to sleep and to wake it takes more. A
//! sleep that is shorter all the same only makes the bound larger. A wait that found something at once and lost the
//! processor to another thread in the middle counts as a sleep: then the bound leaves out that time, as it leaves out
//! the time between a sleeper's waking and its turn on the processor. Both are the machine's queue, not the
//! generator's.

/// The longest that a wait takes which finds something at once, without what its events take.
const AWAKE_NS_MAX: u64 = 4_000;

/// The same for each event.
const AWAKE_PER_EVENT_NS_MAX: u64 = 200;

/// Since when the replies of a worker's last wait may have been readable.
#[derive(Debug, Default)]
pub struct Readable {
    /// When all sockets were looked at last: whatever was not given then was not readable before.
    looked_ns: u64,
    since_ns: u64,
}

impl Readable {
    /// Takes account of a wait that began at `asked_ns` and gave so many events at `ended_ns`; `full`: there may be more.
    #[inline]
    pub fn waited(&mut self, asked_ns: u64, ended_ns: u64, events: usize, full: bool) {
        let awake_ns = AWAKE_NS_MAX + AWAKE_PER_EVENT_NS_MAX * events as u64;
        let slept = ended_ns - asked_ns > awake_ns;
        self.looked(asked_ns, slept.then_some(ended_ns), full);
    }

    /// Takes account of a look at all sockets at `asked_ns`, and of a sleep until `slept_ns` where nothing was there.
    #[inline]
    pub fn looked(&mut self, asked_ns: u64, slept_ns: Option<u64>, full: bool) {
        if let Some(ended_ns) = slept_ns {
            self.since_ns = ended_ns;
            self.looked_ns = ended_ns;
        } else {
            self.since_ns = self.looked_ns;
            if !full {
                self.looked_ns = asked_ns;
            }
        }
    }

    /// Takes account of a receive that waits by itself.
    #[inline]
    pub fn blocked(&mut self) {
        self.since_ns = u64::MAX;
    }

    /// Returns the earliest moment at which what the last wait gave may have been readable; `u64::MAX`: not before its receipt.
    #[inline]
    #[must_use]
    pub fn since_ns(&self) -> u64 {
        self.since_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_sleep_replies_are_as_old_as_its_end() {
        let mut readable = Readable::default();
        readable.waited(1_000, 900_000, 3, false);
        assert_eq!(readable.since_ns(), 900_000);
    }

    #[test]
    fn what_is_found_at_once_may_have_come_just_after_the_last_look() {
        let mut readable = Readable::default();
        readable.waited(1_000, 900_000, 1, false);
        readable.waited(950_000, 951_000, 2, false);
        assert_eq!(readable.since_ns(), 900_000, "the sleep's end");
        readable.waited(980_000, 981_000, 2, false);
        assert_eq!(readable.since_ns(), 950_000, "when it was asked last");
    }

    #[test]
    fn many_events_take_their_time_without_a_sleep() {
        let mut readable = Readable::default();
        readable.waited(0, 100_000, 1, false);
        readable.waited(200_000, 250_000, 256, true);
        assert_eq!(readable.since_ns(), 100_000);
        readable.waited(700_000, 710_000, 256, true);
        assert_eq!(
            readable.since_ns(),
            100_000,
            "a full look says nothing of those that it did not give"
        );
        readable.waited(800_000, 801_000, 5, false);
        readable.waited(810_000, 811_000, 5, false);
        assert_eq!(readable.since_ns(), 800_000);
    }

    #[test]
    fn a_receive_that_blocks_has_no_queue() {
        let mut readable = Readable::default();
        readable.waited(0, 100_000, 1, false);
        readable.blocked();
        assert_eq!(readable.since_ns(), u64::MAX);
    }
}
