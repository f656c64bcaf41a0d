//! Looks for an answer again and again before the thread sleeps: then the answer need not wake it up, nor the processor.
//!
//! Between a thread and its server, which sleep in turn, waking is most of an operation's time. Spinning pays only
//! where the answer comes soon and a processor is free. Whoever looks in vain stops looking for a while, and for longer
//! each time: so it costs next to nothing where answers take long, or where the server waits for our processor.

use crate::clock::monotonic_ns;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::os::fd::AsFd;

/// How long to look: longer than a query of one row takes, much shorter than a time slice.
const SPIN_NS: u64 = 100_000;

/// The most waits in a row without looking.
const SKIPPED_MAX: u32 = 64;

/// When to look.
#[derive(Debug, Default)]
pub(super) struct Spin {
    /// How many waits to sleep through at once, after the next look in vain.
    skipped: u32,
    /// How many of them are left.
    left: u32,
}

impl Spin {
    /// Looks until there is something to receive, its end or an error, or for [`SPIN_NS`].
    #[inline]
    pub(super) fn look(&mut self, socket: impl AsFd) {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let there = || recv(&socket, &mut [0_u8][..], flags) != Err(Errno::AGAIN);
        self.until(there, monotonic_ns);
    }

    /// The same, where `there` looks once and `now_ns` reads the clock.
    #[inline]
    fn until(&mut self, mut there: impl FnMut() -> bool, now_ns: impl Fn() -> u64) {
        if self.left > 0 {
            self.left -= 1;
            return;
        }
        let end_ns = now_ns() + SPIN_NS;
        while !there() {
            if now_ns() >= end_ns {
                self.skipped = (self.skipped * 2).clamp(1, SKIPPED_MAX);
                self.left = self.skipped;
                return;
            }
            std::hint::spin_loop();
        }
        self.skipped = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// How often it looks for an answer that takes so long, where each look takes 1 µs.
    fn looks(spin: &mut Spin, answer_ns: u64) -> u64 {
        let now_ns = Cell::new(0);
        let there = || {
            now_ns.set(now_ns.get() + 1_000);
            now_ns.get() >= answer_ns
        };
        spin.until(there, || now_ns.get());
        now_ns.get() / 1_000
    }

    #[test]
    fn it_looks_until_the_answer_is_there_each_time() {
        let mut spin = Spin::default();
        let all: Vec<_> = (0..3).map(|_| looks(&mut spin, 30_000)).collect();
        assert_eq!(all, [30, 30, 30]);
    }

    #[test]
    fn whoever_looks_in_vain_looks_less_and_less_often() {
        let mut spin = Spin::default();
        let waits = 10_000;
        let vain = (0..waits)
            .filter(|_| looks(&mut spin, 1_000_000) > 0)
            .count();
        assert!((150..170).contains(&vain), "{vain} of {waits}");
        for _ in 0..SKIPPED_MAX {
            looks(&mut spin, 30_000);
        }
        let found = [looks(&mut spin, 30_000), looks(&mut spin, 30_000)];
        assert_eq!(found, [30, 30], "one that is found begins anew");
    }
}
