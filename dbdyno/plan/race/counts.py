"""The counts of a race: alone, or before its blocks where they take little of its minutes."""

import json
import re
from collections.abc import Iterator, Sequence

from dbdyno import engine
from dbdyno.model import Step
from dbdyno.model.own_query import Application, OwnQuery
from dbdyno.plan.count import pass_s
from dbdyno.plan.counted_step import uncountable
from dbdyno.plan.race.arm import RaceArm
from dbdyno.workload.own_text import masked
from dbdyno.workload.queries import mean_s

REPEATS = 2
"""By two, and where arms have fills of their own by two of these, chance shows."""
SHARE_MAX = 0.25
"""Of a race's minutes, for counts beside time."""


def only(repeats: int | None = None, operations: int | None = None) -> Iterator[str]:
    """The lines of a plan that counts and measures no time."""
    yield ""
    yield "[count]"
    yield "only = true  # time is not measured; remove the line to measure it, too"
    if repeats is not None:
        yield f"repeats = {repeats}"
    if operations is not None:
        yield f"operations = {operations}"


def beside_time(arms: Sequence[RaceArm], steps: Sequence[Step], minutes: float) -> Iterator[str]:
    """The lines of a plan that also counts; none where that cannot be, or takes too long.

    `steps`: those after the tables are in place.
    """
    measured = [step for step in steps if step.measured]
    names = [step.name for step in measured if uncountable(step) is None]
    if not names or not countable(arms):
        return
    start_s = engine.of(arms[0].engine).counting.start_s
    if pass_s(len(names), len(arms), REPEATS, start_s) <= SHARE_MAX * 60 * minutes:
        yield ""
        yield "[count]  # of instructions, a reason beside verdicts of time (docs/counts.md)"
        yield f"repeats = {REPEATS}"
        if len(names) < len(measured):
            yield f"steps = {json.dumps(names, ensure_ascii=False)}"


SLOWDOWN = 50.0
"""Of a query under the counter, about."""
CALLS_LEAST = 20
"""A query that takes milliseconds is called so often: half before the window, half in it."""
INSERTS = re.compile(r"\b(?:INSERT|REPLACE|MERGE)\b[\w\s]*\bINTO\b", re.IGNORECASE)
SHARE_LEAST = 0.001
"""Of the source's time; a query with less changes nothing of the application."""


def of_queries(
    arms: Sequence[RaceArm], steps: Sequence[Step], application: Application, minutes: float
) -> Iterator[str]:
    """The same for an application: of its queries those that cost most and fit.

    `steps`: those that run.
    """
    if not countable(arms):
        return
    start_s = engine.of(arms[0].engine).counting.start_s
    start_all_s = pass_s(0, len(arms), REPEATS, start_s)
    left_s = SHARE_MAX * 60 * minutes - start_all_s
    able = {step.name for step in steps if step.measured and uncountable(step) is None}
    whole_s = application.source.time_s or sum(query.time_s for query in application.queries)
    names = []
    for query in application.queries:
        small = whole_s > 0 and query.time_s < SHARE_LEAST * whole_s
        each_s = pass_s(1, len(arms), REPEATS, start_s) - start_all_s
        cost_s = each_s + REPEATS * len(arms) * CALLS_LEAST * SLOWDOWN * mean_s(query)
        if query.name in able and not small and cost_s <= left_s and not inserts(query):
            left_s -= cost_s
            names.append(query.name)
    if names:
        yield ""
        yield "[count]  # of instructions of the queries that cost most (docs/counts.md)"
        yield f"repeats = {REPEATS}"
        yield f"steps = {json.dumps(names, ensure_ascii=False)}"


def inserts(query: OwnQuery) -> bool:
    """Whether a query adds rows: alone it may lack their parents, or meet itself in the copy."""
    return query.writes and INSERTS.search(masked(query.text)) is not None


def countable(arms: Sequence[RaceArm]) -> bool:
    """Whether the arms' servers are made here, can be counted, and are of one family."""
    families = {engine.of(arm.engine).traits.family for arm in arms}
    can = all("counted" in engine.of(arm.engine).traits.can and not arm.elsewhere for arm in arms)
    if not can or len(families) > 1:
        return False
    return not any(engine.of(arm.engine).counting.refused_of(arm.settings) for arm in arms)
