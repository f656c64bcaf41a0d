//! Bounds of how long a worker itself has delayed requests and replies, from its waits and its calls that send.
//!
//! The kernel does not say since when a socket has been readable. But a worker sees all of its sockets at each wait:
//! a reply that a wait gives was not there at the wait before (a look that found nothing), or at this wait's own begin
//! where that went to sleep. So one reading of the clock behind each wait bounds the time that any reply has lain there.
//!
//! Whether a wait slept shows in how long it took: to hand out what is there takes the kernel less than
//! [`AWAKE_NS_MAX`] and [`AWAKE_PER_EVENT_NS_MAX`] for each event, to put a thread to sleep and to wake it takes more. A
//! sleep that is shorter all the same only makes the bound larger. A wait that found something at once and lost the
//! processor to another thread in the middle counts as a sleep: then the bound leaves out that time, as it leaves out
//! the time between a sleeper's waking and its turn on the processor.
//!
//! A call that sends wakes servers, which may take the processor from the worker when the call returns: they work then on
//! what it has sent. So what such a call takes beyond [`SEND_NS_MAX`] for itself and for each request is not the worker's
//! time, and the worker's clock ([`Readable::own_ns`]) stands still meanwhile. Without a processor the worker is in the
//! machine's queue, which the kernel counts exactly ([`crate::clock::thread_runnable_ns`]).

/// The longest that a wait takes which finds something at once, without what its events take.
const AWAKE_NS_MAX: u64 = 4_000;

/// The same for each event.
const AWAKE_PER_EVENT_NS_MAX: u64 = 200;

/// The longest that sending takes for each request, and beside: a worker that is longer about it has lost the processor.
pub(super) const SEND_NS_MAX: u64 = 3_000;

/// Since when the replies of a worker's last wait may have been readable.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_field_names,
    reason = "all are times, and each says its unit"
)]
pub struct Readable {
    /// When all sockets were looked at last: whatever was not given then was not readable before.
    looked_ns: u64,
    since_ns: u64,
    /// How much of the time so far the worker had no processor, as far as calls that send have shown it.
    lost_ns: u64,
}

impl Readable {
    /// Returns what the worker's own clock says at `at_ns`, which is now or since the last call that sent.
    #[inline]
    #[must_use]
    pub fn own_ns(&self, at_ns: u64) -> u64 {
        at_ns - self.lost_ns
    }

    /// Takes account of a call that sent so many requests.
    #[inline]
    pub fn sent(&mut self, asked_ns: u64, ended_ns: u64, requests: usize) {
        let own_ns = SEND_NS_MAX * (1 + requests as u64);
        self.lost_ns += (ended_ns - asked_ns).saturating_sub(own_ns);
    }

    /// Takes account of a wait that began at `asked_ns` and gave so many events at `ended_ns`; `full`: there may be more.
    #[inline]
    pub fn waited(&mut self, asked_ns: u64, ended_ns: u64, events: usize, full: bool) {
        let awake_ns = AWAKE_NS_MAX + AWAKE_PER_EVENT_NS_MAX * events as u64;
        let slept = ended_ns - asked_ns > awake_ns;
        let ended_ns = slept.then(|| self.own_ns(ended_ns));
        self.looked(self.own_ns(asked_ns), ended_ns, full);
    }

    /// Takes account of a look at all sockets, at `look_ns` of the worker's clock, and of the wait from `waits_ns` to `ended_ns`
    /// that followed where nothing was there.
    #[inline]
    pub fn looked_twice(&mut self, look_ns: u64, waits_ns: u64, ended_ns: Option<u64>) {
        let slept_ns = ended_ns.filter(|ended_ns| ended_ns - waits_ns > AWAKE_NS_MAX);
        self.looked(
            look_ns,
            slept_ns.map(|ended_ns| self.own_ns(ended_ns)),
            false,
        );
    }

    /// Takes account of a look at all sockets at `asked_ns`, and of a sleep until `slept_ns` where nothing was there, both
    /// by the worker's clock.
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

    /// Returns the earliest moment of the worker's clock at which what the last wait gave may have been readable;
    /// `u64::MAX`: not before its receipt.
    #[inline]
    #[must_use]
    pub fn since_ns(&self) -> u64 {
        self.since_ns
    }

    /// Returns how long, at most, the worker itself has delayed what it handles at `now_ns`: the request, given to it and
    /// gone by its clock at `sent_ns` and `left_ns`, and its reply of the last wait.
    #[inline]
    #[must_use]
    pub fn queue_ns(&self, (sent_ns, left_ns): (u64, u64), now_ns: u64) -> u64 {
        let left_ns = left_ns.max(sent_ns);
        let unread_ns = self
            .own_ns(now_ns)
            .saturating_sub(self.since_ns.max(left_ns));
        (left_ns - sent_ns) + unread_ns
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
        assert_eq!(readable.queue_ns((50_000, 0), 300_000), 0);
    }

    #[test]
    fn a_request_is_delayed_until_it_leaves_and_its_reply_from_the_sleeps_end() {
        let mut readable = Readable::default();
        readable.waited(100_000, 900_000, 1, false);
        assert_eq!(
            readable.queue_ns((80_000, 95_000), 910_000),
            15_000 + 10_000
        );
        assert_eq!(readable.queue_ns((80_000, 0), 910_000), 10_000, "at once");
    }

    #[test]
    fn what_servers_take_from_a_call_that_sends_is_not_the_workers() {
        let mut readable = Readable::default();
        readable.waited(0, 100_000, 2, false);
        // Two replies are handled; the request of the second is sent while the server takes the processor for 1 ms.
        let sent_ns = readable.own_ns(110_000);
        readable.sent(110_000, 1_110_000, 1);
        assert_eq!(readable.own_ns(1_110_000), 110_000 + 2 * SEND_NS_MAX);
        readable.waited(1_115_000, 1_116_000, 1, false);
        let queue_ns = readable.queue_ns((sent_ns, 0), 1_117_000);
        assert_eq!(
            queue_ns,
            2 * SEND_NS_MAX + 7_000,
            "at most since it was sent"
        );
    }

    #[test]
    fn a_call_that_sends_many_may_take_longer() {
        let mut readable = Readable::default();
        readable.sent(0, 65 * SEND_NS_MAX, 64);
        assert_eq!(readable.own_ns(1_000_000), 1_000_000);
        readable.sent(0, 65 * SEND_NS_MAX + 300, 64);
        assert_eq!(readable.own_ns(1_000_000), 999_700);
    }
}
