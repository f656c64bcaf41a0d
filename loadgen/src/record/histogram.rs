//! Histograms of times that take their memory when they first count.

use hdrhistogram::Histogram as Counts;

/// The longest time that a histogram tells apart: 31 days in microseconds, as no window is longer than 30. Longer ones
/// count as this, which shows beside the exact maximum of each tick.
pub const HISTOGRAM_US_MAX: u64 = 31 * 86_400_000_000;

/// The width of the smallest cells of a histogram of nanoseconds.
const FINE_NS: u64 = 4;

/// Significant decimal digits of a histogram.
const HISTOGRAM_DIGITS: u8 = 3;

/// What a histogram of microseconds takes that has counted: four bytes for each time that it tells apart.
pub const HISTOGRAM_BYTES: u64 = 33 * 1024 * 4;

/// The same of a histogram of nanoseconds.
pub const FINE_HISTOGRAM_BYTES: u64 = 41 * 1024 * 4;

/// A histogram of times up to [`HISTOGRAM_US_MAX`]. It takes its memory when it first counts, and keeps it: most of a job's
/// histograms are of what another worker does.
///
/// It counts microseconds, in cells of 1 µs up to 2 ms, then of a thousandth. A `FINE` one counts nanoseconds, in cells of
/// 4 ns up to 8 µs, then of a thousandth: who compares single operations needs cells that are finer than these scatter.
#[derive(Debug, Clone, Default)]
pub struct Histogram<const FINE: bool = false>(Option<Counts<u32>>);

impl<const FINE: bool> Histogram<FINE> {
    /// Counts a time in the histogram's unit.
    #[inline]
    pub fn record(&mut self, time: u64) {
        self.room().saturating_record(time);
    }

    /// Returns what it has counted; none where that is nothing.
    #[must_use]
    pub fn counts(&self) -> Option<&Counts<u32>> {
        self.0.as_ref().filter(|counts| !counts.is_empty())
    }

    #[inline]
    fn room(&mut self) -> &mut Counts<u32> {
        self.0.get_or_insert_with(|| no_counts(FINE))
    }

    /// Whether it has taken its memory.
    #[cfg(test)]
    pub(super) fn has_room(&self) -> bool {
        self.0.is_some()
    }

    /// Takes its memory if the other has.
    pub(super) fn make_room_as(&mut self, other: &Self) {
        if other.0.is_some() {
            self.room();
        }
    }

    pub(super) fn clear(&mut self) {
        if let Some(counts) = self.0.as_mut().filter(|counts| !counts.is_empty()) {
            counts.reset();
        }
    }

    pub(super) fn merge(&mut self, part: &Self) {
        if let Some(counts) = part.counts() {
            // Both have the same bounds, so that no value lies outside.
            let _ = self.room().add(counts);
        }
    }
}

/// The same where both have counted the same, whoever has memory already.
impl<const FINE: bool> PartialEq for Histogram<FINE> {
    fn eq(&self, other: &Self) -> bool {
        self.counts() == other.counts()
    }
}

/// Returns counts of nothing, of microseconds or of nanoseconds.
///
/// # Panics
/// Never with these bounds.
#[cold]
#[must_use]
pub fn no_counts(fine: bool) -> Counts<u32> {
    let (lowest, highest) = if fine {
        (FINE_NS, HISTOGRAM_US_MAX * 1000)
    } else {
        (1, HISTOGRAM_US_MAX)
    };
    Counts::new_with_bounds(lowest, highest, HISTOGRAM_DIGITS).expect("bounds that are valid")
}
