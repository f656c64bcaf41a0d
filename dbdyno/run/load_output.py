"""Reads the values that the workload wants told after a load: its work, metrics of its own.

The server is asked after the counters and the state after the load have been read, so that nothing
of it is in what is measured. A value that cannot be told is a warning: the step was measured all
the same.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path

from dbdyno import store
from dbdyno.engine import Server
from dbdyno.model import MetricSource, Step
from dbdyno.model.error import ServerError
from dbdyno.model.events import (
    AnyEvent,
    CapturedEvent,
    PausedEvent,
    ResumedEvent,
    StartedEvent,
    UnknownContent,
    WindowClose,
    read,
)
from dbdyno.model.step import Change
from dbdyno.model.step_files import StepDone, ToldMetric
from dbdyno.run.invariants import ANSWER_S_MAX

BETWEEN = " | "
"""The separator of the values of a row that is searched as a text."""

NS_PER_S = 1_000_000_000
Value = float | str


class MissingValueError(Exception):
    """A value is not there; why, in words."""


Before = Mapping[str, float | MissingValueError]
"""The answers before a load by the metric's name, or why there is none."""


def before(server: Server, step: Step) -> Before:
    """Asks, before the load, for what is told as its change."""
    queries = {metric.name: metric.query for metric in step.metrics if metric.change is not None}
    answers: dict[str, float | MissingValueError] = {}
    for name, query in queries.items():
        assert query is not None, "only a query can be asked twice"
        try:
            answers[name] = answered(server, query)
        except MissingValueError as reason:
            answers[name] = MissingValueError(f"before the load {reason}")
    return answers


def take(server: Server, step: Step, events: Path, done: StepDone, earlier: Before) -> None:
    """Adds work and metrics to `done`, as far as the step asks for them, and warnings of these.

    `events` is its events.jsonl, with what statements returned; `earlier` are the answers before
    the load. A server without a database tells nothing, and nothing is said of that.
    """

    def answer_to(what: str, read: Callable[[], Value]) -> Value | None:
        try:
            return read()
        except MissingValueError as reason:
            if server.address() is not None:
                done.warnings.append(f"step `{step.name}`: {what}: {reason}")
            return None

    query = step.headline.work_query if step.headline is not None else None
    if query is not None:
        work = answer_to(f"work by `{query}`", partial(answered, server, query))
        assert not isinstance(work, str)
        done.work = work
    if step.metrics:
        said = returned(events, step.metrics)
        done.metrics = {
            metric.name: ToldMetric(
                value=answer_to(_named(metric), partial(value, metric, server, said, earlier)),
                unit=metric.unit,
                title=metric.title,
                better=metric.better,
            )
            for metric in step.metrics
        }


def _named(source: MetricSource) -> str:
    """A metric and where its value comes from: metric `pages` by column `relpages` of `get`."""
    ways = {"column": source.column, "pattern": source.pattern, "query": source.query}
    (by,) = (f"{way} `{text}`" for way, text in ways.items() if text is not None)
    of = f" of statement `{source.of}`" if source.of is not None else ""
    return f"metric `{source.name}` by {by}{of}"


@dataclass(frozen=True)
class LoadOutput:
    """What a load said that metrics need: rows that statements returned, how long it lasted."""

    captured: Sequence[CapturedEvent]
    lasted_s: float


def returned(events: Path, sources: Sequence[MetricSource]) -> LoadOutput:
    """What the events say; read only if a metric needs them."""
    if all(source.query is not None and source.change is None for source in sources):
        return LoadOutput((), 0.0)
    lines = [event for line in store.decoded_lines(events, read) for event in line]
    return LoadOutput(
        [event for event in lines if isinstance(event, CapturedEvent)], lasted_s(lines)
    )


def lasted_s(said: Iterable[AnyEvent | UnknownContent]) -> float:
    """From the load's beginning to its window's end, warm-up included, without its pauses."""
    since_ns, whole_ns = 0, 0
    for event in said:
        if isinstance(event, StartedEvent | ResumedEvent):
            since_ns = event.mono_ns
        elif since_ns and isinstance(event, PausedEvent | WindowClose):
            whole_ns += event.mono_ns - since_ns
            since_ns = 0
    return whole_ns / NS_PER_S


def value(source: MetricSource, server: Server, said: LoadOutput, earlier: Before) -> Value:
    """The value of a metric. Raises MissingValueError."""
    if source.query is not None:
        first = answer(server, source.query)
        if source.change is not None:
            return changed(source, number(first), said, earlier)
        return str(first) if source.text else number(first)
    own = [execution for execution in said.captured if source.of in (None, execution.statement)]
    texts = list(_in_columns(source.column, own) if source.column else _matches(source, own))
    if not texts:
        raise MissingValueError(
            "captured nothing" if own else "no statement that could tell it ended"
        )
    if source.text:
        return texts[0 if source.take == "first" else -1]
    return TAKES[source.take]([number(text) for text in texts])


def changed(source: MetricSource, after: float, said: LoadOutput, earlier: Before) -> float:
    """How far an answer has moved over the load, by the time that the metric names.

    The load is asked about as a whole: its warm-up changed the answer,
    too. Raises MissingValueError.
    """
    first = earlier.get(source.name, MissingValueError("nobody asked before the load"))
    if isinstance(first, MissingValueError):
        raise first
    assert source.change is not None
    spans_s = SPANS_S[source.change]
    if spans_s is None:
        return after - first
    if not said.lasted_s:
        raise MissingValueError("the load did not say how long it lasted")
    return (after - first) * spans_s / said.lasted_s


SPANS_S: Mapping[Change, float | None] = {
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
    "load": None,
}
"""The seconds that a change is told by; None: it is that of the whole load."""


TAKES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "sum": math.fsum,
    "max": max,
    "mean": lambda values: math.fsum(values) / len(values),
}
"""The value made of several."""


def _in_columns(column: str, captured: Iterable[CapturedEvent]) -> Iterator[str]:
    """The values of a column, without nulls."""
    for execution in captured:
        if column in execution.columns:
            place = execution.columns.index(column)
            values = (row[place] for row in execution.rows)
            yield from (value for value in values if value is not None)


def _matches(source: MetricSource, captured: Iterable[CapturedEvent]) -> Iterator[str]:
    """The finds of a pattern in notices, then in rows, line by line; an empty group counts as 0."""
    pattern = re.compile(source.pattern or "")
    for execution in captured:
        rows = (
            BETWEEN.join("" if part is None else part for part in row) for row in execution.rows
        )
        for text in (*execution.notices, *rows):
            for line in text.splitlines():
                groups = (match[1] for match in pattern.finditer(line) if match[1] is not None)
                yield from (group or ("" if source.text else "0") for group in groups)


# --- What the server answers ------------------------------------------------------------------


def answered(server: Server, sql: str) -> float:
    """A number that the server answers. Raises MissingValueError."""
    return number(answer(server, sql))


def answer(server: Server, sql: str) -> object:
    """The first column of the first row. Raises MissingValueError."""
    try:
        rows: Sequence[Sequence[object]] = server.execute(sql, limit_s=ANSWER_S_MAX)
    except ServerError as error:
        raise MissingValueError(str(error)) from error
    if not rows or not rows[0]:
        raise MissingValueError("the answer is empty")
    if rows[0][0] is None:
        raise MissingValueError("the answer is NULL")
    return rows[0][0]


def number(value: object) -> float:
    """A number of a server's answer, or of its text. Raises MissingValueError."""
    if isinstance(value, int | float | Decimal | str) and not isinstance(value, bool):
        try:
            figure = float(value)
        except ValueError:
            figure = math.nan
        if math.isfinite(figure):
            return figure
    raise MissingValueError(f"{str(value)!r} is not a number")
