"""Counts of work, read and compared: each step of each arm beside the base, by function."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from msgspec import UNSET

from dbdyno import store
from dbdyno.evidence import subsystems
from dbdyno.evidence.subsystems import BINARY, Subsystems
from dbdyno.findings.plan_finding import JudgedResult, PlanFinding
from dbdyno.findings.work import event_changes, fill_scatter
from dbdyno.model.count import Count, FunctionWork, counter_of
from dbdyno.model.count_storage import StorageWork
from dbdyno.model.engine import recorded
from dbdyno.model.host_facts import CountScatter
from dbdyno.model.plan_record import PlanRecord
from dbdyno.model.step import StepName
from dbdyno.model.work import Amounts, FunctionChange, WorkChange, WorkComparison
from dbdyno.stats import work as stats
from dbdyno.stats.work import CountSample, Scatter
from dbdyno.store import BlockFolder, Results, StepFolder

PART = "work"
"""The part of the pass whose blocks are the repeats."""
SHARE_LEAST, INSTRUCTIONS_LEAST = 0.0001, 5.0
"""A function changed that differs by this share of the operation and by so many instructions in
every repeat: of eight runs of four builds, no other function did (docs/method.md, "Counts")."""

Repeats = Mapping[str, Sequence[Count | str]]
"""By arm: the counts of each repeat, or why there are none."""


def of_plan(compared: JudgedResult) -> WorkComparison:
    """The counts of a result; no repeats where nothing was counted."""
    read = partial(load, compared.results, compared.arms.base)
    return compared.lost.usable(read) or WorkComparison()


FINDING = PlanFinding(facts=WorkComparison, of_plan=of_plan, before_verdicts=True)


def load(results: Results, base: str | None = None) -> WorkComparison:
    """The counts of a result folder; no repeats: none. Raises ResultError: damaged files."""
    blocks = repeats(results)
    if not blocks:
        return WorkComparison()
    counted = Results.open(store.count_folder(results.folder) / PART)
    plan, host = counted.plan, counted.host()
    calibration = host.counts if host is not None and host.counts is not UNSET else None
    base = base or plan.base
    arms = (base, *(arm.name for arm in plan.arms if arm.name != base))
    steps = read(blocks)
    counts = [count for step in steps.values() for of_arm in step.values() for count in of_arm]
    known = [count for count in counts if isinstance(count, Count)]
    if not known:
        return WorkComparison()
    ratios = {
        (step, arm): log_ratios(of_step, base, arm)
        for step, of_step in steps.items()
        for arm in arms[1:]
    }
    writing = {step for step, of_step in steps.items() if writes(of_step)}
    begun = fill_scatter.begun(blocks)
    scatters = {
        kept: known_scatter(calibration, writes=kept)
        or stats.pooled(
            [
                logs
                for (step, arm), logs in ratios.items()
                if (step in writing) == kept
                and not fill_scatter.apart(fill_scatter.own_fills(begun, step[0], base, arm))
            ]
        )
        for kept in (False, True)
    }
    beside = CountBase(base=base, plan=plan, repeats=len(blocks))
    samples = fill_scatter.samples(
        ratios, begun, base, {step: scatters[step in writing] for step in steps}, calibration
    )
    return WorkComparison(
        base=base,
        arms=arms,
        repeats=len(blocks),
        tool=counter_of(known),
        left_out=known[0].left_out,
        scatter=scatters[False].deviation,
        scatter_of_writes=scatters[True].deviation,
        calibration=calibration,
        parameters={} if results.plan.count is None else results.plan.count.parameters,
        changes=tuple(
            beside.change(step, arm, of_step, samples[step, arm])
            for step, of_step in steps.items()
            for arm in arms[1:]
        ),
    )


def repeats(results: Results) -> list[BlockFolder]:
    """The complete repeats of a result's pass of counts; none where it has none."""
    place = store.count_folder(results.folder) / PART
    if Results.begun_plan(place) is None:
        return []
    return [block for block in Results.open(place).blocks() if block.state == "done"]


def read(blocks: Sequence[BlockFolder]) -> dict[StepName, dict[str, list[Count | str]]]:
    """By step and arm: the counts of each complete repeat, or why there are none."""
    steps: dict[StepName, dict[str, list[Count | str]]] = defaultdict(lambda: defaultdict(list))
    for block in blocks:
        for run in block.runs():
            for folder in run.steps():
                step = folder.step()
                if step.measured:
                    steps[step.workload, step.name][run.arm].append(count_of(folder))
    return steps


def count_of(folder: StepFolder) -> Count | str:
    """The counts of a step of one run, or why there are none. Raises ResultError: damaged."""
    failure = folder.failed()
    if failure is not None:
        return failure.reason or "it failed"
    done = folder.done()
    totals = () if done is None else done.totals.values()
    if lost := sum((each.errors or 0) - (each.retries or 0) for each in totals):
        return f"{lost:,} operations failed"
    return folder.count() or "nothing was counted"


def known_scatter(calibration: CountScatter | None, *, writes: bool) -> Scatter | None:
    """The scatter by the host's calibration; None where it counted no such steps."""
    if calibration is None:
        return None
    deviation, freedom = calibration.deviation, calibration.freedom
    if writes:
        deviation, freedom = calibration.deviation_of_writes, calibration.freedom_of_writes
    return stats.calibrated(deviation, freedom) if freedom else None


def log_ratios(repeats: Repeats, base: str, arm: str) -> list[float]:
    """The log ratios of instructions, repeat by repeat, of those that both have."""
    pairs = zip(repeats.get(base, ()), repeats.get(arm, ()), strict=False)
    return [
        math.log(count.instructions / of_base.instructions)
        for of_base, count in pairs
        if isinstance(of_base, Count) and isinstance(count, Count)
    ]


@dataclass(frozen=True, kw_only=True)
class CountBase:
    """What an arm's counts are compared with."""

    base: str
    plan: PlanRecord
    repeats: int

    def change(self, step: StepName, arm: str, repeats: Repeats, sample: CountSample) -> WorkChange:
        """A step of an arm beside the base; `sample`: what its repeats say together."""
        row = WorkChange(
            workload=step[0], step=step[1], base=self.base, arm=arm, word="failed",
            repeats=self.repeats,
        )  # fmt: skip
        for name in (self.base, arm):
            failures = [repeat for repeat in repeats.get(name, ()) if isinstance(repeat, str)]
            if failures:
                return replace(row, reason=f"{name}: {failures[0]}", failed_arm=name)
        if not sample.ratios:
            return replace(row, reason="no repeat has both arms")
        of_base, of_arm = (
            [count for count in repeats[name] if isinstance(count, Count)]
            for name in (self.base, arm)
        )
        margin = of_base[0].margin
        said = stats.judged(sample, margin)
        changed = tuple(functions(of_base, of_arm, subsystems.of_arm(self.plan, arm)))
        return replace(
            row,
            word=said.word,
            reason=said.withheld,
            of_base=mean(of_base),
            of_arm=mean(of_arm),
            ratio=said.ratio,
            margin=margin,
            functions=changed,
            events=tuple(
                event_changes.changes(of_base, of_arm, changed, threads=self.threads(arm))
            ),
            operations=of_arm[0].operations,
            fills=sample.fills,
        )

    def threads(self, arm: str) -> bool:
        """Whether an arm's sessions are threads of one process."""
        record = self.plan.arm(arm)
        return record is not None and recorded(record.engine).threads


def writes(repeats: Repeats) -> bool:
    """Whether a counted step writes: its repeats scatter more than those of steps that read."""
    return any(isinstance(count, Count) and count.writes for of in repeats.values() for count in of)


def mean(counts: Sequence[Count]) -> Amounts:
    """The mean work over repeats, of log, pages and background what all of them tell."""
    background = mean_background([count.background for count in counts])
    return Amounts(
        instructions=math.fsum(count.instructions for count in counts) / len(counts),
        atomics=math.fsum(count.atomics for count in counts) / len(counts),
        system_calls=math.fsum(count.system_calls for count in counts) / len(counts),
        background=None if background is None else sum(background.values()),
        background_by_kind=background or {},
        **{
            name: of_all([getattr(count.storage, name) for count in counts])
            for name in StorageWork.__struct_fields__
        },
    )


def of_all(figures: Sequence[float | None]) -> float | None:
    """The mean; None where one is not told."""
    known = [figure for figure in figures if figure is not None]
    return math.fsum(known) / len(known) if len(known) == len(figures) else None


def mean_background(repeats: Sequence[Mapping[str, float] | None]) -> dict[str, float] | None:
    """The mean over repeats by kind; None where one does not tell."""
    known = [by_kind for by_kind in repeats if by_kind is not None]
    if len(known) < len(repeats):
        return None
    kinds = sorted({kind for by_kind in known for kind in by_kind})
    return {
        kind: math.fsum(by_kind.get(kind, 0.0) for by_kind in known) / len(known) for kind in kinds
    }


NOTHING = FunctionWork(function="", binary="", instructions=0.0, with_callees=0.0, calls=0.0)


def functions(
    base: Sequence[Count], arm: Sequence[Count], table: Subsystems
) -> Iterator[FunctionChange]:
    """The functions of either side, the largest change first."""
    of_base, of_arm = by_name(base), by_name(arm)
    of_arm = with_program(of_arm, program(of_base))
    least = max(
        INSTRUCTIONS_LEAST, SHARE_LEAST * min(count.instructions for count in (*base, *arm))
    )
    changes = []
    for name in of_base.keys() | of_arm.keys():
        before = of_base.get(name, [NOTHING] * len(base))
        after = of_arm.get(name, [NOTHING] * len(arm))
        lowest = min(work.instructions for work in after) - max(w.instructions for w in before)
        highest = max(work.instructions for work in after) - min(w.instructions for w in before)
        base_mean, arm_mean = mean_function(before), mean_function(after)
        changes.append(
            FunctionChange(
                function=name[0],
                binary=name[1],
                subsystem=table.of(name) or subsystems.OTHER,
                base_instructions=base_mean.instructions,
                arm_instructions=arm_mean.instructions,
                base_whole_instructions=base_mean.with_callees,
                arm_whole_instructions=arm_mean.with_callees,
                base_calls=base_mean.calls,
                arm_calls=arm_mean.calls,
                base_atomics=base_mean.atomics,
                arm_atomics=arm_mean.atomics,
                base_system_calls=base_mean.system_calls,
                arm_system_calls=arm_mean.system_calls,
                changed=lowest >= least or highest <= -least,
            )
        )
    # Equal changes by name, so that every reading has one order.
    yield from sorted(changes, key=lambda each: (-abs(each.change), each.function, each.binary))


def program(rows: Mapping[subsystems.Part, Sequence[FunctionWork]]) -> str:
    """The binary with the most instructions: the server's own program."""
    sums = defaultdict[str, float](float)
    for (_, binary), repeats in rows.items():
        sums[binary] += sum(work.instructions for work in repeats)
    return max(sums, key=lambda binary: sums[binary], default="")


def with_program(
    rows: dict[subsystems.Part, list[FunctionWork]], name: str
) -> dict[subsystems.Part, list[FunctionWork]]:
    """The rows with the server's program under another name: `mysqld` is `mariadbd` elsewhere."""
    own = program(rows)
    return {
        (function, name if binary == own else binary): repeats
        for (function, binary), repeats in rows.items()
    }


def mean_function(repeats: Sequence[FunctionWork]) -> FunctionWork:
    """A function's mean work over repeats."""

    def mean_of(figures: Iterable[float]) -> float:
        return math.fsum(figures) / len(repeats)

    return FunctionWork(
        function=repeats[0].function,
        binary=repeats[0].binary,
        instructions=mean_of(work.instructions for work in repeats),
        with_callees=mean_of(work.with_callees for work in repeats),
        calls=mean_of(work.calls for work in repeats),
        atomics=mean_of(work.atomics for work in repeats),
        system_calls=mean_of(work.system_calls for work in repeats),
    )


def by_name(counts: Sequence[Count]) -> dict[subsystems.Part, list[FunctionWork]]:
    """The functions of each repeat by name and binary, without what compilers add to names."""
    rows: dict[subsystems.Part, list[FunctionWork]] = {}
    for place, count in enumerate(counts):
        for work in count.functions:
            part = subsystems.part_of(f"{work.function}{BINARY}{work.binary}")
            row = rows.setdefault(part, [NOTHING] * len(counts))
            before = row[place]
            row[place] = FunctionWork(
                function=part[0],
                binary=part[1],
                instructions=before.instructions + work.instructions,
                with_callees=max(before.with_callees, work.with_callees),
                calls=before.calls + work.calls,
                atomics=before.atomics + work.atomics,
                system_calls=before.system_calls + work.system_calls,
            )
    return rows
