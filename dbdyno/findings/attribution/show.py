"""Which factor makes two arms differ: a sentence for each step, and the effects with intervals."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dbdyno.findings.attribution.facts import AttributionFacts, FactorEffect
from dbdyno.model import Comparison, Ratio, StepComparison
from dbdyno.model.attribution import Design, DesignKind
from dbdyno.model.metric.primary import called
from dbdyno.parts import cells, number
from dbdyno.parts.part import AnyPart, Finding, Section, Text
from dbdyno.parts.table import Column, Row, Table, TableCell

NAMED_MAX = 4
"""So many factors without an effect that is told are named in a sentence, the others counted."""
TOLD = "*"
BY_DESIGN: Mapping[DesignKind, str] = {
    "one at a time": "Each effect is that of changing the factor after those above it; "
    "interactions are in it.",
    "factorial": "Effects are means over both values of every other factor. An interaction is what "
    "one factor adds to the effect of another.",
}
"""How effects are to be read."""
ByMetric = Mapping[str, Sequence[FactorEffect]]
"""The effects of a step, of each metric the whole first."""


def surest(by_metric: ByMetric) -> Sequence[FactorEffect]:
    """Of the first metric that tells a factor's effect from none, else of the headline."""
    of_metrics = list(by_metric.values())
    return next(
        (
            effects
            for effects in of_metrics
            if any(effect.significant for effect in effects if effect.kind == "effect")
        ),
        of_metrics[0],
    )


def sentence(step: StepComparison, effects: Sequence[FactorEffect]) -> str:
    """What each factor has of the whole change, the surest named as such."""
    whole, *_ = effects
    what = called(whole.metric)
    of_whole = "" if whole.ratio is None else f"of {what}'s {_change(whole.ratio)}, "
    return f"{step.step}: {of_whole}{_shares(effects, what)}."


def _shares(effects: Sequence[FactorEffect], what: str) -> str:
    """The effects in words: `a has throughput +0.1 % […], b the rest: throughput −12.1 % […]`."""
    known = {
        effect.factor: effect.ratio
        for effect in effects
        if effect.kind == "effect" and effect.ratio is not None
    }
    if not known:
        return "no block has the arms that tell the factors apart"
    significant = {effect.factor for effect in effects if effect.significant}
    names = sorted(known, key=lambda name: abs(math.log(known[name].value)), reverse=True)
    sure = [name for name in names if name in significant]
    others = [name for name in names if name not in significant]
    named = [f"`{name}` has {what} {_change(known[name])}" for name in others[:NAMED_MAX]]
    more = f" and {len(others) - NAMED_MAX} more" if len(others) > NAMED_MAX else ""
    left = any(effect.kind == "remainder" for effect in effects)
    if len(sure) == 1 and others and not left:
        return f"{', '.join(named)}{more}, `{sure[0]}` the rest: {what} {_change(known[sure[0]])}"
    if not sure:
        return f"no factor's effect is told from none: {', '.join(named)}{more}"
    said = ", ".join(f"`{name}` has {what} {_change(known[name])}" for name in sure)
    return said if not named else f"{said}; not told from none: {', '.join(named)}{more}"


def _change(ratio: Ratio) -> str:
    return number.unbroken(number.changes(ratio.value, ratio.low, ratio.high))


# --- Tables ----------------------------------------------------------------------------------


def table(facts: AttributionFacts, steps: Sequence[StepComparison], design: Design) -> Table:
    """A row for each factor of each step, and for what is of no single factor."""
    metrics = tuple(dict.fromkeys(called(effect.metric) for effect in facts.effects))
    several = len({step.workload for step in steps}) > 1
    blocks = max(effect.blocks for effect in facts.effects if effect.kind == "whole")
    return Table(
        name="attribution",
        title=f"What makes {design.arm} differ from {design.base}",
        depth="brief",
        entry="factors",
        columns=Column.heads("factor", *metrics),
        rows=tuple(
            row
            for step in steps
            for row in _rows(
                facts.of(step), metrics, f"{step.workload} {step.step}" if several else step.step
            )
        ),
        note=cells.sentences(
            BY_DESIGN[design.kind],
            "The remainder is what the effects lack of the whole."
            if any(effect.kind == "remainder" for effect in facts.effects)
            else "",
            f"With 95 % t intervals of {number.blocks(blocks)}." if blocks > 1 else "",
            f"{TOLD}: told from none; at most 5 % of these are expected to be none. "
            "Exploratory: no verdict uses them."
            if blocks > 1
            else "One block has no intervals.",
        ),
    )


def _rows(by_metric: ByMetric, metrics: Sequence[str], group: str) -> Iterable[Row]:
    """The whole, each factor, each interaction, and what is left."""
    figures = {
        called(metric): {_name(effect): _cell(effect) for effect in effects}
        for metric, effects in by_metric.items()
    }
    for name in dict.fromkeys(name for figure in figures.values() for name in figure):
        row = (figures.get(metric, {}).get(name, TableCell(text="")) for metric in metrics)
        yield Row.of(name, *row, group=group)


def _name(effect: FactorEffect) -> str:
    """The heading of its row: its factors, or which sum it is."""
    return f" {number.TIMES} ".join(filter(None, (effect.factor, effect.other))) or effect.kind


def _cell(effect: FactorEffect) -> TableCell:
    ratio = effect.ratio
    if ratio is None:
        return TableCell(text=number.MISSING, title="no block has all arms that tell it")
    mark = TOLD if effect.significant else ""
    return replace(cells.change_cell(ratio.value, ratio.low, ratio.high), mark=mark)


def factors(design: Design) -> Text:
    """The values of each factor, which beside the figures would not fit a terminal."""
    return Text(
        name="factors",
        title=f"Factors, from {design.base} to {design.arm}",
        depth="brief",
        items=tuple(
            Finding(text=f"{factor.name}: {factor.base} → {factor.arm}")
            for factor in design.factors
        ),
    )


def values(design: Design) -> Table:
    """Which arm has which factor as in the arm that is taken apart."""
    return Table(
        name="design",
        title="Design",
        depth="detail",
        columns=Column.heads("arm", *(factor.name for factor in design.factors)),
        rows=tuple(
            Row.of(arm, *("+" if value else number.MINUS for value in row), arm=arm)
            for arm, row in design.values.items()
        ),
        note=f"{number.MINUS}: as in {design.base}; +: as in {design.arm}.",
    )


def parts(comparison: Comparison) -> Iterable[AnyPart]:
    """Sentences, figures, the factors, the design; nothing without one."""
    design, facts = comparison.design, comparison.of(AttributionFacts)
    steps = [step for step in comparison.steps if facts.of(step)]
    if design is None or not steps:
        return
    sentences = (sentence(step, surest(facts.of(step))) for step in steps)
    yield Text(
        name="attributed",
        title="Which factor",
        depth="brief",
        items=Finding.each(sentences),
    )
    yield table(facts, steps, design)
    yield factors(design)
    yield values(design)


SECTION = Section("page", lambda subject: parts(subject.comparison))
