"""The history of a step: what each result came to, by date or by version, and where it changed.

Results of different days are not paired: nothing here is judged, and a change point has no word.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from dbdyno.analysis.across import side
from dbdyno.analysis.across.side import Side
from dbdyno.analysis.across.values import ExcerptReader, Figure
from dbdyno.analysis.across.work import Index, Trace, Work
from dbdyno.model import Bound, Difference, engine
from dbdyno.stats import change_points
from dbdyno.stats.change_points import ChangePoint, CutTest

By = Literal["date", "version"]
"""The order of a history: the results of each arm by date, or of all arms by version."""

MAGNITUDE_MIN = 0.01
"""Plateaus that lie closer than this share are one: no host is so quiet from day to day."""
FALSE_PAGES = 0.05
"""Share of pages without any change that have a change point, over all histories of a page."""
STEPS, FIGURES = 42, 3
"""A page of the suite: its steps, and the figures of each (`values.Values`)."""
AUTOCORRELATION = 0.3
"""Of the results of neighbouring days, up to which that share holds."""
SHORTEST = 2
"""Results of a plateau: a single one that is far off was disturbed."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """An arm's figure in one result."""

    side: Side
    figure: Figure
    bound: Bound  # what the figure is to the true one


@dataclass(frozen=True, kw_only=True)
class HistoryChange:
    """A point from which on the plateau is another one, and what is known to differ there."""

    change_point: ChangePoint
    before: Point  # the last one of the plateau before
    after: Point  # the first one of the new plateau
    points_before: int  # of the plateau before
    points_after: int
    unlike: tuple[Difference, ...]  # between these two points


@dataclass(frozen=True, kw_only=True)
class Plateau:
    """Points without a change point among them."""

    first: int  # the place of its first point
    last: int
    mean: float


@dataclass(frozen=True, kw_only=True)
class HistoryLine:
    """Points in their order, with their plateaus."""

    name: str  # the arm; of a history by version the engine
    points: tuple[Point, ...]
    plateaus: tuple[Plateau, ...]
    changes: tuple[HistoryChange, ...]


@dataclass(frozen=True, kw_only=True)
class History:
    """The history of one work."""

    work: Work
    metric: str
    by: By
    arms: tuple[str, ...]  # all that have it, whether they are chosen or not
    metrics: tuple[str, ...]  # those that any of its results has
    lines: tuple[HistoryLine, ...]
    without: int  # traces without a figure: failed, or with nothing of this metric


@dataclass(frozen=True, kw_only=True)
class Steps:
    """A work to choose, and how often it was done."""

    work: Work
    results: int
    arms: tuple[str, ...]
    first_unix_ns: int
    last_unix_ns: int


def steps(indexes: Iterable[Index]) -> list[Steps]:
    """Every work of these results, by host, workload, parameters and order of steps."""
    by_key: dict[str, list[tuple[Index, Trace]]] = {}
    for index in indexes:
        for trace in index.traces:
            by_key.setdefault(trace.work.key, []).append((index, trace))
    sequences = [_steps(traces) for traces in by_key.values()]
    return sorted(sequences, key=lambda sequence: _order(sequence.work))


def _steps(traces: Sequence[tuple[Index, Trace]]) -> Steps:
    begun = [index.begun_unix_ns for index, _ in traces]
    return Steps(
        work=traces[0][1].work,
        results=len({index.name for index, _ in traces}),
        arms=tuple(sorted({trace.arm for _, trace in traces})),
        first_unix_ns=min(begun),
        last_unix_ns=max(begun),
    )


def _order(work: Work) -> tuple[object, ...]:
    parameters = tuple(work.parameters.items())
    turns = tuple(work.turns.items())
    return (work.host, work.workload, work.engine, parameters, turns, work.ordinal, work.step)


@dataclass(frozen=True, kw_only=True)
class HistorySelection:
    """The part of a history to show."""

    metric: str | None = None  # of `Values`; None: the throughput
    by: By = "date"
    arms: tuple[str, ...] = ()  # only these, if any are named


def history(
    indexes: Iterable[Index], key: str, choice: HistorySelection, reader: ExcerptReader
) -> History | None:
    """The history of the work with this key; None where no result has it.

    A result whose files are damaged counts among those without a figure.
    """
    traces = [
        (index, trace) for index in indexes for trace in index.traces if trace.work.key == key
    ]
    if not traces:
        return None
    work = traces[0][1].work
    name = choice.metric or work.headline
    names = tuple(sorted({trace.arm for _, trace in traces}))
    wanted = [pair for pair in traces if not choice.arms or pair[1].arm in choice.arms]
    measured = [
        (index, trace, values) for index, trace in wanted if (values := reader.values(index, trace))
    ]
    points = [
        Point(
            side=reader.side(index, trace.arm),
            figure=values.figures[name],
            bound=values.bound if name == work.headline else "exact",
        )
        for index, trace, values in measured
        if name in values.figures
    ]
    metrics = {figure for _, _, values in measured for figure in values.figures}
    return History(
        work=work,
        metric=name,
        by=choice.by,
        arms=names,
        metrics=tuple(sorted(metrics, key=lambda name: (name != work.headline, name))),
        lines=_lines(points, choice.by, engine.of(work.engine).product),
        without=len(wanted) - len(points),
    )


def _lines(points: Sequence[Point], by: By, product: str) -> tuple[HistoryLine, ...]:
    """By date a line of each arm; by version one of all."""
    if by == "version":
        ordered = sorted(points, key=lambda point: (point.side.version_num, *_when(point)))
        return (line(product, ordered, lines=1),) if ordered else ()
    by_arm: dict[str, list[Point]] = {}
    for point in sorted(points, key=_when):
        by_arm.setdefault(point.side.arm, []).append(point)
    return tuple(line(arm, by_arm[arm], lines=len(by_arm)) for arm in sorted(by_arm))


def _when(point: Point) -> tuple[int, str, str]:
    return (point.side.begun_unix_ns, point.side.result, point.side.arm)


def line(name: str, points: Sequence[Point], *, lines: int) -> HistoryLine:
    """Points in their order, with the plateaus that change points part them into.

    `lines`: of its history, which share the level.
    """
    values = [point.figure.value for point in points]
    change_points = changed(values, lines)
    cuts = [0, *(change_point.index for change_point in change_points), len(points)]
    plateaus = tuple(
        Plateau(first=first, last=end - 1, mean=sum(values[first:end]) / (end - first))
        for first, end in pairwise(cuts)
    )
    changes = tuple(
        HistoryChange(
            change_point=change_point,
            before=points[change_point.index - 1],
            after=points[change_point.index],
            points_before=change_point.index - plateau.first,
            points_after=following.last - following.first + 1,
            unlike=side.unlike(
                points[change_point.index - 1].side, points[change_point.index].side
            ),
        )
        for change_point, (plateau, following) in zip(
            change_points, pairwise(plateaus), strict=True
        )
    )
    return HistoryLine(name=name, points=tuple(points), plateaus=plateaus, changes=changes)


def changed(values: Sequence[float], lines: int) -> tuple[ChangePoint, ...]:
    """The change points of one of so many lines of a history."""
    test = CutTest(
        level=change_points.level_of_each(len(values), STEPS * FIGURES * lines, chance=FALSE_PAGES),
        autocorrelation=AUTOCORRELATION,
        shortest=SHORTEST,
    )
    return change_points.find(values, magnitude_min=MAGNITUDE_MIN, test=test)
