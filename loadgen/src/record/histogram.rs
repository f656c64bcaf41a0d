//! Histograms of times that take their memory when they first count.

use hdrhistogram::Histogram as Counts;

/// The longest time that a histogram tells apart: 31 days in microseconds, as no window is longer than 30. Longer ones
/// count as this, which shows beside the exact maximum of each tick.
pub const HISTOGRAM_US_MAX: u64 = 31 * 86_400_000_000;

/// Significant decimal digits of a histogram.
const HISTOGRAM_DIGITS: u8 = 3;

/// What a histogram takes that has counted: four bytes for each time that it tells apart.
pub const HISTOGRAM_BYTES: u64 = 33 * 1024 * 4;

/// A histogram of times in microseconds, from 1 µs to [`HISTOGRAM_US_MAX`]. It takes its memory when it first counts, and
/// keeps it: most of a job's histograms are of what another worker does.
#[derive(Debug, Clone, Default)]
pub struct Histogram(pub(super) Option<Counts<u32>>);

impl Histogram {
    /// Counts a time.
    #[inline]
    pub fn record(&mut self, time_us: u64) {
        self.room().saturating_record(time_us);
    }

    /// Returns what it has counted; none where that is nothing.
    #[must_use]
    pub fn counts(&self) -> Option<&Counts<u32>> {
        self.0.as_ref().filter(|counts| !counts.is_empty())
    }

    #[inline]
    fn room(&mut self) -> &mut Counts<u32> {
        self.0.get_or_insert_with(no_counts)
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
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.counts() == other.counts()
    }
}

/// Returns counts of nothing.
///
/// # Panics
/// Never with these bounds.
#[cold]
#[must_use]
pub fn no_counts() -> Counts<u32> {
    Counts::new_with_bounds(1, HISTOGRAM_US_MAX, HISTOGRAM_DIGITS).expect("bounds that are valid")
}
