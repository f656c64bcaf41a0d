//! A number that all connections of a step count up together, and how far they are done with it.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

/// A counter of a step, for all threads.
#[derive(Debug)]
pub struct Counter {
    next: AtomicI64,
    /// All numbers up to this one are done with.
    newest: AtomicI64,
    /// Those above it that are, too.
    ahead: Mutex<BTreeSet<i64>>,
}

impl Counter {
    /// Makes one that gives this number first.
    #[must_use]
    pub fn new(first: i64) -> Self {
        Self {
            next: AtomicI64::new(first),
            newest: AtomicI64::new(first.saturating_sub(1)),
            ahead: Mutex::default(),
        }
    }

    /// Takes the next number.
    pub fn take(&self) -> i64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Says that the operation that took a number has ended.
    pub fn end(&self, number: i64) {
        let mut ahead = self
            .ahead
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        ahead.insert(number);
        let mut newest = self.newest.load(Ordering::Relaxed);
        while ahead.remove(&(newest + 1)) {
            newest += 1;
        }
        self.newest.store(newest, Ordering::Release);
    }

    /// The newest number up to which all operations have ended; at first the one before the first.
    #[inline]
    #[must_use]
    pub fn newest(&self) -> i64 {
        self.newest.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_has_none_below_it_that_is_still_going_on() {
        let counter = Counter::new(5);
        assert_eq!(counter.newest(), 4);
        let [first, second, third] = [(); 3].map(|()| counter.take());
        assert_eq!([first, second, third], [5, 6, 7]);
        for (ended, newest) in [(second, 4), (first, 6), (third, 7)] {
            counter.end(ended);
            assert_eq!(counter.newest(), newest);
        }
    }

    #[test]
    fn threads_leave_no_number_out() {
        let counter = Counter::new(1);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        let number = counter.take();
                        assert!(counter.newest() < number);
                        counter.end(number);
                    }
                });
            }
        });
        assert_eq!(counter.newest(), 4000);
        assert_eq!(counter.take(), 4001);
    }
}
