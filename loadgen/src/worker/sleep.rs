//! Lets programs sleep: a connection is idle in its transaction, which blocks neither its thread nor other connections.
//!
//! A sleep ends early when its role stops or a pause begins; the rest of the program is done at once then, so that no
//! transaction is left open.

use super::state::{Course, State};
use super::{Mode, Worker};
use crate::session::Sessions;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// When connections wake up, the first in front. What no longer holds stays until its time comes, and is passed over then.
#[derive(Debug)]
pub(super) struct Sleepers(BinaryHeap<Reverse<(u64, usize)>>);

impl Sleepers {
    /// Makes room for as many as can sleep at a time, so that falling asleep asks for no memory.
    pub(super) fn with_capacity(connections: usize) -> Self {
        Self(BinaryHeap::with_capacity(connections))
    }

    /// Returns when the first wakes up; `u64::MAX` where none sleeps.
    #[inline]
    pub(super) fn wake_ns(&self) -> u64 {
        self.0
            .peek()
            .map_or(u64::MAX, |Reverse((wake_ns, _))| *wake_ns)
    }

    /// Takes a connection that wakes up then.
    pub(super) fn push(&mut self, wake_ns: u64, connection: usize) {
        self.0.push(Reverse((wake_ns, connection)));
    }

    /// Forgets all, as none sleeps.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl<S: Sessions> Worker<S> {
    /// Lets an operation sleep; returns false where its role has stopped or a pause has begun, and it goes on at once.
    pub(super) fn falls_asleep(&mut self, index: usize, duration_ns: u64) -> bool {
        let connection = &mut self.connections[index];
        let going = self.groups[connection.group].course == Course::Going;
        if self.mode != Mode::Running || !going || duration_ns == 0 {
            connection.unslept_ns = connection.unslept_ns.saturating_add(duration_ns);
            return false;
        }
        connection.state = State::Asleep;
        connection.operation.wake_ns = self.now_ns.saturating_add(duration_ns);
        let unsent = connection.operation.sent_ns == 0;
        self.sleepers.push(connection.operation.wake_ns, index);
        if unsent {
            // A script may sleep before it sends: it has begun by that.
            self.connections[index].operation.sent_ns = self.now_ns;
            self.sent_first(index);
        }
        true
    }

    /// Goes on with the operations whose time has come.
    #[inline]
    pub(super) fn wake_sleepers(&mut self) {
        while let Some(Reverse((wake_ns, index))) = self.sleepers.0.peek().copied() {
            if wake_ns > self.now_ns {
                return;
            }
            self.sleepers.0.pop();
            let connection = &self.connections[index];
            if connection.operation.wake_ns == wake_ns {
                match connection.state {
                    State::Asleep => self.wake(index, wake_ns),
                    State::Thinking => self.thought(index),
                    _ => {}
                }
            }
        }
    }

    /// Ends the sleep of a group's operations before its time.
    #[cold]
    pub(super) fn wake_group(&mut self, group: usize) {
        for member in 0..self.groups[group].connections.len() {
            let index = self.groups[group].connections[member];
            let connection = &mut self.connections[index];
            if connection.state == State::Asleep {
                let left_ns = connection.operation.wake_ns.saturating_sub(self.now_ns);
                connection.unslept_ns = connection.unslept_ns.saturating_add(left_ns);
                self.wake(index, self.now_ns);
            }
        }
    }

    /// Wakes an operation: the statement that follows is due when the sleep was to end.
    fn wake(&mut self, index: usize, due_ns: u64) {
        self.connections[index].operation.statement_due_ns = due_ns;
        self.go_on(index);
    }
}
