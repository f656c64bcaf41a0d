"""How far counts of one build repeat: by step, over all pairs of its repeats."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dbdyno.analysis.compare import work
from dbdyno.model.count import Count
from dbdyno.model.error import ResultError
from dbdyno.model.host_facts import CountScatter
from dbdyno.model.step import StepName
from dbdyno.store import Results


@dataclass(frozen=True, kw_only=True)
class Repeated:
    """The counts of one step by one build, its repeats taken two by two as two arms."""

    step: StepName
    repeats: int
    deviation: float  # of a log count
    reach: float  # the largest change between two repeats, a log ratio
    pairs: int
    beyond: int  # pairs that differ by more than the margin
    margin: float
    writes: bool

    @property
    def words(self) -> str:
        """point-query: 40 repeats, deviation 0.0012 %, …"""
        return (
            f"{self.step[1]}: {self.repeats} repeats, deviation {100 * self.deviation:.4f} %, "
            f"range {100 * self.reach:.4f} %; of {self.pairs} pairs {self.beyond} beyond "
            f"{100 * self.margin:g} %"
        )


def steps(results: Results) -> Iterator[Repeated]:
    """The counted steps of a result's base. Raises ResultError where one has no two repeats."""
    base = results.plan.base
    for step, arms in work.read(work.repeats(results)).items():
        counts = [count for count in arms[base] if isinstance(count, Count)]
        if len(counts) < 2:
            raise ResultError(f"{results.folder}: {step[1]}: counted {len(counts)} times of {base}")
        yield repeated(step, counts)


def repeated(step: StepName, counts: Sequence[Count]) -> Repeated:
    """The scatter of a step's repeats, and their pairs beyond the margin."""
    logs = [math.log(count.instructions) for count in counts]
    changes = [abs(first - second) for first, second in itertools.combinations(logs, 2)]
    return Repeated(
        step=step,
        repeats=len(counts),
        deviation=statistics.stdev(logs),
        reach=max(changes),
        pairs=len(changes),
        beyond=sum(change > counts[0].margin for change in changes),
        margin=counts[0].margin,
        writes=counts[0].writes,
    )


def pooled(of_steps: Iterable[Repeated]) -> CountScatter:
    """The scatter of a log ratio of two counts: √2 times that of one, pooled over steps."""
    rows = list(of_steps)
    reads, writes = ([row for row in rows if row.writes == writing] for writing in (False, True))
    return CountScatter(
        repeats=min(row.repeats for row in rows),
        pairs=sum(row.pairs for row in rows),
        beyond=sum(row.beyond for row in rows),
        deviation=of_ratio(reads),
        freedom=freedom(reads),
        deviation_of_writes=of_ratio(writes),
        freedom_of_writes=freedom(writes),
    )


def of_ratio(rows: Sequence[Repeated]) -> float:
    """The pooled deviation of a log ratio; 0: no steps."""
    squares = sum((row.repeats - 1) * row.deviation**2 for row in rows)
    return math.sqrt(2 * squares / freedom(rows)) if rows else 0.0


def freedom(rows: Sequence[Repeated]) -> int:
    """The degrees of freedom of these steps together."""
    return sum(row.repeats - 1 for row in rows)
