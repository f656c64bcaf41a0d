//! Leaves connections idle between operations where their role has think times: what users take to read an answer and to
//! type the next question.
//!
//! The time after an operation and the time before the next are one: the next program is chosen when the operation ends,
//! as it will be when it begins. The operation is due when that time has come, so that nothing of it is response time. In
//! a pause such times stand still; when a role stops, they end.

use super::Worker;
use super::state::State;
use crate::session::Sessions;

impl<S: Sessions> Worker<S> {
    /// Leaves a connection idle before its next operation, from when its last ended; returns false where its role has no
    /// time for that. `ended`: it has had an operation, so that there is a time after it.
    #[inline(never)]
    pub(super) fn thinks(&mut self, index: usize, ended: bool) -> bool {
        let connection = &mut self.connections[index];
        let role = &self.code.roles[connection.role];
        let Some(thinks) = &role.thinks else {
            return false;
        };
        let after_ns = if ended {
            thinks.after_ns(connection.operation.program, &connection.draw)
        } else {
            0
        };
        connection.draw.begin(connection.begun);
        let next = role.choices.next(&connection.draw, &connection.choosing);
        let think_ns = after_ns.saturating_add(thinks.before_ns(next, &connection.draw));
        connection.operation.wake_ns = connection.completed_ns.saturating_add(think_ns);
        if think_ns == 0 {
            return false;
        }
        connection.state = State::Thinking;
        self.sleepers.push(connection.operation.wake_ns, index);
        true
    }

    /// Lets a connection begin its next operation, whose time has come.
    pub(super) fn thought(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let wake_ns = connection.operation.wake_ns;
        (connection.completed_ns, connection.free_ns) = (wake_ns, wake_ns);
        self.is_free(index);
    }

    /// Lets those of a group that begins have the time before their first operations.
    pub(super) fn think_first(&mut self, group: usize) {
        if self.code.roles[self.groups[group].role].thinks.is_none() {
            return;
        }
        for _ in 0..self.groups[group].idle.len() {
            if let Some(index) = self.groups[group].idle.pop_front()
                && !self.thinks(index, false)
            {
                self.groups[group].idle.push_back(index);
            }
        }
    }

    /// Ends the times of a group that begins nothing more; its connections are done.
    pub(super) fn stop_thinking(&mut self, group: usize) {
        if self.code.roles[self.groups[group].role].thinks.is_none() {
            return;
        }
        for member in 0..self.groups[group].connections.len() {
            let connection = self.groups[group].connections[member];
            if self.connections[connection].state == State::Thinking {
                self.connections[connection].state = State::Done;
                self.one_done(group);
            }
        }
    }

    /// Goes on with times that stood still in a pause: what was left of them is still to come. Returns the new end of
    /// the connection's last operation by `moved`.
    pub(super) fn think_on(&mut self, moved: impl Fn(u64) -> u64) {
        self.sleepers.clear();
        for (index, connection) in self.connections.iter_mut().enumerate() {
            let thinks = self.code.roles[connection.role].thinks.is_some();
            if thinks && matches!(connection.state, State::Thinking | State::Lost) {
                let wake_ns = &mut connection.operation.wake_ns;
                let left_ns = wake_ns.saturating_sub(connection.completed_ns);
                *wake_ns = moved(connection.completed_ns).saturating_add(left_ns);
                if connection.state == State::Thinking {
                    self.sleepers.push(*wake_ns, index);
                }
            }
        }
    }

    /// Lets a connection that was made anew go on with its time, if there is some left; returns false where none is.
    pub(super) fn thinks_again(&mut self, index: usize) -> bool {
        let connection = &mut self.connections[index];
        let wake_ns = connection.operation.wake_ns;
        if self.code.roles[connection.role].thinks.is_none() || wake_ns <= self.now_ns {
            return false;
        }
        connection.state = State::Thinking;
        self.sleepers.push(wake_ns, index);
        true
    }
}
