"""How far counts of one build repeat: by step, over all pairs of its repeats."""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dbdyno.findings.work import fill_scatter
from dbdyno.findings.work import plan as work
from dbdyno.model.count import Count
from dbdyno.model.error import ResultError
from dbdyno.model.host_facts import CountScatter, FillScatter, fills_key
from dbdyno.model.step import StepName
from dbdyno.stats import work as stats
from dbdyno.store import Results


@dataclass(frozen=True, kw_only=True)
class RepeatPairs:
    """The counts of one step by one build, its repeats taken two by two as two arms."""

    step: StepName
    version: str  # of its server
    repeats: int
    deviation: float  # of a log count, between repeats of one fill
    freedom: int
    reach: float  # the largest change between two repeats, a log ratio
    pairs: int
    beyond: int  # pairs that differ by more than the margin
    margin: float
    writes: bool
    between: FillScatter | None = None  # of several fills

    @property
    def words(self) -> str:
        """point-query: 40 repeats, deviation 0.0012 %, …"""
        deviation = f"deviation {100 * self.deviation:.4f} %"
        if self.between is not None:
            apart, count = 100 * self.between.deviation, self.between.freedom + 1
            deviation = f"{deviation}, {apart:.4f} % between {count} fills"
        return (
            f"{self.step[1]}: {self.repeats} repeats, {deviation}, "
            f"range {100 * self.reach:.4f} %; of {self.pairs} pairs {self.beyond} beyond "
            f"{100 * self.margin:g} %"
        )


def steps(results: Results) -> Iterator[RepeatPairs]:
    """The counted steps of a result's base. Raises ResultError where one has no two repeats."""
    base, blocks = results.plan.base, work.repeats(results)
    begun = fill_scatter.begun(blocks)
    for step, arms in work.read(blocks).items():
        began = begun.get((step[0], base))
        fills = () if began is None else began.fills
        version = "" if began is None else began.version
        counted = [
            (count, fill)
            for count, fill in itertools.zip_longest(arms[base], fills, fillvalue=1)
            if isinstance(count, Count)
        ]
        if len(counted) < 2:
            raise ResultError(
                f"{results.folder}: {step[1]}: counted {len(counted)} times of {base}"
            )
        counts, numbers = zip(*counted, strict=True)
        yield repeated(step, counts, numbers, version)


def repeated(
    step: StepName, counts: Sequence[Count], fills: Sequence[int] = (), version: str = ""
) -> RepeatPairs:
    """The scatter of a step's repeats within and between fills, and pairs beyond the margin.

    `fills`: the number of each repeat's; none: all are of one.
    """
    logs = [math.log(count.instructions) for count in counts]
    means = stats.of_fills(logs, fills or [1] * len(logs))
    by_fill = dict(zip(sorted(set(fills or [1])), means, strict=True))
    own = [by_fill[fill] for fill in fills or [1] * len(logs)]
    squares = math.fsum((log - mean) ** 2 for log, mean in zip(logs, own, strict=True))
    freedom = len(logs) - len(means)
    changes = [abs(first - second) for first, second in itertools.combinations(logs, 2)]
    return RepeatPairs(
        step=step,
        version=version,
        repeats=len(counts),
        deviation=math.sqrt(squares / freedom) if freedom else 0.0,
        freedom=freedom,
        reach=max(changes),
        pairs=len(changes),
        beyond=sum(change > counts[0].margin for change in changes),
        margin=counts[0].margin,
        writes=counts[0].writes,
        between=stats.between_fills(means),
    )


def pooled(of_steps: Iterable[RepeatPairs]) -> CountScatter:
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
        fills={fills_key(row.version, row.step): row.between for row in rows if row.between},
    )


def of_ratio(rows: Sequence[RepeatPairs]) -> float:
    """The pooled deviation of a log ratio; 0: no steps."""
    squares = sum(row.freedom * row.deviation**2 for row in rows)
    return math.sqrt(2 * squares / freedom(rows)) if freedom(rows) else 0.0


def freedom(rows: Sequence[RepeatPairs]) -> int:
    """The degrees of freedom of these steps together."""
    return sum(row.freedom for row in rows)
