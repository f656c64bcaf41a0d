//! Keeps operations for the log, of which another thread writes the lines.

use super::{Mode, Worker};
use crate::record::{LogRecord, Outcome};
use crate::session::Sessions;

impl<S: Sessions> Worker<S> {
    /// Keeps what became of a connection's operation, or of one that it has left out, where the log has that; not what
    /// ended after the window's close.
    #[cold]
    pub(super) fn log(&mut self, index: usize, operation: usize, outcome: Outcome) {
        let Some(sample) = self.code.log else { return };
        let connection = &self.connections[index];
        let number = connection.begun + connection.skipped;
        if matches!(self.mode, Mode::Draining | Mode::Holding)
            || !sample.has(connection.role, connection.number, number)
        {
            return;
        }
        let retries = match outcome {
            Outcome::Skipped => 0,
            Outcome::Done { .. } | Outcome::Failed(_) => connection.operation.tries - 1,
        };
        self.record.log.push(LogRecord {
            role: connection.role,
            connection: connection.number,
            number,
            operation,
            end_ns: self.now_ns,
            outcome,
            retries,
        });
    }
}
