"""All arms side by side in each step, each beside the nearest base, paired by block."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.evidence import generator_limit
from dbdyno.judge import estimates, undisturbed
from dbdyno.judge.arm_vs_base import StepKey
from dbdyno.judge.arms_and_blocks import Arms
from dbdyno.judge.pairing import PairedRuns, facing
from dbdyno.model import Cell, StepComparison, StepRun, TargetFacts
from dbdyno.model.grouping import grouped
from dbdyno.model.metric.primary import LEDGER, SAMPLED, cpu_of
from dbdyno.model.plan_record import PlanRecord
from dbdyno.stats.fills import Units


@dataclass(frozen=True, kw_only=True)
class StepRow:
    """A step with all arms, and how each stands beside the base."""

    step: StepComparison  # nothing in it is judged
    faced: Mapping[str, PairedRuns]  # by arm, without the base
    units: Units | None = None  # what the tests count; None: blocks

    @property
    def where(self) -> StepKey:
        """Which step of which workload it is."""
        return StepKey(self.step.workload, self.step.ordinal, self.step.step)


def rows(
    plan: PlanRecord,
    arms: Arms,
    runs: Sequence[StepRun],
    units: Mapping[StepKey, Units] | None = None,
) -> tuple[StepRow, ...]:
    """The steps in the order in which they run, all arms in each.

    `units`: what the tests of a step count, where these are not blocks alone.
    """
    workloads = [use.folder for use in plan.workloads]

    def place(where: StepKey) -> tuple[int, StepKey]:
        known = where.workload in workloads
        return (workloads.index(where.workload) if known else len(workloads), where)

    by_step = grouped((StepKey.of(run), run) for run in runs)
    return tuple(
        row(where, arms, _with_whole_ledgers(by_step[where]), (units or {}).get(where))
        for where in sorted(by_step, key=place)
    )


def _with_whole_ledgers(runs: Sequence[StepRun]) -> Sequence[StepRun]:
    """The runs of a step; one that lacks parts that its arm has in others is without a ledger."""
    sampled = {
        run.arm for run in runs if any(run.metrics.get(name) is not None for name in SAMPLED)
    }
    unknown = dict.fromkeys(name for name in LEDGER if name != cpu_of(runs))
    return [
        replace(run, metrics={**run.metrics, **unknown})
        if run.arm in sampled and any(run.metrics.get(name) is None for name in SAMPLED)
        else run
        for run in runs
    ]


def row(where: StepKey, arms: Arms, runs: Sequence[StepRun], units: Units | None = None) -> StepRow:
    """A step with all arms, of these runs."""
    timed = undisturbed.of_step(runs, arms.base)
    runs = timed.runs
    by_arm = {arm: tuple(run for run in runs if run.arm == arm) for arm in arms.planned}
    bases = [run for arm in (arms.base, *arms.hidden_aa_arms) for run in by_arm[arm]]
    faced = {arm: facing(by_arm[arm], bases, units) for arm in arms.shown[1:]}
    cells = tuple(_cell(arm, by_arm[arm], faced.get(arm)) for arm in arms.shown)
    step = StepComparison(
        workload=where.workload,
        ordinal=where.ordinal,
        step=where.step,
        headline=runs[0].facts.headline,
        group=next((run.facts.group for run in runs if run.facts.group is not None), None),
        cells=cells,
        left_out=timed.left_out,
        modes=timed.modes,
    )
    return StepRow(step=estimates.with_figures(step, faced), faced=faced, units=units)


def _cell(arm: str, runs: tuple[StepRun, ...], faced: PairedRuns | None) -> Cell:
    """One arm in a step, without its figures; `faced` None: it is the base."""
    targets = any(run.facts.sla_target is not None for run in runs)
    return Cell(
        arm=arm,
        runs=runs,
        value=None,
        value_bound=generator_limit.value_bound(runs),
        time_bound=generator_limit.time_bound(runs),
        ratio=None,
        ratio_bound="exact"
        if faced is None
        else generator_limit.ratio_bound(faced.base_runs, runs),
        sla_met=sum(run.of(TargetFacts).met is True for run in runs) if targets else None,
        metrics={},
        estimates={},
    )
