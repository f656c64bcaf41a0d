//! Giving up what is in flight when a step ends badly: the server is told to end it, then connections are closed.

use super::workers::Workers;
use super::{Ending, Step, Turn};
use crate::clock::monotonic_ns;
use crate::message::Note;
use crate::session::cancel::CANCEL_MAX;
use crate::shared::{End, Phase};
use std::time::{Duration, Instant};

/// How long workers may take to give up what is in flight.
const ABORT_MAX: Duration = CANCEL_MAX.saturating_add(Duration::from_secs(1));

impl Step<'_> {
    /// Gives up what is in flight; a step that had failed before keeps that reason.
    pub(super) fn aborted(&mut self, workers: &Workers, end: End) -> Ending {
        workers.shared.command(Phase::Aborting, monotonic_ns());
        let going_on = match self.wait_for_ends(workers.count - workers.ended) {
            Some(problem) => format!("; it may go on in the server: {problem}"),
            None => String::new(),
        };
        Ending::before_start(match (workers.shared.ended(), end) {
            (Some(End::Failed(reason)), _) | (_, End::Failed(reason)) => {
                End::Failed(reason + &going_on)
            }
            (Some(End::Unread), _) | (_, End::Unread) => End::Unread,
            (_, End::Stopped(reason)) => End::Stopped(reason + &going_on),
            (_, End::Done) => End::Done,
        })
    }

    /// Waits until workers have ended what was in flight and closed; why some of it may go on in the server.
    fn wait_for_ends(&mut self, workers: usize) -> Option<String> {
        let until = Instant::now() + ABORT_MAX;
        self.caller.deadline = None;
        let (mut ended, mut problem) = (0, None);
        while ended < workers {
            match self.turn(Some(until)) {
                Turn::Note(_, Note::Ended(told)) => {
                    ended += 1;
                    problem = problem.or(told);
                }
                _ if until <= Instant::now() => {
                    return Some("it could not be told in time to end it".to_owned());
                }
                _ => {}
            }
        }
        problem
    }

    /// The end of a step whose last operations, or whose fill, did not end after it.
    pub(crate) fn never_drained(&self) -> End {
        let seconds = self.job.stop.drain_max().as_secs_f64();
        End::Failed(format!(
            "the server had not answered {seconds} s after the step's end, see its log; what was in flight was given up \
             (`stop.drain_s_max`)"
        ))
    }
}

/// The end of a step that nobody waits for any more.
pub(super) fn given_up() -> End {
    let reason = "stopped by a signal or by the caller's end; operations in flight were given up";
    End::Stopped(reason.to_owned())
}
