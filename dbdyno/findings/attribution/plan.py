"""Which factor makes two arms differ: effects by contrasts within blocks, with their intervals.

Exploratory: the effects and interactions of a metric in a step are a family of their own, and no
verdict uses them. docs/attribute.md tells how to read them.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from dbdyno.findings.attribution.facts import AttributionFacts, FactorEffect
from dbdyno.findings.plan_finding import JudgedResult, PlanFinding
from dbdyno.judge.pairing import by_block
from dbdyno.model import StepComparison
from dbdyno.model.attribution import Design
from dbdyno.model.metric.primary import second_of
from dbdyno.stats import factorial, interval, significance

FALSE_SHARE_MAX = 0.05
"""Of the effects that are told from 1, at most this share is expected to be none."""

Logs = Mapping[str, Mapping[int, float]]
"""By arm and block the logarithm of a metric."""
Row = Callable[..., FactorEffect]
"""Makes a row of what it lacks: its step and metric are known."""


def of_plan(compared: JudgedResult) -> AttributionFacts:
    """What each factor does to the primary metrics of each measured step."""
    design = compared.plan.design
    if design is None:
        return AttributionFacts()
    return AttributionFacts(
        effects=tuple(effect for step in compared.steps for effect in _of_step(step, design))
    )


FINDING = PlanFinding(facts=AttributionFacts, of_plan=of_plan)


def _of_step(step: StepComparison, design: Design) -> Iterable[FactorEffect]:
    """The headline's, then that of the second quantity."""
    if step.headline is None or not step.measured:
        return
    for metric in dict.fromkeys((step.headline, second_of(step.cells))):
        row = partial(
            FactorEffect,
            workload=step.workload,
            ordinal=step.ordinal,
            step=step.step,
            metric=metric,
        )
        logs = _logs(step, metric)
        if logs:
            yield from effects(row, logs, design)


def _logs(step: StepComparison, metric: str) -> Logs:
    """Of each arm that has the metric above 0 in any block."""
    values = {cell.arm: by_block(cell.runs, metric) for cell in step.cells}
    by_arm = {
        arm: {block: math.log(value) for block, value in logs.items() if value > 0}
        for arm, logs in values.items()
    }
    return {arm: logs for arm, logs in by_arm.items() if logs}


def effects(row: Row, logs: Logs, design: Design) -> Iterable[FactorEffect]:
    """A metric's change taken apart by the contrasts of a design: the whole first.

    A remainder is left out where it is nothing by design.
    """
    names = [factor.name for factor in design.factors]
    whole = factorial.whole(design.base, design.arm)
    single = factorial.effects(design.values)
    contrasts = [*single, *factorial.interactions(design.values)]
    values = [_values(contrast.weights, logs) for contrast in contrasts]
    yield row(kind="whole", **_ratio(_values(whole, logs)))
    for contrast, value, q in zip(contrasts, values, _qs(values), strict=True):
        factor, *other = (names[place] for place in contrast.factors)
        yield row(
            kind="interaction" if other else "effect",
            factor=factor,
            other=other[0] if other else None,
            q=q,
            significant=q is not None and q <= FALSE_SHARE_MAX,
            **_ratio(value),
        )
    remainder = factorial.remainder(whole, [contrast.weights for contrast in single])
    left = _values(remainder, logs)
    if left:
        yield row(kind="remainder", **_ratio(left))


def _values(weights: factorial.Weights, logs: Logs) -> tuple[float, ...]:
    """The contrast of each block that has all its arms."""
    return tuple(factorial.by_block(weights, logs).values())


def _qs(values: Sequence[Sequence[float]]) -> list[float | None]:
    """The q of each contrast; None where fewer than two blocks have it."""
    ps = [significance.t_p(value) for value in values]
    qs = iter(significance.adjusted([p for p in ps if p is not None]))
    return [None if p is None else next(qs) for p in ps]


def _ratio(values: Sequence[float]) -> Mapping[str, Any]:
    """Their mean as a ratio with its interval, and of how many blocks; no ratio of none."""
    return {"ratio": interval.log_interval(values) if values else None, "blocks": len(values)}
