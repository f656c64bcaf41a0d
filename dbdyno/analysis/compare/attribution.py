"""Which factor makes two arms differ: effects by contrasts within blocks, with their intervals.

Exploratory: a step's effects and interactions are a family of their own, adjusted together, and no
verdict uses them. docs/attribute.md tells how to read them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dbdyno.analysis.compare.pairing import by_block
from dbdyno.model import Json, Ratio, StepComparison
from dbdyno.model.attribution import Attribution, Design, Effect, Factor
from dbdyno.model.metric.primary import cpu_of
from dbdyno.stats import factorial, interval, significance
from dbdyno.stats.factorial import Contrast, Weights

FALSE_SHARE_MAX = 0.05
"""Of the effects that are told from 1, at most this share is expected to be none."""

Logs = Mapping[str, Mapping[int, float]]
"""By arm and block the logarithm of a metric."""


def design_of(plan: Json) -> Design | None:
    """The design of a result's plan; None where it has none."""
    said = plan.get("attribute")
    if said is None:
        return None
    return Design(
        kind=said["kind"],
        base=said["base"],
        arm=said["arm"],
        factors=tuple(Factor(**factor) for factor in said["factors"]),
        levels={arm: tuple(levels) for arm, levels in said["levels"].items()},
    )


def with_attributions(
    steps: Sequence[StepComparison], design: Design | None
) -> tuple[StepComparison, ...]:
    """The steps, each measured one with what each factor does to its primary metrics."""
    if design is None:
        return tuple(steps)
    effects = factorial.effects(design.fitted)
    if design.kind == "one at a time":
        # An effect of a factor is told with those before it changed, which needs no list of pairs.
        effects = tuple(replace(one, aliases=(), partly=0.0) for one in effects)
    interactions = factorial.interactions(design.fitted)
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
    if step.headline is None or not any(
        run.facts.measured for cell in step.cells for run in cell.runs
    ):
        return
    for metric in dict.fromkeys((step.headline, cpu_of(step.cells))):
        logs = _logs(step, metric)
        if logs:
            yield attribution(metric, logs, design, effects=effects, interactions=interactions)


def _logs(step: StepComparison, metric: str) -> Logs:
    """Of each arm that has the metric above 0 in any block."""
    values = {cell.arm: by_block(cell.runs, metric) for cell in step.cells}
    found = {
        arm: {block: math.log(value) for block, value in its.items() if value > 0}
        for arm, its in values.items()
    }
    return {arm: its for arm, its in found.items() if its}


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
    remainder = factorial.remainder(whole, [one.weights for one in effects])
    its = [*effects, *interactions]
    values = [tuple(factorial.by_block(one.weights, logs).values()) for one in its]
    found = _judged([_effect(one, logs, names) for one in its], values)
    return Attribution(
        metric=metric,
        whole=_ratio(whole, logs),
        effects=tuple(found[: len(effects)]),
        interactions=tuple(found[len(effects) :]),
        remainder=_ratio(remainder, logs),
    )


def _effect(one: Contrast, logs: Logs, names: Sequence[str]) -> Effect:
    return Effect(
        factors=tuple(names[place] for place in one.factors),
        change=_ratio(one.weights, logs),
        aliases=tuple((names[first], names[second]) for first, second in one.aliases),
        partly=one.partly,
    )


def _judged(found: Sequence[Effect], values: Sequence[Sequence[float]]) -> list[Effect]:
    """The effects with their q values, of all that have a p."""
    ps = [significance.t_p(its) for its in values]
    known = [p for p in ps if p is not None]
    qs = iter(significance.adjusted(known))
    judged = [None if p is None else next(qs) for p in ps]
    return [
        replace(one, q=q, found=q is not None and q <= FALSE_SHARE_MAX)
        for one, q in zip(found, judged, strict=True)
    ]


def _ratio(weights: Weights, logs: Logs) -> Ratio | None:
    """The mean over the blocks that have all arms, as a ratio with its interval."""
    values = tuple(factorial.by_block(weights, logs).values())
    if not values:
        return None
    its = interval.log_interval(values)
    return Ratio(value=its.value, low=its.low, high=its.high, blocks=its.count)
