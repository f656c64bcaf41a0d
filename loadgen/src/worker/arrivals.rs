//! Says when time alone lets something start: by a heap for single roles, so that thousands of paced clients cost what a
//! few do, and by a look at each tied pair, whose turn depends on both.

use super::Worker;
use super::state::Group;
use crate::pace::Begun;
use crate::session::Sessions;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Groups of single roles with an idle connection, by when their schedule lets the next operation start: the first in
/// front.
///
/// Each group stands here once at most. A group's time only moves later, so an entry is right or too early; one that is
/// too early is put back at its time.
#[derive(Debug)]
pub(super) struct Awaited(BinaryHeap<Reverse<(u64, Reverse<usize>)>>);

impl Awaited {
    /// Makes room for all groups, so that waiting asks for no memory.
    pub(super) fn with_capacity(groups: usize) -> Self {
        Self(BinaryHeap::with_capacity(groups))
    }

    #[inline]
    fn wake_ns(&self) -> u64 {
        self.0
            .peek()
            .map_or(u64::MAX, |Reverse((wake_ns, _))| *wake_ns)
    }

    /// Takes out the first, if its time has come.
    #[inline]
    fn pop(&mut self, now_ns: u64) -> Option<usize> {
        let Reverse((wake_ns, Reverse(group))) = *self.0.peek()?;
        (wake_ns <= now_ns).then(|| {
            self.0.pop();
            group
        })
    }
}

impl<S: Sessions> Worker<S> {
    /// Returns when a schedule lets something start next, on a connection that is free now.
    #[inline]
    pub(super) fn due_ns(&self) -> u64 {
        let groups = self.paced_pairs.iter().map(|group| &self.groups[*group]);
        let of_pairs = groups.filter_map(|group| self.pair_wake_ns(group));
        of_pairs.fold(self.awaited.wake_ns(), u64::min)
    }

    fn pair_wake_ns(&self, group: &Group) -> Option<u64> {
        if group.course.ended() {
            return None;
        }
        self.pacings[group.pacing].begun()?.wake_ns()
    }

    /// Has a group looked at when its schedule lets it go on, if it has a connection that could.
    #[inline]
    pub(super) fn await_arrival(&mut self, index: usize) {
        let group = &mut self.groups[index];
        let apart = group.closed || group.partner.is_some() || group.awaited;
        if apart || group.idle.is_empty() {
            return;
        }
        let pacing = self.pacings[group.pacing].begun();
        if let Some(wake_ns) = pacing.and_then(Begun::wake_ns) {
            group.awaited = true;
            self.awaited.0.push(Reverse((wake_ns, Reverse(index))));
        }
    }

    /// Finds groups whose schedule has something due, the longest due to start first, and opens rounds of tied pairs.
    #[inline]
    pub(super) fn admit(&mut self) {
        let first = self.due_groups.len();
        while let Some(index) = self.awaited.pop(self.now_ns) {
            self.groups[index].awaited = false;
            self.due_groups.push(index); // where it is not ready, its start puts it back
        }
        self.due_groups[first..].reverse();
        for paced in 0..self.paced_pairs.len() {
            self.admit_pair(self.paced_pairs[paced]);
        }
    }

    fn admit_pair(&mut self, index: usize) {
        let group = &self.groups[index];
        if group.course.ended() {
            return;
        }
        let Some(pacing) = self.pacings[group.pacing].begun_mut() else {
            return;
        };
        pacing.admit(self.now_ns);
        if !group.idle.is_empty() && pacing.ready(group.member, self.now_ns) {
            self.due_groups.push(index);
        }
        let of_pair = group.pacing;
        self.read_queued(of_pair);
    }
}
