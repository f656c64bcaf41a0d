//! Gives operations a connection of their own, where their role has one for each.
//!
//! Opening begins when the operation may start, on another thread, and is timed apart. As in pgbench, a role at a rate has
//! it within the response time, which counts from the schedule; in a closed pace an operation is due when its connection
//! is there.

use super::Worker;
use super::state::State;
use crate::record::microseconds;
use crate::session::{Opened, SessionError, Sessions};

impl<S: Sessions> Worker<S> {
    /// Has a connection opened for an operation that has begun.
    #[cold]
    pub(super) fn connect(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        connection.state = State::Connecting;
        connection.operation.asked_ns = self.now_ns;
        self.sessions.open(index);
    }

    /// Goes on with an operation that has its connection, or ends it where it cannot have one.
    #[cold]
    pub(super) fn connected(&mut self, index: usize, outcome: Result<Opened, SessionError>) {
        self.now_ns = self.sessions.now_ns();
        let opened = match outcome {
            Ok(opened) => opened,
            Err(error) => {
                self.lose_operation(index, &error);
                return;
            }
        };
        let counts = self.operation_counts(index);
        let connection = &mut self.connections[index];
        connection.take_parameters(opened.parameters);
        connection.free_ns = self.now_ns;
        let operation = &mut connection.operation;
        if self.groups[connection.group].closed {
            (operation.due_ns, operation.statement_due_ns) = (self.now_ns, self.now_ns);
        }
        if counts {
            let time_us = microseconds(self.now_ns.saturating_sub(operation.asked_ns));
            self.record.roles[connection.role].connects.add(time_us);
        }
        self.go_on(index);
    }
}
