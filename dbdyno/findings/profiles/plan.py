"""What each function of a server costs for an operation, in each arm, and how it changed.

A function's cost in a block is its share of the profile's samples times the CPU of the whole server
for an operation in the judged window. So all functions together cost what the operation does, and
what profiling adds is in none of them. What is told of them is exploratory: a family of tests of
its own, which decides no verdict (docs/profiles.md).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from statistics import fmean
from typing import Literal

import numpy as np

from dbdyno.evidence.subsystems import BINARY, OTHER, Part, Subsystems, of_arm, part_of
from dbdyno.findings.plan_finding import JudgedResult, PlanFinding
from dbdyno.findings.profiles.facts import FunctionCost, ProfileComparison, ProfileFacts
from dbdyno.judge.step_cells import StepRow
from dbdyno.model import StepComparison, StepRun
from dbdyno.model.headlines import kind_of
from dbdyno.model.plan_record import PlanRecord
from dbdyno.model.profile import NO_SYMBOL, Profile, Stack
from dbdyno.stats.count_noise import ArmSamples, PartChange, changes
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

Kind = Literal["function", "subsystem"]

Tables = Callable[[str], Subsystems]
"""The subsystems of an arm."""


@dataclass(frozen=True, kw_only=True)
class _Tally:
    """Samples by part of the server."""

    own: Counter[Part]  # in the part itself
    whole: Counter[Part]  # in it or in what it calls


@dataclass(frozen=True, kw_only=True)
class _RunSamples:
    """The samples of a run."""

    run: StepRun
    profile: Profile
    cost: float  # microseconds of CPU for each operation in the judged window
    of: Mapping[Kind, _Tally]
    stacks: Counter[Stack]  # with functions as they are compared


@dataclass(frozen=True, kw_only=True)
class _ProfilePair:
    """The base and an arm in the same block."""

    base: _RunSamples
    arm: _RunSamples


def of_plan(compared: JudgedResult) -> ProfileFacts:
    """The profiles of each step side by side, as far as blocks have them."""
    return derived(compared.rows, compared.plan)


FINDING = PlanFinding(facts=ProfileFacts, of_plan=of_plan)


def derived(rows: Iterable[StepRow], plan: PlanRecord) -> ProfileFacts:
    """The profiles of these rows."""
    tables = cache(partial(of_arm, plan))
    return ProfileFacts(functions=tuple(each for row in rows for each in _of_row(row, tables)))


def _of_row(row: StepRow, tables: Tables) -> Iterator[ProfileComparison]:
    """Each arm of a step beside the base, as far as blocks have profiles of both.

    The base stands beside itself where it is the only arm.
    """
    base, *others = row.step.cells
    sides = [(row.faced[cell.arm].base_runs, row.faced[cell.arm].runs) for cell in others]
    sides = sides or [(base.runs, base.runs)]
    runs = {id(run): run for side in sides for some in side for run in some}
    seen = {key: _seen(run, tables) for key, run in runs.items()}
    for base_runs, arm_runs in sides:
        bases = {run.block: seen[id(run)] for run in base_runs}
        both = ((bases.get(run.block), seen[id(run)]) for run in arm_runs)
        pairs = [_ProfilePair(base=profile, arm=arm) for profile, arm in both if profile and arm]
        if pairs:
            yield _comparison(row.step, pairs, tables)


# --- The samples of a run --------------------------------------------------------------------


def _seen(run: StepRun, tables: Tables) -> _RunSamples | None:
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
    return _RunSamples(
        run=run,
        profile=profile,
        cost=cost,
        of={"function": functions, "subsystem": subsystems},
        stacks=stacks,
    )


def _count(tally: _Tally, own: Part, whole: Iterable[Part], samples: int) -> None:
    tally.own[own] += samples
    for part in whole:
        tally.whole[part] += samples


# --- An arm beside the base ------------------------------------------------------------------


def _comparison(
    step: StepComparison, pairs: Sequence[_ProfilePair], tables: Tables
) -> ProfileComparison:
    base, arm = [pair.base for pair in pairs], [pair.arm for pair in pairs]
    first, second = tables(base[0].run.arm), tables(arm[0].run.arm)
    functions = _costs(pairs, "function", lambda part: first.of(part) or second.of(part))
    subsystems = _costs(pairs, "subsystem", lambda part: part[0])
    order = (*dict.fromkeys((*first.names, *second.names)), OTHER)
    different = {id(seen): seen for seen in (*base, *arm)}.values()
    return ProfileComparison(
        workload=step.workload,
        ordinal=step.ordinal,
        step=step.step,
        unit=kind_of(step.headline).unit,
        arm=arm[0].run.arm,
        base=base[0].run.arm,
        blocks=len(pairs),
        base_us=fmean(seen.cost for seen in base),
        arm_us=fmean(seen.cost for seen in arm),
        base_window_us=_window_us(base),
        arm_window_us=_window_us(arm),
        samples=sum(seen.profile.samples for seen in different),
        costs=(*sorted(subsystems, key=lambda cost: order.index(cost.name)), *functions),
        base_stacks=_mean_stacks(base),
        arm_stacks=_mean_stacks(arm),
    )


def _costs(
    pairs: Sequence[_ProfilePair], kind: Kind, subsystem: Callable[[Part], str | None]
) -> list[FunctionCost]:
    """What each part costs, the surest change first, of what cannot be told the dearest."""
    both = [seen for pair in pairs for seen in (pair.base, pair.arm)]
    parts = sorted({part for seen in both for part in seen.of[kind].whole})
    own = _sides(pairs, parts, lambda seen: seen.of[kind].own)
    whole = _sides(pairs, parts, lambda seen: seen.of[kind].whole)
    own_changes, whole_changes = _changes(pairs, *own), _changes(pairs, *whole)
    qs = _adjusted(own, own_changes)
    means = [side.costs.mean(axis=1).tolist() for side in (*own, *whole)]
    costs = [
        FunctionCost(
            kind=kind,
            name=part[0],
            binary=part[1] or None,
            subsystem=subsystem(part),
            base_us=means[0][at],
            arm_us=means[1][at],
            more_us=own_changes[at].value,
            low_us=own_changes[at].low,
            high_us=own_changes[at].high,
            q=(q := qs[at]),
            changed=q is not None and q <= LEVEL,
            base_whole_us=means[2][at],
            arm_whole_us=means[3][at],
            more_whole_us=whole_changes[at].value,
            low_whole_us=whole_changes[at].low,
            high_whole_us=whole_changes[at].high,
        )
        for at, part in enumerate(parts)
    ]

    def surest(at: int) -> tuple[bool, float, float]:
        p = own_changes[at].p
        dearest = max(costs[at].base_us, costs[at].arm_us)
        return qs[at] is None, 1.0 if p is None else p, -(own_changes[at].surely or dearest)

    return [costs[at] for at in sorted(range(len(costs)), key=surest)]


def _sides(
    pairs: Sequence[_ProfilePair],
    parts: Sequence[Part],
    count: Callable[[_RunSamples], Counter[Part]],
) -> tuple[ArmSamples, ArmSamples]:
    """The samples of the parts in the base and in the arm."""

    def side(seen: Sequence[_RunSamples]) -> ArmSamples:
        columns = [[count(profile)[part] for part in parts] for profile in seen]
        return ArmSamples(
            counts=np.array(columns, dtype=float).T,
            samples=np.array([profile.stacks.total() for profile in seen], dtype=float),
            cost=np.array([profile.cost for profile in seen], dtype=float),
        )

    return side([pair.base for pair in pairs]), side([pair.arm for pair in pairs])


def _changes(pairs: Sequence[_ProfilePair], base: ArmSamples, arm: ArmSamples) -> list[PartChange]:
    """The changes of all parts; none of anything where the base stands beside itself."""
    if all(pair.base is pair.arm for pair in pairs):
        nothing = PartChange(value=0.0, low=None, high=None, p=None, surely=0.0)
        return [nothing] * len(base.counts)
    return changes(base, arm)


def _adjusted(
    sides: tuple[ArmSamples, ArmSamples], changes: Sequence[PartChange]
) -> list[float | None]:
    """The q value of each part that has samples enough to be tested (Benjamini & Hochberg)."""
    seen = sides[0].counts.sum(axis=1) + sides[1].counts.sum(axis=1)
    enough = max(TESTED_MIN, TESTED_SHARE_MIN * sum(side.samples.sum() for side in sides))
    tested = [
        at for at, change in enumerate(changes) if seen[at] >= enough and change.p is not None
    ]
    qs = adjusted([p for at in tested if (p := changes[at].p) is not None])
    by_place = dict(zip(tested, qs, strict=True))
    return [by_place.get(at) for at in range(len(changes))]


def _window_us(seen: Sequence[_RunSamples]) -> float | None:
    """CPU for each operation in the profiled windows; None where one of them does not tell."""
    costs = [
        block.profile.cpu_us / block.profile.operations
        for block in seen
        if block.profile.cpu_us is not None and block.profile.operations
    ]
    return fmean(costs) if len(costs) == len(seen) else None


def _mean_stacks(seen: Sequence[_RunSamples]) -> dict[Stack, float]:
    """Microseconds for each operation by call stack, the mean of the blocks."""
    costs: dict[Stack, float] = {}
    for block in seen:
        each = block.cost / block.stacks.total() / len(seen)
        for stack, count in block.stacks.items():
            costs[stack] = costs.get(stack, 0.0) + count * each
    return costs
