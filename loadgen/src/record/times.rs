//! The times of what was done.

/// A reply's times.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Completion − due.
    pub response_us: u64,
    /// Completion − sent.
    pub service_us: u64,
    /// The same in nanoseconds.
    pub service_ns: u64,
    /// Sent − due.
    pub late_us: u64,
}

impl Times {
    /// Returns the times of what was due, sent and completed at these nanoseconds.
    #[inline]
    #[must_use]
    pub fn new(due_ns: u64, sent_ns: u64, end_ns: u64) -> Self {
        let service_ns = end_ns.saturating_sub(sent_ns);
        Self {
            response_us: microseconds(end_ns.saturating_sub(due_ns)),
            service_us: microseconds(service_ns),
            service_ns,
            late_us: microseconds(sent_ns.saturating_sub(due_ns)),
        }
    }
}

/// Returns nanoseconds in microseconds, to the nearest.
#[inline]
#[must_use]
pub fn microseconds(time_ns: u64) -> u64 {
    (time_ns + 500) / 1000
}
