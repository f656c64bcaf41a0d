//! Counts the rows of a statement that says while it runs how many it has done, in the ticks in which it says so.
//!
//! What has been counted stays: a procedure commits on its way, and no tick can be taken back. So a try that fails later
//! has its rows, and the next one counts from 0.

use super::Worker;
use crate::program::Step;
use crate::session::Sessions;

impl<S: Sessions> Worker<S> {
    /// Counts what the statement in flight has done since it said so last.
    pub(super) fn progressed(&mut self, index: usize) {
        let counts = self.counts();
        let connection = &mut self.connections[index];
        let said = connection.reply.progress.rows();
        let operation = &mut connection.operation;
        let rows = said.saturating_sub(operation.statement_rows_said);
        if rows == 0 {
            return;
        }
        operation.statement_rows_said = said;
        operation.rows_said += rows;
        operation.rows_counted += rows;
        self.totals[connection.role].rows += rows;
        if !counts {
            return;
        }
        let role = &mut self.record.roles[connection.role];
        role.per_client[connection.client as usize].rows += rows;
        let whole = operation.program.operation;
        role.operations[whole].rows += rows;
        if let Step::Send { operation: own, .. } = self.code.steps[operation.step]
            && own != whole
        {
            role.operations[own].rows += rows;
        }
    }
}
