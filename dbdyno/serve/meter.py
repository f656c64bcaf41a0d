"""The rate of a step by second, from its events so far; whatever machine runs it."""

from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.model import Headline, events
from dbdyno.model.headlines import scale_of, unit_of
from dbdyno.model.job import StopRule, amounts
from dbdyno.model.metric.over import taken
from dbdyno.parts import number
from dbdyno.store import StepFolder
from dbdyno.store.tail import Tail

NS_PER_S = 1_000_000_000
POINTS_MAX = 600
"""Of a line on the screen; of a longer step neighbouring seconds are taken together."""
SECOND_MIN_S = 0.5
"""A shorter rest of a second at a step's end says little of the rate."""
FILL = "fill"
"""The role whose rows a bulk load counts."""

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class WorkMeasure:
    """The counted work of a step: its headline's, else that of its first role."""

    unit: str
    count: str  # rows, operations or statements
    role: str | None  # None: whichever comes first
    each: int = 1
    named: tuple[str, ...] = ()  # of the operations those that count; empty: all


class Meter:
    """Takes the events of one step as they are written. Raises ResultError where it is damaged."""

    def __init__(self, folder: StepFolder) -> None:
        self.folder = folder
        job = folder.job()
        fills = job is not None and bool(job.fills)
        self.measure = measure(folder.step().headline, fills=fills)
        stop = StopRule() if job is None else job.stop
        self.warmup_s = float(stop.warmup_s)
        self.whole_s = self.warmup_s + stop.seconds if stop.seconds else None
        self.points: list[Point] = []  # seconds of the step, and the rate of that second
        self._statements = frozenset() if job is None else job.statement_names
        self._role = self.measure.role
        self._tail = Tail(folder)

    @property
    def elapsed_s(self) -> float:
        """The step's time so far, with its warm-up and without pauses."""
        return self.points[-1][0] if self.points else 0.0

    def look(self) -> None:
        """Takes what was written since the last look."""
        for event in self._tail.more():
            if isinstance(event, events.Tick):
                self._take(event)

    def _take(self, tick: events.Tick) -> None:
        self._role = self._role or tick.role
        seconds = tick.active_ns / NS_PER_S
        if tick.role != self._role or seconds < SECOND_MIN_S:
            return
        work = self.measure
        counts = amounts(tick, self._statements, work.named)
        amount = counts["named" if work.named else work.count]
        self.points.append((self.elapsed_s + seconds, amount * self.measure.each / seconds))


def measure(headline: Headline | None, *, fills: bool) -> WorkMeasure:
    """The work to count for this headline, or without one where the step `fills` tables.

    A headline in seconds counts operations.
    """
    if headline is None:
        counts = "rows" if fills else "operations"
        return WorkMeasure(unit=f"{counts}/s", count=counts, role=FILL if fills else None)
    if headline.is_whole:
        return WorkMeasure(unit="operations/s", count="operations", role=headline.role)
    return WorkMeasure(
        unit=unit_of(headline),
        count=headline.count,
        role=headline.role,
        each=scale_of(headline),
        named=headline.operations,
    )


def ended(folder: StepFolder) -> str:
    """The outcome of a step that ended well: its rate over the window, or its length."""
    done, headline = folder.done(), folder.step().headline
    counted = None if done is None else done.counted
    if headline is None or counted is None or not counted.seconds:
        return "done"
    if headline.is_whole:
        return f"{number.number(counted.seconds)} s"
    work = measure(headline, fills=False)
    rate = counted.amount(work.count) * work.each / counted.seconds
    return f"{number.number(rate)} {work.unit}"


def thinned(points: Sequence[Point]) -> list[Point]:
    """At most POINTS_MAX points: each the mean rate of so many neighbouring seconds."""
    size = -(-len(points) // POINTS_MAX) or 1
    parts = (points[at : at + size] for at in range(0, len(points), size))
    return [(round(part[-1][0], 2), round(taken(y for _, y in part) or 0.0, 2)) for part in parts]
