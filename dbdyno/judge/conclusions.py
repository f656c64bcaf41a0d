"""The conclusions of a whole result: verdicts with causes, overall, the calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbdyno.judge import estimates, few_operations, nodes, plan_choice, witness
from dbdyno.judge.arm_vs_base import StepKey, contest
from dbdyno.judge.arms_and_blocks import Arms
from dbdyno.judge.calibration import calibration
from dbdyno.judge.explanation import explained
from dbdyno.judge.looks import ArmLooks
from dbdyno.judge.step_cells import StepRow
from dbdyno.judge.verdicts import FamilyVerdicts, costs, judge
from dbdyno.model import Cell, StepComparison
from dbdyno.model.headlines import kind_of
from dbdyno.model.nodes import NodeComparison
from dbdyno.model.query_change import PlanChange
from dbdyno.model.verdict import Aims, Calibration, Judgement, OverallRatio


@dataclass(frozen=True, kw_only=True)
class Conclusions:
    """The steps with their verdicts and reasons, and what is said beyond single steps."""

    steps: tuple[StepComparison, ...]
    overall: tuple[OverallRatio, ...] = ()
    calibration: Calibration | None = None


@dataclass(frozen=True, kw_only=True)
class Rules:
    """By what a result is judged."""

    aims: Aims
    sights: Mapping[str, ArmLooks]  # the looks at each arm
    minutes: float | None  # what a further block takes
    blocks_each: int | None  # of each comparison of a calibration; None: all blocks are one
    nodes: nodes.Nodes = field(default_factory=dict)  # of each block, if any has a name
    plans: Sequence[PlanChange] = ()  # of applications' queries


@dataclass(frozen=True, kw_only=True)
class _ArmConclusions:
    """The conclusions about one arm."""

    judged: FamilyVerdicts
    costs: Mapping[StepKey, Mapping[str, Judgement]]
    nodes: Mapping[StepKey, tuple[NodeComparison, ...]]


def conclude(rows: Sequence[StepRow], arms: Arms, rules: Rules) -> Conclusions:
    """All verdicts."""
    aims = rules.aims
    rows = plan_choice.checked(few_operations.checked(rows, aims))
    contests = {
        arm: [each for row in rows if (each := contest(row.where, row.faced[arm])) is not None]
        for arm in arms.shown[1:]
    }
    said = {
        arm: _ArmConclusions(
            judged=judge(
                arm,
                arm_contests,
                replace(aims, tolerate=None) if arm == arms.aa_arm else aims,
                rules.sights[arm],
                rules.minutes,
            ),
            costs=costs(arm_contests, aims),
            nodes=nodes.of_arm(arm_contests, rules.nodes, aims, (arms.base, arm)),
        )
        for arm, arm_contests in contests.items()
    }
    return Conclusions(
        steps=tuple(
            explained(_with_verdicts(row, said, aims), aims, _plans(row, rules)) for row in rows
        ),
        overall=tuple(whole for conclusion in said.values() for whole in conclusion.judged.overall),
        calibration=None
        if arms.aa_arm is None
        else calibration(arms.aa_arm, contests[arms.aa_arm], aims, blocks_each=rules.blocks_each),
    )


def _plans(row: StepRow, rules: Rules) -> dict[str, PlanChange]:
    """By arm the plan of the query that the step is."""
    own = (row.step.workload, row.step.step)
    return {
        change.place.arm: change
        for change in rules.plans
        if (change.place.workload, change.place.query) == own
    }


def _with_verdicts(row: StepRow, said: Mapping[str, _ArmConclusions], aims: Aims) -> StepComparison:
    base, *others = row.step.cells
    unit = kind_of(row.step.headline).unit
    judged = (_judged(cell, row.where, said[cell.arm], unit, aims) for cell in others)
    step = replace(row.step, cells=(base, *judged))
    return estimates.with_judged(step, row.faced)


def _judged(cell: Cell, where: StepKey, said: _ArmConclusions, unit: str, aims: Aims) -> Cell:
    """The cell with what is said of it; nothing of a step that is not judged."""
    verdict = said.judged.verdicts.get(where)
    if verdict is None:
        return cell
    judged = replace(
        cell,
        verdict=verdict,
        costs=said.costs[where],
        nodes=said.nodes.get(where, ()),
        tolerated=said.judged.tolerated.get(where),
    )
    return replace(judged, verdict=replace(verdict, witness=witness.words(judged, unit, aims)))
