"""A comparison as JSON for programs: `dyno compare DIR --json`. docs/compare.md has every key.

The form is numbered: within a number keys may be added, and none goes away or changes its meaning.
It leaves out what belongs to single runs; the result folder and `dyno export` have that.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from msgspec import to_builtins

from dbdyno import __version__
from dbdyno.findings.application.show import ApplicationAnswer
from dbdyno.model import Cell, Comparison, Json, StepComparison
from dbdyno.model.grouping import grouped
from dbdyno.model.looks import LookProgress
from dbdyno.model.metric.primary import second_of
from dbdyno.model.verdict import Explanation, Judgement, OverallRatio
from dbdyno.model.work import WorkComparison
from dbdyno.parts import tolerate
from dbdyno.report.estimate_form import of_estimate, of_judgement
from dbdyno.report.export import derived

FORMAT = 6
"""Counts up when a key goes away or changes its meaning."""

UNCHANGED, SUBSYSTEM = {("changed", False)}, {("kind", "subsystem")}
"""What rows of functions and subsystems have."""


def render(comparison: Comparison) -> str:
    """The comparison as JSON text; it has no NaN and no infinity."""
    return json.dumps(form(comparison), indent=1, ensure_ascii=False, allow_nan=False)


def form(comparison: Comparison) -> Json:
    """The same as plain values. What is not known, or infinite, is None."""
    plan, work, looked = comparison.plan, comparison.of(WorkComparison), comparison.looked
    by_node = grouped((node, block) for block, node in comparison.nodes.items())
    found = {
        "format": FORMAT,
        "dyno": __version__,
        "title": comparison.title,
        "label": comparison.label,
        "plan": plan.name,
        "base": comparison.base,
        "arms": comparison.arms,
        "ghost": aa_arm(comparison),
        "blocks": comparison.blocks,
        "unverified": comparison.unverified,
        "nodes": [{"node": node, "blocks": blocks} for node, blocks in by_node.items()],
        "aims": asdict(comparison.aims),
        "tolerate": tolerate.document(comparison),
        "looks": _looks(looked) if looked else None,
        "calibration": asdict(comparison.calibration) if comparison.calibration else None,
        "design": comparison.design.written if comparison.design else None,
        "overall": [_overall(one) for one in comparison.overall],
        "steps": [_step(step) for step in comparison.steps],
        "work": of_work(work) if work.repeats else None,
        "applications": [
            {
                "workload": result.workload,
                "arm": result.arm,
                "answer": ApplicationAnswer(comparison, result).sentence,
            }
            for result in comparison.applications
        ],
        "tables": by_table(derived.of_comparison(comparison)),
        "doubts": [
            {**to_builtins(group), "grade": group.subject.grade} for group in comparison.doubts
        ],
        "incomplete": comparison.incomplete,
    }
    return {key: _finite(value) for key, value in found.items()}


def of_work(work: WorkComparison) -> Json:
    """How the work of operations was counted; its figures are in tables."""
    return {
        "repeats": work.repeats,
        "tool": work.tool,
        "left_out": work.left_out,
        "scatter": work.scatter,
        "scatter_of_writes": work.scatter_of_writes,
        "calibration": work.calibration and to_builtins(work.calibration),
    }


def of_commit(work: WorkComparison) -> Json:
    """The counts of a commit beside those of the one before it, with their tables."""
    return of_work(work) | {"tables": by_table(derived.rows(work))}


def by_table(rows: Iterable[tuple[str, Json]]) -> dict[str, list[Json]]:
    """The rows of findings by their tables, without functions that did not change.

    Exports alone have these: a server has thousands.
    """
    return grouped(
        (table, row)
        for table, row in rows
        if not row.items() >= UNCHANGED or row.items() >= SUBSYSTEM
    )


def aa_arm(comparison: Comparison) -> str | None:
    """The A/A arm that is shown; None where the plan has none."""
    same = {arm.name for arm in comparison.plan.arms if arm.same_as}
    return next((arm for arm in comparison.arms if arm in same), None)


def _finite(value: Any) -> Any:
    """The value with None for every number that JSON has no word for, and lists for tuples."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value


# --- Steps -----------------------------------------------------------------------------------


def _step(step: StepComparison) -> Json:
    base, *others = step.cells
    return {
        "workload": step.workload,
        "ordinal": step.ordinal,
        "step": step.step,
        "group": step.group,
        "headline": step.headline,
        "base_values": {name: base.metrics[name] for name in _known(step, [base])},
        "arms": [_arm(step, cell, base) for cell in others],
        "limited": {
            cell.arm: reasons
            for cell in step.cells
            if (
                reasons := list(
                    dict.fromkeys(
                        reason for run in cell.runs for reason in run.window.limited or ()
                    )
                )
            )
        },
        "tables": by_table(
            (table, {"arm": run.arm, "block": run.block} | row)
            for run in step.runs
            for table, row in derived.of_run(run)
        ),
    }


def _arm(step: StepComparison, cell: Cell, base: Cell) -> Json:
    verdict = cell.verdict
    judgements = dict(cell.costs)
    if verdict is not None:
        judgements |= {judgement.metric: judgement for judgement in verdict.judgements}
    metrics: Json = {}
    for name in _known(step, [cell, base]):
        metrics[name] = {
            "primary": name in _primary(step),
            "value": cell.metrics.get(name),
            "base": base.metrics.get(name),
            **of_estimate(cell.estimates.get(name)),
            **_judged(judgements.get(name)),
        }
    return {
        "arm": cell.arm,
        "verdict": verdict.word if verdict else None,
        "within_margin": verdict.within_margin if verdict else None,
        "reason": verdict.reason if verdict else None,
        "by": verdict.by if verdict else (),
        "against": verdict.against if verdict else (),
        "outcome": verdict.outcome if verdict else "",
        "metrics": metrics,
        "findings": [_finding(cell.explanation)] if cell.explanation else [],
    }


def _primary(step: StepComparison) -> tuple[str, ...]:
    """The metrics by which the step is judged."""
    return () if step.headline is None else (step.headline, second_of(step.cells))


def _known(step: StepComparison, cells: Iterable[Cell]) -> list[str]:
    """The metrics of which one of the cells has a value, those first that judge."""
    names = dict.fromkeys(_primary(step))
    names |= dict.fromkeys(name for cell in cells for name in cell.metrics)
    return [name for name in names if any(cell.metrics.get(name) is not None for cell in cells)]


def _finding(explanation: Explanation) -> Json:
    return {
        "text": explanation.text,
        "explained": explanation.explained,
        "causes": [{"metric": cause.metric, "words": cause.words} for cause in explanation.causes],
        "unchanged": explanation.unchanged,
    }


# --- What is said of a metric ----------------------------------------------------------------


def _judged(one: Judgement | None) -> Json:
    dependence = one.dependence if one else None
    return of_judgement(one) | {"dependence": asdict(dependence) if dependence else None}


def _looks(looked: LookProgress) -> Json:
    """Which looks the result has: those that were taken, and the next one."""
    taken, coming = to_builtins(looked.taken), to_builtins(looked.coming)
    return asdict(looked.looks) | {"taken": taken, "coming": coming}


def _overall(one: OverallRatio) -> Json:
    where = {"arm": one.arm, "workload": one.workload, "steps": one.steps}
    return {
        **where,
        "metric": one.judgement.metric,
        **of_estimate(one.judgement.estimate),
        **_judged(one.judgement),
    }
