//! Records that are empty: they come back from the writer, which is behind where nobody reads the events.

use super::Worker;
use crate::record::{RECORDS_UNREAD_MAX, TickRecord};
use crate::session::Sessions;
use crate::shared::End;

impl<S: Sessions> Worker<S> {
    /// Takes a record that has come back, or a new one: at the beginning, and where the writer is behind. Where it is far
    /// behind, the step ends; on the fake, whose clock is ahead of the reader's, the worker waits.
    #[expect(
        clippy::unnecessary_box_returns,
        reason = "records go from thread to thread in their boxes"
    )]
    pub(super) fn empty_record(&mut self, at_ns: u64) -> Box<TickRecord> {
        let is_far_behind = self.records > RECORDS_UNREAD_MAX;
        let back = if S::COMMANDS_AT_TICKS && is_far_behind {
            self.channels.spare.recv().ok()
        } else {
            self.channels.spare.try_recv().ok()
        };
        back.unwrap_or_else(|| {
            if is_far_behind && !S::COMMANDS_AT_TICKS {
                self.shared.end(at_ns, End::Unread);
            }
            self.records += 1;
            Box::new(TickRecord::new(&self.shape))
        })
    }
}
