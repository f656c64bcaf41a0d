//! When a step starts: as soon as the caller says so, or at the time that it names.

use super::{Step, Turn};
use crate::clock::monotonic_ns;
use crate::message::Command;
use std::time::{Duration, Instant};

/// How long before its time a start is handed to the workers, which wake by themselves: longer than a thread waits for a
/// processor where others are busy.
const START_AHEAD_NS: u64 = 100_000_000;

impl Step<'_> {
    /// Waits until the step may start, or shortly before; when it starts, none where it is to end instead.
    pub(crate) fn wait_for_go(&mut self) -> Option<u64> {
        if self.job.autostart {
            self.caller.go_ns = Some(0);
        }
        while !self.caller.stop {
            let now_ns = monotonic_ns();
            let until = match self.caller.go_ns {
                Some(go_ns) if go_ns <= now_ns.saturating_add(START_AHEAD_NS) => {
                    return Some(go_ns.max(now_ns));
                }
                Some(go_ns) => {
                    let left = Duration::from_nanos(go_ns - now_ns - START_AHEAD_NS);
                    Instant::now().checked_add(left)
                }
                None => None,
            };
            match self.turn(until) {
                Turn::Abort => return None,
                Turn::Caller(Some(command @ (Command::Pause | Command::Resume)))
                    if self.caller.go_ns.is_some() =>
                {
                    self.caller.early.push(command);
                }
                _ => {}
            }
        }
        None
    }
}
