"""Which factor makes two arms differ: a sentence for each step, and the effects with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.model import Comparison, Ratio, StepComparison
from dbdyno.model.attribution import Attribution, Design, DesignKind, Effect
from dbdyno.model.metric.primary import called
from dbdyno.report import cells, number
from dbdyno.report.parts import AnyPart, Cell, Column, Finding, Row, Section, Subject, Table, Text

NAMED_MAX = 4
"""So many factors without an effect that is told are named in a sentence, the others counted."""
ALIASES_MAX = 3
TOLD = "*"
BY_DESIGN: Mapping[DesignKind, str] = {
    "one at a time": "Each effect is that of changing the factor after those above it; "
    "interactions are in it.",
    "factorial": "Effects are means over both values of every other factor. An interaction is what "
    "one factor adds to the effect of another.",
    "screening": "Effects are means over balanced arms. Half of each interaction under “or” is in "
    "the effect, too; a folded-over design parts them (`--fold`).",
    "folded": "Effects are means over balanced arms, and no interaction of two is in them. An "
    "interaction is what one factor adds to the effect of another; of those in a line only the sum "
    "is known.",
}
"""How effects are to be read."""


def surest(found: Sequence[Attribution]) -> Attribution:
    """The first metric that tells a factor's effect from none; where none does, the headline's."""
    return next((one for one in found if any(its.found for its in one.effects)), found[0])


def sentence(step: StepComparison, told: Attribution) -> str:
    """What each factor has of the whole change, the surest named as such."""
    known = [one for one in told.effects if one.change is not None]
    whole = "" if told.whole is None else f"of {called(told.metric)}'s {_change(told.whole)}, "
    return f"{step.step}: {whole}{_shares(known)}."


def _shares(known: Sequence[Effect]) -> str:
    """The effects in words: `a has +0.1 % […], b the rest, −12.1 % […]`."""
    found = sorted((one for one in known if one.found), key=_size, reverse=True)
    others = sorted((one for one in known if not one.found), key=_size, reverse=True)
    if not known:
        return "no block has the arms that tell the factors apart"
    named = [_has(one) for one in others[:NAMED_MAX]]
    more = f" and {len(others) - NAMED_MAX} more" if len(others) > NAMED_MAX else ""
    if len(found) == 1 and others:
        (rest,) = found
        return f"{', '.join(named)}{more}, `{_name(rest)}` the rest: {_amount(rest)}"
    if not found:
        return f"no factor's effect is told from none: {', '.join(named)}{more}"
    said = ", ".join(map(_has, found))
    return said if not named else f"{said}; not told from none: {', '.join(named)}{more}"


def _has(one: Effect) -> str:
    return f"`{_name(one)}` has {_amount(one)}"


def _amount(one: Effect) -> str:
    assert one.change is not None, "only effects that are known are said"
    return _change(one.change)


def _change(ratio: Ratio) -> str:
    return number.unbroken(number.changes(ratio.value, ratio.low, ratio.high))


def _size(one: Effect) -> float:
    return abs(math.log(one.change.value)) if one.change is not None else 0.0


def _name(one: Effect) -> str:
    return f" {number.TIMES} ".join(one.factors)


# --- Tables ----------------------------------------------------------------------------------


def table(steps: Sequence[StepComparison], design: Design) -> Table:
    """A row for each factor of each step, and for what is of no single factor."""
    values = {one.name: f"{one.base} → {one.arm}" for one in design.factors}
    columns = max((len(step.attributions) for step in steps), default=1)
    metrics = next(
        [called(one.metric) for one in step.attributions]
        for step in steps
        if len(step.attributions) == columns
    )
    several = len({step.workload for step in steps}) > 1
    rows = [
        row
        for step in steps
        for row in _rows(
            step, values, columns, f"{step.workload} {step.step}" if several else step.step
        )
    ]
    aliased = any(row.cells[-1].text for row in rows)
    blocks = max(
        (one.whole.blocks for step in steps for one in step.attributions if one.whole is not None),
        default=0,
    )
    return Table(
        name="attribution",
        title=f"What makes {design.arm} differ from {design.base}",
        level="brief",
        entry="factors",
        columns=(
            Column(text="factor", left=True),
            Column(text="values", left=True),
            *(Column(text=metric) for metric in metrics),
            *((Column(text="or", left=True),) if aliased else ()),
        ),
        rows=tuple(rows if aliased else map(_without_last, rows)),
        note=cells.sentences(
            BY_DESIGN[design.kind],
            "The remainder is what the effects lack of the whole."
            if any(one.remainder for step in steps for one in step.attributions)
            else "",
            f"With 95 % t intervals of {number.blocks(blocks)}." if blocks > 1 else "",
            f"{TOLD}: told from none; of these 5 % are expected to be false. Exploratory: no "
            "verdict uses them."
            if blocks > 1
            else "One block has no intervals.",
        ),
    )


def _without_last(row: Row) -> Row:
    return Row(cells=row.cells[:-1], group=row.group)


def _rows(
    step: StepComparison, values: Mapping[str, str], columns: int, group: str
) -> Iterable[Row]:
    """The whole, each factor, each interaction, and what is left."""
    its = step.attributions

    def row(name: str, value: str, figures: Sequence[Cell], aliases: str = "") -> Row:
        blank = [Cell(text="")] * (columns - len(figures))
        texts = (Cell(text=name), Cell(text=value), *figures, *blank, Cell(text=aliases))
        return Row(cells=texts, group=group)

    yield row("whole", "", [_cell(one.whole) for one in its])
    for effects in zip(*(one.effects for one in its), strict=True):
        first = effects[0]
        figures = [_cell(one.change, found=one.found) for one in effects]
        yield row(_name(first), values[first.factors[0]], figures, _aliases(first))
    for effects in zip(*(one.interactions for one in its), strict=True):
        figures = [_cell(one.change, found=one.found) for one in effects]
        yield row(_name(effects[0]), "interaction", figures, _aliases(effects[0]))
    if any(one.remainder for one in its):
        yield row("remainder", "", [_cell(one.remainder) for one in its])


def _cell(ratio: Ratio | None, *, found: bool = False) -> Cell:
    if ratio is None:
        return Cell(text=number.MISSING, title="no block has all arms that tell it")
    ends = number.change_interval(ratio.low, ratio.high)
    return Cell(
        text=number.change(ratio.value),
        mark=TOLD if found else "",
        detail=f"[{ends}]" if ends else "",
    )


def _aliases(one: Effect) -> str:
    """The interactions that the same arms tell with it."""
    names = [f" {number.TIMES} ".join(pair) for pair in one.aliases]
    if names:
        return number.few(names, ALIASES_MAX)
    return f"up to {one.partly:.0%} of any interaction".replace("%", " %") if one.partly else ""


def levels(design: Design) -> Table:
    """Which arm has which factor as in the arm that is taken apart."""
    return Table(
        name="design",
        title="Design",
        level="detail",
        columns=(
            Column(text="arm", left=True),
            *(Column(text=factor.name) for factor in design.factors),
        ),
        rows=tuple(
            Row(
                cells=(
                    Cell(text=arm),
                    *(Cell(text="+" if level else number.MINUS) for level in its),
                ),
                arm=arm,
            )
            for arm, its in design.levels.items()
        ),
        note=f"{number.MINUS}: as in {design.base}; +: as in {design.arm}.",
    )


def parts(comparison: Comparison) -> Iterable[AnyPart]:
    """Sentences, then figures, then the design; nothing without one."""
    design = comparison.design
    steps = [step for step in comparison.steps if step.attributions]
    if design is None or not steps:
        return
    yield Text(
        name="attributed",
        title="Which factor",
        level="brief",
        items=tuple(Finding(text=sentence(step, surest(step.attributions))) for step in steps),
    )
    yield table(steps, design)
    yield levels(design)


def _parts(subject: Subject) -> Iterable[AnyPart]:
    return parts(subject.comparison)


SECTION = Section("page", _parts)
