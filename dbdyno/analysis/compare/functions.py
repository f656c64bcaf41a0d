"""What each function of a server costs for an operation, in each arm, and how it changed.

A function's cost in a block is its share of the profile's samples times the CPU of the whole server
for an operation in the judged window. So all functions together cost what the operation does, and
what profiling adds is in none of them. What is told of them is exploratory: a family of tests of
its own, which decides no verdict (docs/profiles.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from statistics import fmean

import numpy as np

from dbdyno.analysis.compare.subsystems import BINARY, OTHER, Part, Subsystems, of_arm, part_of
from dbdyno.judge.step_cells import Row
from dbdyno.model import StepRun
from dbdyno.model.plan_record import PlanRecord
from dbdyno.model.profile import (
    NO_SYMBOL,
    Difference,
    FunctionCost,
    Profile,
    ProfileComparison,
    Stack,
)
from dbdyno.stats.count_noise import Change, Side, changes
from dbdyno.stats.significance import adjusted

WHOLE_SERVER = "whole_server_cpu_per_op"
"""What the samples share: perf samples all processes of the server."""
TESTED_MIN = 10
"""Samples that a part has in both arms and all blocks to be tested: with fewer nothing can be told,
and the number says nothing of which arm has them (independent filtering, Bourgon et al. 2010)."""
TESTED_SHARE_MIN = 0.001
"""Of all samples of both arms, for the same: what costs less cannot have changed by two tenths of a
percent of the CPU, and each part that is tested makes the others less sure."""
LEVEL = 0.05

UNKNOWN = (NO_SYMBOL, NO_SYMBOL)
"""The part of a sample without any call stack."""

Tables = Callable[[str], Subsystems]
"""The subsystems of an arm."""


@dataclass(frozen=True, kw_only=True)
class _Tally:
    """Samples by part of the server."""

    own: Counter[Part]  # in the part itself
    whole: Counter[Part]  # in it or in what it calls


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """The samples of a run."""

    run: StepRun
    profile: Profile
    cost: float  # microseconds of CPU for each operation in the judged window
    functions: _Tally
    subsystems: _Tally
    stacks: Counter[Stack]  # with functions as they are compared


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """The base and an arm in the same block."""

    base: _Seen
    arm: _Seen


def with_profiles(rows: Sequence[Row], plan: PlanRecord) -> tuple[Row, ...]:
    """The rows, with the profiles of each step side by side."""
    tables = cache(partial(of_arm, plan))
    return tuple(
        replace(row, step=replace(row.step, profiles=compared(row, tables))) for row in rows
    )


def compared(row: Row, tables: Tables) -> tuple[ProfileComparison, ...]:
    """Each arm of a step beside the base, as far as blocks have profiles of both.

    The base stands beside itself where it is the only arm.
    """
    base, *others = row.step.cells
    if not others:
        seen = [_seen(run, tables) for run in base.runs]
        pairs = [_Pair(base=profile, arm=profile) for profile in seen if profile is not None]
        return (_comparison(pairs, tables),) if pairs else ()
    known: dict[int, _Seen | None] = {}

    def once(run: StepRun) -> _Seen | None:
        if id(run) not in known:
            known[id(run)] = _seen(run, tables)
        return known[id(run)]

    comparisons = []
    for cell in others:
        faced = row.faced[cell.arm]
        bases = {run.block: once(run) for run in faced.base_runs}
        both = ((bases.get(run.block), once(run)) for run in faced.runs)
        pairs = [_Pair(base=profile, arm=arm) for profile, arm in both if profile and arm]
        if pairs:
            comparisons.append(_comparison(pairs, tables))
    return tuple(comparisons)


# --- The samples of a run --------------------------------------------------------------------


def _seen(run: StepRun, tables: Tables) -> _Seen | None:
    """The samples of a run; None where nothing was sampled or its cost is not known."""
    profile, cost = run.profile, run.metrics.get(WHOLE_SERVER)
    if profile is None or not profile.samples or not cost or run.ending.status != "ok":
        return None
    table = tables(run.arm)
    functions, subsystems = (_Tally(own=Counter(), whole=Counter()) for _ in range(2))
    stacks: Counter[Stack] = Counter()
    for (owner, *frames), count in profile.stacks.items():
        parts = [part_of(frame) for frame in frames] or [UNKNOWN]
        innermost = table.of_stack(parts)
        known = {innermost, *filter(None, map(table.of, parts))}
        _count(functions, parts[-1], set(parts), count)
        _count(subsystems, (innermost, ""), {(name, "") for name in known}, count)
        stacks[(owner, *(BINARY.join(part) for part in parts))] += count
    return _Seen(
        run=run,
        profile=profile,
        cost=cost,
        functions=functions,
        subsystems=subsystems,
        stacks=stacks,
    )


def _count(tally: _Tally, own: Part, whole: Iterable[Part], samples: int) -> None:
    tally.own[own] += samples
    for part in whole:
        tally.whole[part] += samples


# --- An arm beside the base ------------------------------------------------------------------


def _comparison(pairs: Sequence[_Pair], tables: Tables) -> ProfileComparison:
    base, arm = [pair.base for pair in pairs], [pair.arm for pair in pairs]
    first, second = tables(base[0].run.arm), tables(arm[0].run.arm)
    functions = _costs(
        pairs,
        lambda seen: seen.functions,
        lambda part: first.of(part) or second.of(part) or "",
    )
    subsystems = _costs(pairs, lambda seen: seen.subsystems, lambda part: part[0])
    order = (*dict.fromkeys((*first.names, *second.names)), OTHER)
    different = {id(seen): seen for seen in (*base, *arm)}.values()
    return ProfileComparison(
        arm=arm[0].run.arm,
        base=base[0].run.arm,
        blocks=len(pairs),
        base_us=fmean(seen.cost for seen in base),
        arm_us=fmean(seen.cost for seen in arm),
        base_window_us=_window_us(base),
        arm_window_us=_window_us(arm),
        samples=sum(seen.profile.samples for seen in different),
        functions=tuple(functions),
        subsystems=tuple(sorted(subsystems, key=lambda subsystem: order.index(subsystem.name))),
        base_stacks=_mean_stacks(base),
        arm_stacks=_mean_stacks(arm),
    )


def _costs(
    pairs: Sequence[_Pair], of: Callable[[_Seen], _Tally], subsystem: Callable[[Part], str]
) -> list[FunctionCost]:
    """What each part costs, the surest change first, of what cannot be told the dearest."""
    both = [seen for pair in pairs for seen in (pair.base, pair.arm)]
    parts = sorted({part for seen in both for part in of(seen).whole})
    own = _sides(pairs, parts, lambda seen: of(seen).own)
    whole = _sides(pairs, parts, lambda seen: of(seen).whole)
    own_changes, whole_changes = _changes(pairs, *own), _changes(pairs, *whole)
    qs = _adjusted(own, own_changes)
    means = [side.costs.mean(axis=1).tolist() for side in (*own, *whole)]
    costs = [
        FunctionCost(
            name=part[0],
            binary=part[1],
            subsystem=subsystem(part),
            base_us=means[0][at],
            arm_us=means[1][at],
            change=_difference(own_changes[at], len(pairs)),
            base_inclusive_us=means[2][at],
            arm_inclusive_us=means[3][at],
            inclusive_change=_difference(whole_changes[at], len(pairs)),
            p=qs[at],
            found=(q := qs[at]) is not None and q <= LEVEL,
        )
        for at, part in enumerate(parts)
    ]

    def surest(at: int) -> tuple[bool, float, float]:
        p = own_changes[at].p
        dearest = max(costs[at].base_us, costs[at].arm_us)
        return qs[at] is None, 1.0 if p is None else p, -(own_changes[at].surely or dearest)

    return [costs[at] for at in sorted(range(len(costs)), key=surest)]


def _sides(
    pairs: Sequence[_Pair], parts: Sequence[Part], count: Callable[[_Seen], Counter[Part]]
) -> tuple[Side, Side]:
    """The samples of the parts in the base and in the arm."""

    def side(seen: Sequence[_Seen]) -> Side:
        columns = [[count(profile)[part] for part in parts] for profile in seen]
        return Side(
            counts=np.array(columns, dtype=float).T,
            samples=np.array([profile.functions.own.total() for profile in seen], dtype=float),
            cost=np.array([profile.cost for profile in seen], dtype=float),
        )

    return side([pair.base for pair in pairs]), side([pair.arm for pair in pairs])


def _changes(pairs: Sequence[_Pair], base: Side, arm: Side) -> list[Change]:
    """The changes of all parts; none of anything where the base stands beside itself."""
    if all(pair.base is pair.arm for pair in pairs):
        nothing = Change(value=0.0, low=None, high=None, p=None, surely=0.0)
        return [nothing] * len(base.counts)
    return changes(base, arm)


def _adjusted(sides: tuple[Side, Side], changes: Sequence[Change]) -> list[float | None]:
    """The q value of each part that has samples enough to be tested (Benjamini & Hochberg)."""
    seen = sides[0].counts.sum(axis=1) + sides[1].counts.sum(axis=1)
    enough = max(TESTED_MIN, TESTED_SHARE_MIN * sum(side.samples.sum() for side in sides))
    tested = [
        at for at, change in enumerate(changes) if seen[at] >= enough and change.p is not None
    ]
    qs = adjusted([p for at in tested if (p := changes[at].p) is not None])
    by_place = dict(zip(tested, qs, strict=True))
    return [by_place.get(at) for at in range(len(changes))]


def _difference(change: Change, blocks: int) -> Difference:
    return Difference(value=change.value, low=change.low, high=change.high, blocks=blocks)


def _window_us(seen: Sequence[_Seen]) -> float | None:
    """CPU for each operation in the profiled windows; None where one of them does not tell."""
    costs = [
        block.profile.cpu_us / block.profile.operations
        for block in seen
        if block.profile.cpu_us is not None and block.profile.operations
    ]
    return fmean(costs) if len(costs) == len(seen) else None


def _mean_stacks(seen: Sequence[_Seen]) -> dict[Stack, float]:
    """Microseconds for each operation by call stack, the mean of the blocks."""
    costs: dict[Stack, float] = {}
    for block in seen:
        each = block.cost / block.stacks.total() / len(seen)
        for stack, count in block.stacks.items():
            costs[stack] = costs.get(stack, 0.0) + count * each
    return costs
