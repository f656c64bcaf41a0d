"""The throughput of a step to scale: a bar for each arm, each block's own value beside it."""

from collections.abc import Iterable, Sequence

from dbdyno.findings.outcomes.facts import throughput
from dbdyno.model import Cell, StepComparison
from dbdyno.parts import cells, number
from dbdyno.parts.drawing import Bar, Bars
from dbdyno.parts.part import Chart, Section, Subject


def _parts(subject: Subject) -> Iterable[Chart]:
    drawn = tuple(bars(subject.step, subject.base))
    if drawn:
        title = cells.capitalized(throughput(subject.step))
        words = (" ".join(filter(None, (bar.arm, bar.text, bar.detail))) for bar in drawn)
        yield Chart(
            name=f"{subject.anchor}-throughput",
            title=title,
            describe=f"{title}: {'; '.join(words)}",
            of=subject.step.step,
            note=_note(drawn),
            data=Bars(bars=drawn),
        )


SECTION = Section("step", _parts)


def _note(bars: Sequence[Bar]) -> str:
    """Explains the chart's marks beside its bars."""
    notes = ["From zero."]
    if any(len(bar.blocks) > 1 for bar in bars):
        notes = ["From zero: the mean of the blocks, and an upright line for each."]
    if any(bar.ratio is not None and bar.ratio.low is not None for bar in bars):
        notes.append("Thick line: the 95 % interval of the ratio to the base; thin line: the base.")
    return " ".join(notes)


def bars(step: StepComparison, base: str) -> Iterable[Bar]:
    """Throughput to scale, from zero; each block's own value beside the mean."""
    if step.headline is None:
        return
    values = {
        cell.arm: [
            value
            for run in cell.runs
            if (value := run.metrics.get(run.facts.headline or "")) is not None
        ]
        for cell in step.cells
    }
    means = [result.value for result in step.cells if result.value is not None]
    largest = max([*means, *(value for some in values.values() for value in some)], default=0.0)
    for result in step.cells:
        cell = cells.absolute_cell(result, "gray" if cells.missed_target(result) else "")
        drawn = result.value is not None and largest > 0
        yield Bar(
            arm=result.arm,
            text=cell.text + cell.mark,
            share=(result.value or 0.0) / largest if drawn else None,
            blocks=tuple(value / largest for value in values[result.arm]) if drawn else (),
            detail=_bar_detail(result, base),
            ratio=None if result.arm == base else result.ratio,
            tone=cell.tone,
            title=cell.title,
        )


def _bar_detail(result: Cell, base: str) -> str:
    ratio = result.ratio
    if result.arm == base or ratio is None:
        return ""
    spread = cells.ratio_detail(result, 3)
    text = cells.signed(f"{number.TIMES} {number.ratio(ratio.value, 3)}", result.ratio_bound)
    return f"{text} ({spread})" if spread else text
