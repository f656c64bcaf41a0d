"""Calls so slow that none counts: what their rate is at most.

In a turn the generator counts what it begins after settling. A call that goes on for the whole turn
counts nothing, however often that happens, and neither does the call at which the server ended the
step by its limit. Such a step is no step without a rate: in its window nothing but those calls went
on. Each of its connections has, beside what counted, at most one call a turn that lay across the
turn's beginning, so that so many calls took at least the time of the window:

    rate <= (counted + connections * turns) / time

where one connection's time goes on to the end of the call that was in flight at the window's close.
"""

from dataclasses import dataclass

from dbdyno.evidence import raw_files
from dbdyno.model.headlines import kind_of
from dbdyno.model.job import Job
from dbdyno.model.job.role import ClosedPace, Role
from dbdyno.model.step_files import StepDone, StepFailure, StepRecord
from dbdyno.model.step_run import Ending, Slow


@dataclass(frozen=True, kw_only=True)
class SlowCalls:
    """What is sure of calls of which none, or not all, could be counted."""

    how: Slow
    per_s: float  # the rate of the headline at most


def ending(done: StepDone | None, failure: StepFailure | None) -> Ending:
    """How a step ended, by the files that say so."""
    if failure is not None:
        return Ending(status=failure.status, reason=failure.reason)
    if done is None:
        reason = "interrupted: there is neither done.json nor failed.json"
        return Ending(status="failed", reason=reason)
    return Ending(status="ok")


def slow_calls(
    step: StepRecord, job: Job, load: raw_files.LoadReport, how: Ending, *, turns: bool
) -> SlowCalls | None:
    """The bound of a step's rate; None where its calls count, or where they are no closed loop.

    `turns`: whether the step ended well and took turns with other arms'.
    """
    role = _looping(step, job)
    if role is None or not load.seconds:
        return None
    counted = sum(tick.count for tick in load.of([role.name]))
    limited = how.timed_out_s is not None
    if not limited and (counted or not turns or how.status != "ok"):
        return None
    connections = job.connections_of(role)
    totals = load.totals.get(role.name)
    ended = limited or bool(totals is not None and totals.failed)
    alone = connections == 1
    seconds = load.seconds + (load.drained_s if alone and not limited else 0.0)
    if alone and ended:
        seconds = max(seconds, role.statement_limit_s or 0.0)
    calls = counted + connections * (len(load.pauses) + 1)
    return SlowCalls(how="ended" if ended else "filled", per_s=calls / seconds)


def _looping(step: StepRecord, job: Job) -> Role | None:
    """The role whose operations are the headline, each begun when the one before has ended."""
    headline = step.headline
    if headline is None or headline.has_work or headline.each is not None:
        return None
    rate = kind_of(headline.metric)
    if headline.count != "operations" or headline.operations or not job.stop.seconds:
        return None
    if rate.whole or rate.span_s != 1.0:
        return None
    role = job.role(headline.role)
    return role if role is not None and isinstance(role.pace, ClosedPace) else None
