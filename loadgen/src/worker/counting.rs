//! Says which operations count, and for how long their connections had such.
//!
//! An operation counts if its connection began it in the window and after a pause had settled, whenever it ends: what is
//! in flight as a pause begins or the window closes is waited for. A connection's time goes from the end of what it had
//! begun before, to the end of what it began last. Operations divided by that time are the rate without bias, however
//! long an operation is: the number begun up to a moment is a stopping time, and by Wald's equation the expected sum of
//! so many service times is their expected number times the mean. Operations that ended in the window, divided by its
//! length, would be a sawtooth of the service time where all begin together.

use super::Worker;
use crate::session::Sessions;

impl<S: Sessions> Worker<S> {
    /// Counts operations that begin from `from_ns` on, and not those that began before.
    pub(super) fn count_from(&mut self, from_ns: u64) {
        self.counted_from_ns = self.counted_from_ns.map(|known_ns| known_ns.max(from_ns));
    }

    /// Tells whether a connection's operation counts: by when it began.
    #[inline]
    pub(super) fn operation_counts(&self, index: usize) -> bool {
        let begun_ns = self.connections[index].operation.begun_ns;
        let from_ns = self.counted_from_ns.unwrap_or(u64::MAX);
        (from_ns..self.counted_until_ns).contains(&begun_ns)
    }

    /// Tells whether what happens now, and is part of no operation, counts in ticks.
    #[inline]
    pub(super) fn counts(&self) -> bool {
        matches!(self.mode, super::Mode::Running | super::Mode::Pausing)
            && self.timeline.counts(self.now_ns)
    }

    /// Counts the time of connections, now that nothing is in flight and none begins an operation.
    ///
    /// A connection that was idle as counting ended, also by its schedule, its quota or its loss, has its time up to then.
    /// Sleeps that were cut short have their whole time.
    pub(super) fn count_connections(&mut self) {
        let Some(from_ns) = self.counted_from_ns.take() else {
            return;
        };
        let until_ns = self.counted_until_ns;
        for connection in &mut self.connections {
            let began_ns = from_ns.max(connection.uncounted_ns);
            let slept_ns = std::mem::take(&mut connection.unslept_ns);
            let counts = connection.operation.begun_ns < until_ns;
            let last_ns = connection.completed_ns.saturating_add(slept_ns);
            let ended_ns = if counts {
                until_ns.max(last_ns)
            } else {
                until_ns
            };
            let whole_ns = &mut self.record.roles[connection.role].connection_ns;
            *whole_ns = Some(whole_ns.unwrap_or(0) + ended_ns.saturating_sub(began_ns));
        }
    }
}
