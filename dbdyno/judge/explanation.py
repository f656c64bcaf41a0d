"""Why an arm is faster or slower in a step: a sentence of the costs that changed with it. Pure.

A cost is a reason where it changed beyond doubt within its family (docs/method.md), in the
direction that explains, and by enough to carry a part of the change. Exploratory: what changed
together need not have caused each other.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from dbdyno.evidence import query_plans
from dbdyno.judge.causes import HELPERS, PLAN, REASONS, WAITS, Reason
from dbdyno.judge.pairing import by_block
from dbdyno.model import Cell, StepComparison
from dbdyno.model.grouping import grouped
from dbdyno.model.headlines import kind_of
from dbdyno.model.metric import less_is_better
from dbdyno.model.metric.primary import (
    CPU,
    REMAINDER,
    SESSIONS_CPU,
    TIME,
    UNDISTURBED,
    called,
    cpu_of,
)
from dbdyno.model.query_change import PlanChange
from dbdyno.model.verdict import CHANGED, Aims, Cause, Explanation, Judgement, Verdict
from dbdyno.parts import number, undisturbed
from dbdyno.stats import significance

CARRIED_MIN = 0.1
"""A cost in time is no reason that carries less of the change in time."""
SHARE_MIN = 0.25
"""Another cost is no reason that changed by less than this share of what is to be explained."""
NARROW = 0.05
"""An interval around no change that reaches no further says that nothing changed."""
NEGLIGIBLE = 0.01
"""A time under this share of what an operation takes in all does not matter."""
REMAINDER_MIN = 0.5
"""From this share of the change on, what nothing accounts for is said."""
NAMED_MAX = 4  # causes in a sentence; all of them are listed
TOLD = ("CPU", "context switches", "reads", "writes", "WAL", WAITS, "plans")
"""Groups of which a sentence says that they did not change; the others are in the list alone."""


@dataclass(frozen=True, kw_only=True)
class _Change:
    """The change to explain."""

    cell: Cell
    base: Cell
    verdict: Verdict
    throughput: Judgement | None
    undisturbed: Judgement | None
    cpu: Judgement | None  # primary where no undisturbed time is
    aims: Aims
    unit: str
    plan: PlanChange | None = None  # of an application's query

    @property
    def cpu_metric(self) -> str:
        """By which metric the step's CPU is judged."""
        return cpu_of((self.cell, self.base))

    @property
    def by_throughput(self) -> bool:
        """Whether throughput changed; else an undisturbed operation's time or CPU alone did."""
        return self.throughput is not None and self.throughput.word in CHANGED

    @property
    def by_time(self) -> bool:
        """Whether the time of operations changed; else their CPU alone did."""
        return self.by_throughput or self.undisturbed is not None

    @property
    def led(self) -> Judgement | None:
        """The judgement that the change is told by."""
        return self.throughput if self.by_throughput else self.undisturbed or self.cpu

    @property
    def seen_in_ratio(self) -> bool:
        """Whether throughput changed in the blocks in which both ran, so that costs explain it.

        Else it is who stood still that says so.
        """
        led = self.throughput
        if led is None or led.p_still is None:
            return True
        _, low, high = led.told
        if low is None or high is None:
            return False
        return high < 1 if self.slower != less_is_better(led.metric) else low > 1

    @property
    def slower(self) -> bool:
        """Whether more costs explain it, or fewer."""
        return self.led is not None and self.led.word == "slower"

    @property
    def size(self) -> float:
        """How large the change is, as a logarithm without its sign."""
        return abs(math.log(self.led.so_far.value)) if self.led is not None else 0.0

    @property
    def time_us(self) -> float | None:
        """How much longer an operation takes, or of CPU alone how much more of it."""
        if self.by_throughput:
            return self.added_us(TIME)
        return self.added_us(self.cpu_metric if self.undisturbed is None else UNDISTURBED)

    def added_us(self, name: str) -> float | None:
        """How much more of a cost an operation has; None where unknown."""
        estimate, before = self.cell.estimates.get(name), self.base.metrics.get(name)
        if estimate is None or before is None:
            return None
        return estimate.value if estimate.kind == "difference" else before * (estimate.value - 1)

    def relative(self, judgement: Judgement) -> tuple[float, float | None, float | None]:
        """A cost by the base's: what is compared by differences, by the base's own figure."""
        estimate = self.cell.estimates.get(judgement.metric, judgement.estimate)
        ratio = estimate.by(self.base.metrics.get(judgement.metric) or 0.0) or judgement.estimate
        return ratio.value, ratio.low, ratio.high

    def carried(self, name: str) -> float | None:
        """The share of the change in time that a cost carries; None where either is unknown."""
        part, whole = self.added_us(name), self.time_us
        return None if part is None or not whole else part / whole


@dataclass(frozen=True, kw_only=True)
class _RankedCause:
    """A cause, with what it is ordered and grouped by."""

    cause: Cause
    group: str
    carried: float | None  # the share of the change in time; None of what is no time
    size: float


def explained(
    step: StepComparison, aims: Aims, plans: Mapping[str, PlanChange] = MappingProxyType({})
) -> StepComparison:
    """The step with an explanation in each of its cells that is faster or slower.

    `plans`: by arm the plan of the application's query that it is.
    """
    base = step.cells[0]
    cells = (
        replace(cell, explanation=explain(step, cell, base, aims, plans.get(cell.arm)))
        for cell in step.cells
    )
    return replace(step, cells=tuple(cells))


def explain(
    step: StepComparison, cell: Cell, base: Cell, aims: Aims, plan: PlanChange | None = None
) -> Explanation | None:
    """Why the arm of `cell` is faster or slower in a step; None where it is neither.

    `cell` has its verdict and the judgements of its costs; `base` is the base's cell. All that
    reports, terminal and JSON say of a cause comes from here.
    """
    verdict = cell.verdict
    if verdict is None or verdict.word not in CHANGED:
        return None
    primary = {judgement.metric: judgement for judgement in verdict.judgements}
    change = _Change(
        cell=cell,
        base=base,
        verdict=verdict,
        throughput=primary.get(step.headline or ""),
        undisturbed=primary.get(UNDISTURBED),
        cpu=primary.get(cpu := cpu_of((cell, base))) or cell.costs.get(cpu),
        aims=aims,
        unit=kind_of(step.headline).unit,
        plan=plan,
    )
    if change.by_throughput and not change.seen_in_ratio:
        why = "of blocks without an operation no cost can be compared"
        return Explanation(
            text=f"{verdict.stood_still}; {why}", why=why, causes=(), unchanged=(), explained=False
        )
    candidates = _ordered(_found(change))
    unchanged = _unchanged(change)
    causes = tuple(candidate.cause for candidate in candidates)
    led, why = _led(change), "; ".join(_parts(change, candidates, unchanged))
    return Explanation(
        text=f"{led}: {why}" if why else led,
        why=why,
        causes=causes,
        unchanged=tuple(name for names in unchanged.values() for name in names),
        explained=bool(causes),
    )


# --- Causes ----------------------------------------------------------------------------------


def _found(change: _Change) -> Iterable[_RankedCause]:
    """All that changed in the direction that explains."""
    for words in _other_plans(change):
        cause = Cause(metric=PLAN, words=words)
        yield _RankedCause(cause=cause, group=PLAN, carried=None, size=math.inf)
    for reason in _asked(change):
        judgement = _judgement(change, reason)
        if judgement is not None:
            yield from _changed(change, reason, judgement)
        else:
            yield from _appeared(change, reason)


def _other_plans(change: _Change) -> Iterable[str]:
    """How plans differ: of an application's query by its trees, else by each block's EXPLAIN."""
    if change.plan is not None and change.plan.word != "not known":
        return (change.plan.words,) if change.plan.differs else ()
    return map(query_plans.words, query_plans.changes(change.base.runs, change.cell.runs))


def _asked(change: _Change) -> Iterable[Reason]:
    """Of CPU alone only what takes CPU can be a reason.

    Of time it is the CPU of sessions, as what helps them is no part of their time.
    """
    for reason in REASONS:
        if reason.metric in (CPU, SESSIONS_CPU):
            if change.by_time is (reason.metric == SESSIONS_CPU):
                yield reason
        elif change.by_time or reason.of_cpu or reason.metric in HELPERS:
            yield reason


def _judgement(change: _Change, reason: Reason) -> Judgement | None:
    """A cost's own; where nothing helps sessions, their CPU is what the step is judged by."""
    alone = reason.metric == SESSIONS_CPU and all(
        run.metrics.get(CPU) == run.metrics.get(SESSIONS_CPU)
        for cell in (change.cell, change.base)
        for run in cell.runs
    )
    if alone or reason.metric == change.cpu_metric:
        return change.cpu
    return change.cell.costs.get(reason.metric)


def _changed(change: _Change, reason: Reason, judgement: Judgement) -> Iterable[_RankedCause]:
    relative = change.relative(judgement)
    if not _is_changed(change, judgement) or (relative[0] > 1) is not change.slower:
        return
    size = abs(math.log(judgement.so_far.value))
    carried = change.carried(reason.metric) if reason.time else None
    small = size < SHARE_MIN * change.size if carried is None else carried < CARRIED_MIN
    if small or _negligible(change, reason):
        return
    more = number.amount(relative[0], counted=reason.counted)
    words = reason.words(more, change.unit) + number.ends(*relative)
    cause = Cause(metric=reason.metric, words=words, judgement=judgement)
    yield _RankedCause(cause=cause, group=reason.group, carried=carried, size=size)


def _is_changed(change: _Change, judgement: Judgement) -> bool:
    """Whether a metric changed beyond doubt: a primary one by its word, a cost by its q."""
    if judgement in change.verdict.judgements:
        return judgement.word in CHANGED
    return judgement.q is not None and judgement.q <= change.aims.level


def _appeared(change: _Change, reason: Reason) -> Iterable[_RankedCause]:
    """A cost that one of the arms does not have at all, so that there is no ratio.

    Where it is zero in every block of the one, a t test says whether it is not in the other's.
    """
    own = by_block(change.cell.runs, reason.metric)
    before = by_block(change.base.runs, reason.metric)
    blocks = own.keys() & before.keys()
    first, second = [before[block] for block in blocks], [own[block] for block in blocks]
    there, gone = (second, first) if change.slower else (first, second)
    if len(blocks) < 2 or any(gone) or _negligible(change, reason):
        return
    p = significance.t_p(there)
    carried = change.carried(reason.metric) if reason.time else None
    if p is None or p > change.aims.level or (carried is not None and carried < CARRIED_MIN):
        return
    words = _there_or_not(change, reason, math.fsum(there) / len(there))
    cause = Cause(metric=reason.metric, words=words)
    yield _RankedCause(cause=cause, group=reason.group, carried=carried, size=math.inf)


def _there_or_not(change: _Change, reason: Reason, mean: float) -> str:
    """`31.2 µs of time waiting for locks per query, where pg17 has none`, or the reverse."""
    figure = number.time_us(mean) if reason.time else number.number(mean)
    mine = (f"{figure} of" if reason.time else figure) if change.slower else "no"
    theirs = "none" if change.slower else figure
    words = reason.words(mine, change.unit)
    return f"{words}, where {change.base.arm} has {theirs}"


def _negligible(change: _Change, reason: Reason) -> bool:
    """Whether both arms have so little of a cost that it cannot matter."""
    amounts = [cell.metrics.get(reason.metric) or 0.0 for cell in (change.cell, change.base)]
    if not reason.time:
        return max(amounts) < reason.least
    whole = change.base.metrics.get(TIME)
    return whole is not None and max(amounts) < NEGLIGIBLE * whole


def _ordered(candidates: Iterable[_RankedCause]) -> list[_RankedCause]:
    """Plans first, then times by how much of the change they carry, then the rest by size."""

    def place(candidate: _RankedCause) -> tuple[bool, float, float]:
        carried = candidate.carried if candidate.carried is not None else -math.inf
        return (candidate.group != PLAN, -carried, -candidate.size)

    return sorted(candidates, key=place)


# --- What did not change ---------------------------------------------------------------------


def _unchanged(change: _Change) -> dict[str, list[str]]:
    """The groups of which was seen that nothing in them changed, with their metrics."""
    groups = grouped(
        (reason.group, reason)
        for reason in REASONS
        if change.cell.metrics.get(reason.metric) is not None
    )
    unchanged = {
        group: [reason.metric for reason in reasons]
        for group, reasons in groups.items()
        if all(_is_unchanged(change, reason) for reason in reasons)
    }
    if _plans_alike(change):
        unchanged["plans"] = [PLAN]
    return unchanged


def _is_unchanged(change: _Change, reason: Reason) -> bool:
    """Within the margin, or an interval around 1 that is narrow, or next to nothing in both."""
    if change.base.metrics.get(reason.metric) is None:
        return False
    judgement = _judgement(change, reason)
    if judgement is not None:
        _, low, high = change.relative(judgement)
        if judgement.word == "same":
            return True
        if low is not None and high is not None and 1 / (1 + NARROW) <= low <= 1 <= high:
            return high <= 1 + NARROW or _negligible(change, reason)
    return _negligible(change, reason)


def _plans_alike(change: _Change) -> bool:
    """Whether all statements of both arms have a plan, and no block has two that differ."""
    if change.plan is not None and change.plan.word != "not known":
        return change.plan.word in ("same", "other estimate")
    first = {run.block: run.server.plans for run in change.base.runs if run.server.plans}
    second = {run.block: run.server.plans for run in change.cell.runs if run.server.plans}
    return bool(first) and first == second


# --- The sentence ----------------------------------------------------------------------------


def _parts(
    change: _Change, candidates: Sequence[_RankedCause], unchanged: dict[str, list[str]]
) -> Iterable[str]:
    """What changed with it, what did not, and what is not known."""
    kept = [
        candidate
        for candidate in candidates
        if change.by_time or candidate.cause.metric != change.cpu_metric
    ]
    if kept:
        yield ", ".join(_named(change, kept))
    if not candidates:
        yield "nothing measured explains it"
    quiet = [name for name in TOLD if name in unchanged]
    if quiet:
        yield f"{number.listed(quiet)} did not change"
    yield from _not_known(change, explained=bool(candidates))


def _named(change: _Change, candidates: Sequence[_RankedCause]) -> Iterable[str]:
    """The causes that a sentence has room for: of each group that is no time only the first."""
    chosen: list[_RankedCause] = []
    groups: set[str] = set()
    for candidate in candidates:
        if (
            candidate.carried is not None
            or candidate.group == PLAN
            or candidate.group not in groups
        ):
            chosen.append(candidate)
        groups.add(candidate.group)
    per_unit = f" per {change.unit}"
    told_unit = False
    for candidate in chosen[:NAMED_MAX]:
        words = (
            candidate.cause.words.replace(per_unit, "", 1) if told_unit else candidate.cause.words
        )
        told_unit = told_unit or per_unit in words
        added = change.added_us(candidate.cause.metric) if candidate.carried is not None else None
        judged = added is not None and candidate.cause.judgement is not None
        yield f"{words} ({number.time_us(abs(added))})" if judged and added is not None else words
    if len(chosen) > NAMED_MAX:
        yield f"and {len(chosen) - NAMED_MAX} more"


def _led(change: _Change) -> str:
    """The change with its interval and, if known, in time per operation."""
    throughput = change.throughput
    if not change.by_throughput or throughput is None:
        return _led_by_second(change)
    words = _speed(throughput)
    if change.verdict.stood_still:
        words = f"{change.verdict.stood_still}: {words}"
    if throughput.within_margin:
        words += f", within the margin of {throughput.margin * 100:g} %"
    added = change.time_us
    if added is not None:
        more = "more" if added > 0 else "less"
        words += f", {number.time_us(abs(added))} {more} per {change.unit}"
    if change.undisturbed is not None:
        words += f"; {_second_words(change, change.undisturbed)}{_beside(change.undisturbed)}"
    elif change.verdict.against and change.cpu is not None:
        words += f", with {_second_words(change, change.cpu)}"
    return words


def _speed(judgement: Judgement) -> str:
    """How much faster or slower, by the throughput or the time that it names."""
    if less_is_better(judgement.metric):
        return number.haste(*judgement.told)
    return number.named("throughput", judgement.told[0], number.speed(*judgement.told))


def _second_words(change: _Change, second: Judgement) -> str:
    if second.metric == UNDISTURBED:
        return undisturbed.words(second, change.unit)
    more, ends = number.amount(second.told[0]), number.ends(*second.told)
    return f"{more} CPU of the server per {change.unit}{ends}"


def _beside(judgement: Judgement) -> str:
    """What is decided of a metric by which the change is not told."""
    if judgement.word == "same":
        return f", the same within {judgement.margin * 100:g} %"
    return ", open" if judgement.word == "open" else ""


def _led_by_second(change: _Change) -> str:
    """Undisturbed time or CPU per operation alone; what throughput says beside it."""
    if change.led is None:
        raise ValueError(f"{change.cell.arm}: neither throughput nor CPU has a judgement")
    words = _second_words(change, change.led)
    if change.led.within_margin:
        words += f", within the margin of {change.led.margin * 100:g} %"
    throughput = change.throughput
    if throughput is None:
        return words
    what, still = called(throughput.metric), change.verdict.stood_still
    beside = f"{f'{what} {still}' if still else _speed(throughput)}, open"
    if throughput.word == "same":
        beside = f"{what} is the same within {throughput.margin * 100:g} %"
    elif throughput.reason == "generator at its limit":
        beside = f"{what} was at the load generator's limit"
    return f"{words} ({beside})"


def _not_known(change: _Change, *, explained: bool) -> Iterable[str]:
    """What was not sampled, and the time without an account."""
    if not change.by_throughput:
        return
    cells = (change.cell, change.base)
    waits = [reason.metric for reason in REASONS if reason.group == WAITS]
    if any(all(cell.metrics.get(name) is None for name in waits) for cell in cells):
        yield "waits were not sampled"
        return
    left, whole = change.added_us(REMAINDER), change.time_us
    if explained and left is not None and whole and left / whole >= REMAINDER_MIN:
        yield f"{number.time_us(abs(left))} of it nothing measured accounts for"
