//! Leaves out operations that are hopelessly late: where a role has a latency limit and a rate, what was later than the
//! limit already when a connection could have begun it.
//!
//! The rules are pgbench's for `--rate` with `--latency-limit`: what is left out counts towards the quota, belongs to the
//! program that the connection runs next, and draws nothing.

use super::Worker;
use super::state::State;
use crate::record::Outcome;
use crate::session::Sessions;

impl<S: Sessions> Worker<S> {
    /// Tells whether what was due at `due_ns` missed its role's limit before the connection was free to begin it.
    #[inline]
    pub(super) fn is_too_late(&self, index: usize, due_ns: u64) -> bool {
        let connection = &self.connections[index];
        let limit_ns = self.code.roles[connection.role].limit_ns;
        due_ns < connection.free_ns.saturating_sub(limit_ns)
    }

    /// Leaves out an operation that an idle connection would have begun; the connection remains the next.
    #[cold]
    pub(super) fn skip(&mut self, index: usize, due_ns: u64) {
        let counts = self.counts();
        let connection = &mut self.connections[index];
        connection.quota -= 1;
        connection.skipped += 1;
        // Which program it is, is chosen with the number of the operation that the connection begins next.
        connection.draw.begin(connection.begun);
        let program = self.code.roles[connection.role]
            .choices
            .next(&connection.draw, &connection.choosing);
        self.totals[connection.role].skipped += 1;
        if counts {
            let role = &mut self.record.roles[connection.role];
            role.late(due_ns, self.now_ns);
            role.operations[program.operation].skipped += 1;
        }
        self.log(index, program.operation, Outcome::Skipped);
        let connection = &mut self.connections[index];
        let group = connection.group;
        if connection.quota > 0 {
            self.groups[group].idle.push_front(index);
            return;
        }
        connection.state = State::Done;
        self.groups[group].last_ns = Some(self.now_ns);
        self.one_done(group);
    }
}
