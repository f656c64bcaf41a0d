"""Which factor makes two arms differ: a sentence for each step, and the effects with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.model import Comparison, Ratio, StepComparison
from dbdyno.model.attribution import Attribution, Design, DesignKind, Effect
from dbdyno.model.metric.primary import called
from dbdyno.parts import cells, number
from dbdyno.parts.part import AnyPart, Column, Finding, Row, Section, Table, TableCell, Text

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


def surest(found: Sequence[Attribution]) -> Attribution:
    """The first metric that tells a factor's effect from none; where none does, the headline's."""
    return next(
        (one for one in found if any(effect.significant for effect in one.effects)), found[0]
    )


def sentence(step: StepComparison, told: Attribution) -> str:
    """What each factor has of the whole change, the surest named as such."""
    whole = "" if told.whole is None else f"of {called(told.metric)}'s {_change(told.whole)}, "
    return f"{step.step}: {whole}{_shares(told)}."


def _shares(told: Attribution) -> str:
    """The effects in words: `a has throughput +0.1 % […], b the rest: throughput −12.1 % […]`."""
    what = called(told.metric)
    known = sorted(
        (effect for effect in told.effects if effect.change is not None),
        key=lambda one: abs(math.log(one.change.value)) if one.change is not None else 0.0,
        reverse=True,
    )
    found = [one for one in known if one.significant]
    others = [one for one in known if not one.significant]
    if not known:
        return "no block has the arms that tell the factors apart"
    named = [_has(other, what) for other in others[:NAMED_MAX]]
    more = f" and {len(others) - NAMED_MAX} more" if len(others) > NAMED_MAX else ""
    if len(found) == 1 and others and told.remainder is None:
        (rest,) = found
        return f"{', '.join(named)}{more}, `{_name(rest)}` the rest: {what} {_amount(rest)}"
    if not found:
        return f"no factor's effect is told from none: {', '.join(named)}{more}"
    said = ", ".join(_has(effect, what) for effect in found)
    return said if not named else f"{said}; not told from none: {', '.join(named)}{more}"


def _has(effect: Effect, what: str) -> str:
    return f"`{_name(effect)}` has {what} {_amount(effect)}"


def _amount(one: Effect) -> str:
    assert one.change is not None, "only effects that are known are said"
    return _change(one.change)


def _change(ratio: Ratio) -> str:
    return number.unbroken(number.changes(ratio.value, ratio.low, ratio.high))


def _name(one: Effect) -> str:
    return f" {number.TIMES} ".join(one.factors)


# --- Tables ----------------------------------------------------------------------------------


def table(steps: Sequence[StepComparison], design: Design) -> Table:
    """A row for each factor of each step, and for what is of no single factor."""
    attributions = [attribution for step in steps for attribution in step.attributions]
    metrics = tuple(dict.fromkeys(called(attribution.metric) for attribution in attributions))
    several = len({step.workload for step in steps}) > 1
    blocks = max(
        (attribution.whole.blocks for attribution in attributions if attribution.whole is not None),
        default=0,
    )
    rows = (
        row
        for step in steps
        for row in _rows(step, metrics, f"{step.workload} {step.step}" if several else step.step)
    )
    return Table(
        name="attribution",
        title=f"What makes {design.arm} differ from {design.base}",
        depth="brief",
        entry="factors",
        columns=(Column(text="factor", left=True), *(Column(text=metric) for metric in metrics)),
        rows=tuple(rows),
        note=cells.sentences(
            BY_DESIGN[design.kind],
            "The remainder is what the effects lack of the whole."
            if any(attribution.remainder for attribution in attributions)
            else "",
            f"With 95 % t intervals of {number.blocks(blocks)}." if blocks > 1 else "",
            f"{TOLD}: told from none; at most 5 % of these are expected to be none. "
            "Exploratory: no verdict uses them."
            if blocks > 1
            else "One block has no intervals.",
        ),
    )


def _rows(step: StepComparison, metrics: Sequence[str], group: str) -> Iterable[Row]:
    """The whole, each factor, each interaction, and what is left."""
    figures = {
        called(attribution.metric): _figures(attribution) for attribution in step.attributions
    }
    for name in dict.fromkeys(name for figure in figures.values() for name in figure):
        its = (figures.get(metric, {}).get(name, TableCell(text="")) for metric in metrics)
        yield Row(cells=(TableCell(text=name), *its), group=group)


def _figures(one: Attribution) -> dict[str, TableCell]:
    """The figures of a metric by the heading of their row."""
    effects = (*one.effects, *one.interactions)
    return {
        "whole": _cell(one.whole),
        **{_name(effect): _cell(effect.change, found=effect.significant) for effect in effects},
        **({"remainder": _cell(one.remainder)} if one.remainder else {}),
    }


def _cell(ratio: Ratio | None, *, found: bool = False) -> TableCell:
    if ratio is None:
        return TableCell(text=number.MISSING, title="no block has all arms that tell it")
    ends = number.change_interval(ratio.low, ratio.high)
    return TableCell(
        text=number.change(ratio.value),
        mark=TOLD if found else "",
        detail=f"[{ends}]" if ends else "",
    )


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
        columns=(
            Column(text="arm", left=True),
            *(Column(text=factor.name) for factor in design.factors),
        ),
        rows=tuple(
            Row(
                cells=(
                    TableCell(text=arm),
                    *(TableCell(text="+" if value else number.MINUS) for value in its),
                ),
                arm=arm,
            )
            for arm, its in design.values.items()
        ),
        note=f"{number.MINUS}: as in {design.base}; +: as in {design.arm}.",
    )


def parts(comparison: Comparison) -> Iterable[AnyPart]:
    """Sentences, figures, the factors, the design; nothing without one."""
    design = comparison.design
    steps = [step for step in comparison.steps if step.attributions]
    if design is None or not steps:
        return
    yield Text(
        name="attributed",
        title="Which factor",
        depth="brief",
        items=tuple(Finding(text=sentence(step, surest(step.attributions))) for step in steps),
    )
    yield table(steps, design)
    yield factors(design)
    yield values(design)


SECTION = Section("page", lambda subject: parts(subject.comparison))
