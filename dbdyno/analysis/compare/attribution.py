"""Which factor makes two arms differ: effects by contrasts within blocks, with their intervals.

Exploratory: the effects and interactions of a metric in a step are a family of their own, and no
verdict uses them. docs/attribute.md tells how to read them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dbdyno.judge.pairing import by_block
from dbdyno.model import Ratio, StepComparison
from dbdyno.model.attribution import Attribution, Design, Effect
from dbdyno.model.metric.primary import cpu_of
from dbdyno.stats import factorial, interval, significance
from dbdyno.stats.factorial import Contrast, Weights

FALSE_SHARE_MAX = 0.05
"""Of the effects that are told from 1, at most this share is expected to be none."""

Logs = Mapping[str, Mapping[int, float]]
"""By arm and block the logarithm of a metric."""


def with_attributions(
    steps: Sequence[StepComparison], design: Design | None
) -> tuple[StepComparison, ...]:
    """The steps, each measured one with what each factor does to its primary metrics."""
    if design is None:
        return tuple(steps)
    effects = factorial.effects(design.values)
    interactions = factorial.interactions(design.values)
    return tuple(
        replace(step, attributions=tuple(_attributions(step, design, effects, interactions)))
        for step in steps
    )


def _attributions(
    step: StepComparison,
    design: Design,
    effects: Sequence[Contrast],
    interactions: Sequence[Contrast],
) -> Iterable[Attribution]:
    """The headline's, then that of CPU per operation."""
    if step.headline is None or not step.measured:
        return
    for metric in dict.fromkeys((step.headline, cpu_of(step.cells))):
        logs = _logs(step, metric)
        if logs:
            yield attribution(metric, logs, design, effects=effects, interactions=interactions)


def _logs(step: StepComparison, metric: str) -> Logs:
    """Of each arm that has the metric above 0 in any block."""
    values = {cell.arm: by_block(cell.runs, metric) for cell in step.cells}
    by_arm = {
        arm: {block: math.log(value) for block, value in logs.items() if value > 0}
        for arm, logs in values.items()
    }
    return {arm: logs for arm, logs in by_arm.items() if logs}


def attribution(
    metric: str,
    logs: Logs,
    design: Design,
    *,
    effects: Sequence[Contrast],
    interactions: Sequence[Contrast],
) -> Attribution:
    """The metric's change taken apart, by the contrasts of the design."""
    names = [factor.name for factor in design.factors]
    whole = factorial.whole(design.base, design.arm)
    remainder = factorial.remainder(whole, [effect.weights for effect in effects])
    contrasts = [*effects, *interactions]
    values = [_values(contrast.weights, logs) for contrast in contrasts]
    measured = tuple(
        Effect(
            factors=tuple(names[place] for place in contrast.factors),
            change=_ratio(value),
            q=q,
            significant=q is not None and q <= FALSE_SHARE_MAX,
        )
        for contrast, value, q in zip(contrasts, values, _qs(values), strict=True)
    )
    return Attribution(
        metric=metric,
        whole=_ratio(_values(whole, logs)),
        effects=measured[: len(effects)],
        interactions=measured[len(effects) :],
        remainder=_ratio(_values(remainder, logs)),
    )


def _values(weights: Weights, logs: Logs) -> tuple[float, ...]:
    """The contrast of each block that has all its arms."""
    return tuple(factorial.by_block(weights, logs).values())


def _qs(values: Sequence[Sequence[float]]) -> list[float | None]:
    """The q of each contrast; None where fewer than two blocks have it."""
    ps = [significance.t_p(value) for value in values]
    qs = iter(significance.adjusted([p for p in ps if p is not None]))
    return [None if p is None else next(qs) for p in ps]


def _ratio(values: Sequence[float]) -> Ratio | None:
    """Their mean as a ratio with its interval; None of none."""
    return interval.log_interval(values) if values else None
