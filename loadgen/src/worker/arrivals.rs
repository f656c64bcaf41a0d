//! Says when time alone lets something start, by a heap, so that thousands of paced clients cost what a few do.

use super::Worker;
use crate::pace::Begun;
use crate::session::Sessions;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Groups with an idle connection, by when their schedule lets the next operation start: the first in front. A tied pair
/// stands here by the group that has the schedule, idle or not, because time may let its partner start.
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
        self.awaited.wake_ns()
    }

    /// Has a group, or the pair that it stands for, looked at when the schedule lets it go on, if it could.
    #[inline]
    pub(super) fn await_arrival(&mut self, index: usize) {
        let group = &self.groups[index];
        if group.closed {
            return;
        }
        let able = match group.partner {
            None => !group.idle.is_empty(),
            // Whatever moves the schedule of a pair has its first member looked at.
            Some(partner) => {
                let ended = group.course.ended() && self.groups[partner].course.ended();
                group.member == 0 && !ended
            }
        };
        let group = &mut self.groups[index];
        if group.awaited || !able {
            return;
        }
        let pacing = self.pacings[group.pacing].begun();
        let wake_ns = pacing.and_then(Begun::wake_ns);
        // What is due and has not started waits for something else than time, which looks here again.
        if let Some(wake_ns) = wake_ns.filter(|wake_ns| *wake_ns > self.now_ns) {
            group.awaited = true;
            self.awaited.0.push(Reverse((wake_ns, Reverse(index))));
        }
    }

    /// Finds groups whose schedule has something due, the longest due to start first, and opens rounds of tied pairs.
    #[inline]
    pub(super) fn admit(&mut self) {
        let first = self.due_groups.len();
        while let Some(index) = self.awaited.pop(self.now_ns) {
            let group = &mut self.groups[index];
            group.awaited = false;
            let (pacing, partner) = (group.pacing, group.partner);
            if let (Some(partner), Some(begun)) = (partner, self.pacings[pacing].begun_mut()) {
                begun.admit(self.now_ns);
                self.due_groups.push(partner);
                self.read_queued(pacing);
            }
            self.due_groups.push(index); // where it is not ready, its start puts it back
        }
        self.due_groups[first..].reverse();
    }
}
