"""Two arms of any results of one host beside each other: figures without a verdict.

They were not measured in turns, so that what the host did on each day is in the ratio.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dbdyno.analysis.across import side
from dbdyno.analysis.across.side import LEFT, RIGHT, Side
from dbdyno.analysis.across.values import COST, RESPONSE, ExcerptReader, Values
from dbdyno.analysis.across.work import Index, Trace, Work, words
from dbdyno.model import Difference, Json

OF_ENGINE = ("engine", "statements", "values", "programs", "table_digits")
"""Keys of a job in which two engines differ because each has its own SQL."""


@dataclass(frozen=True, kw_only=True)
class UnpairedStep:
    """A step that both have."""

    work: Work  # the left one's
    left: Values | None  # None: its files are damaged
    right: Values | None
    other_work: tuple[str, ...]  # in what the work itself differs: then nothing is divided
    other_sql: bool  # whether the engines, and so the statements, differ

    def ratio(self, metric: str) -> float | None:
        """Right by left; None where the work is not the same, or one has no figure above 0."""
        left, right = (
            side.figures.get(metric) if side else None for side in (self.left, self.right)
        )
        if self.other_work or left is None or right is None or not left.value > 0:
            return None
        return right.value / left.value

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics shown: throughput, CPU, response time."""
        return (self.work.headline, COST, RESPONSE)


@dataclass(frozen=True, kw_only=True)
class ArmPair:
    """Two arms of one host."""

    left: Side
    right: Side
    together: bool  # of one result, whose report has them in pairs
    unlike: tuple[Difference, ...]
    steps: tuple[UnpairedStep, ...]
    alone: Mapping[str, tuple[str, ...]]  # by LEFT and RIGHT, steps that only one has


def other_host(left: Index, right: Index) -> bool:
    """Whether two results are of different hosts, so that nothing may stand beside each other."""
    keys = [{trace.work.host_key for trace in index.traces} for index in (left, right)]
    return keys[0] != keys[1]


def beside(left: tuple[Index, str], right: tuple[Index, str], reader: ExcerptReader) -> ArmPair:
    """Two arms of results of one host; each is a result and an arm's name.

    Raises KeyError where a result has no such arm.
    """
    sides = [reader.side(index, arm) for index, arm in (left, right)]
    traces = [_by_name(index, arm) for index, arm in (left, right)]
    both = [name for name in traces[0] if name in traces[1]]
    return ArmPair(
        left=sides[0],
        right=sides[1],
        together=sides[0].result == sides[1].result,
        unlike=side.unlike(*sides),
        steps=tuple(
            _step(traces[0][name], traces[1][name], (left[0], right[0]), reader) for name in both
        ),
        alone={
            LEFT: tuple(name[1] for name in traces[0] if name not in traces[1]),
            RIGHT: tuple(name[1] for name in traces[1] if name not in traces[0]),
        },
    )


def _by_name(index: Index, arm: str) -> dict[tuple[str, str], Trace]:
    """An arm's traces by workload and step, in the order in which they run."""
    own = sorted(
        (trace for trace in index.traces if trace.arm == arm),
        key=lambda trace: (trace.work.workload, trace.work.ordinal),
    )
    return {(trace.work.workload, trace.work.step): trace for trace in own}


def _step(
    left: Trace, right: Trace, indexes: tuple[Index, Index], reader: ExcerptReader
) -> UnpairedStep:
    return UnpairedStep(
        work=left.work,
        left=reader.values(indexes[0], left),
        right=reader.values(indexes[1], right),
        other_work=tuple(other_work(left.work, right.work)),
        other_sql=left.work.engine != right.work.engine,
    )


def other_work(left: Work, right: Work) -> Iterable[str]:
    """The differences of two works of one host, in words; none where a ratio has a meaning.

    Of two engines the statements are each engine's own; all else has to be the same.
    """
    if left.key == right.key:
        return
    yield from _unlike(left.parameters, right.parameters)
    yield from _unlike(left.turns, right.turns)
    if left.headline != right.headline:
        yield f"throughput: {left.headline} and {right.headline}"
    jobs = [_comparable(work.job, left.engine != right.engine) for work in (left, right)]
    for key in sorted(jobs[0].keys() | jobs[1].keys()):
        if jobs[0].get(key) != jobs[1].get(key):
            yield f"the job's `{key}`"


def _comparable(job: Json, other_engine: bool) -> Json:
    if not other_engine:
        return job
    return {key: value for key, value in job.items() if key not in OF_ENGINE}


def _unlike(left: Mapping[str, str], right: Mapping[str, str]) -> Iterable[str]:
    for name in [*left, *(name for name in right if name not in left)]:
        if left.get(name) != right.get(name):
            yield f"{name}: {left.get(name, words(None))} and {right.get(name, words(None))}"
