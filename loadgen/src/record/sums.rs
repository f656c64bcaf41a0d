//! Exact sums of times and of their squares, from which means and standard deviations follow.

use super::Times;

/// A sum of times and the sum of their squares, in microseconds: whole numbers, exact up to 2^53.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sum {
    /// Of the times.
    pub whole: f64,
    /// Of their squares.
    pub squares: f64,
}

impl Sum {
    #[inline]
    fn add(&mut self, time_us: u64) {
        let time_us = time_us as f64;
        self.whole += time_us;
        self.squares += time_us * time_us;
    }

    fn merge(&mut self, part: Self) {
        self.whole += part.whole;
        self.squares += part.squares;
    }
}

/// The sums of what completed without error.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sums {
    /// Completion − due.
    pub response: Sum,
    /// Completion − sent.
    pub service: Sum,
    /// First sending − due.
    pub late: Sum,
}

impl Sums {
    #[inline]
    pub(super) fn add(&mut self, times: Times) {
        self.response.add(times.response_us);
        self.service.add(times.service_us);
        self.late.add(times.late_us);
    }

    pub(super) fn merge(&mut self, part: Self) {
        self.response.merge(part.response);
        self.service.merge(part.service);
        self.late.merge(part.late);
    }
}
