//! The caller's pauses: each command takes effect when all workers have done what the one before it said.

use crate::shared::Phase;

/// What the caller has said of pauses, and how far the workers are.
#[derive(Debug)]
pub(super) struct Pauses {
    workers: usize,
    /// Workers that go on since the last pause.
    pub(super) going: usize,
    /// Whether all are quiet in a pause.
    pub(super) quiet: bool,
    /// Whether the last command that the workers got was to pause.
    pausing: bool,
    /// Commands that they are still to get: to pause and to resume in turn.
    waiting: usize,
}

impl Pauses {
    /// So many workers, all of which go on.
    pub(super) fn new(workers: usize) -> Self {
        Self {
            workers,
            going: workers,
            quiet: false,
            pausing: false,
            waiting: 0,
        }
    }

    /// The caller wants a pause, or its end; what is so already, or will be, is nothing new.
    pub(super) fn want(&mut self, pause: bool) {
        let wanted = self.pausing ^ (self.waiting % 2 == 1);
        self.waiting += usize::from(pause != wanted);
    }

    /// The command that the workers get now, if one waits and all have done the one before.
    pub(super) fn command(&mut self) -> Option<Phase> {
        let ready = if self.pausing {
            self.quiet
        } else {
            self.going == self.workers
        };
        if self.waiting == 0 || !ready {
            return None;
        }
        self.waiting -= 1;
        self.pausing = !self.pausing;
        (self.going, self.quiet) = (0, false);
        Some(if self.pausing {
            Phase::Pausing
        } else {
            Phase::Running
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_waits_until_all_have_done_the_one_before() {
        let mut pauses = Pauses::new(2);
        for pause in [true, true, false, true, false] {
            pauses.want(pause);
        }
        assert_eq!(pauses.command(), Some(Phase::Pausing));
        assert_eq!(pauses.command(), None, "not all are quiet");
        pauses.quiet = true;
        assert_eq!(pauses.command(), Some(Phase::Running));
        pauses.going += 1;
        assert_eq!(pauses.command(), None, "one has not gone on");
        pauses.going += 1;
        assert_eq!(pauses.command(), Some(Phase::Pausing));
        pauses.quiet = true;
        assert_eq!(pauses.command(), Some(Phase::Running));
        pauses.going += 2;
        pauses.want(false);
        assert_eq!(pauses.command(), None, "they go on already");
    }
}
