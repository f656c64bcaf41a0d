"""The metrics that a step's workload defines, arm by arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dbdyno.model import Cell, StepComparison, ToldMetric
from dbdyno.report import cells, number
from dbdyno.report.parts import Column, Group, Row, Section, Subject, Table, TableCell


def table(step: StepComparison, base: str, prefix: str) -> Table | None:
    """A row for each metric, a column for each arm, then each arm by the base."""
    shown: dict[str, ToldMetric] = {}
    for result in step.cells:
        for run in result.runs:
            shown |= {name: one for name, one in run.told.items() if name not in shown}
    if not shown:
        return None
    first, *others = step.cells
    rows = tuple(
        Row(
            cells=(
                TableCell(text=one.title),
                *(_cell(result, name) for result in step.cells),
                *(TableCell(text=_by_base(result, first, name)) for result in others),
                TableCell(text=one.unit),
                TableCell(text=one.better or ""),
            )
        )
        for name, one in shown.items()
    )
    count = max(len(result.runs) for result in step.cells)
    return Table(
        name=f"{prefix}-told",
        title="What the step tells",
        columns=(
            Column(text="metric", left=True),
            *(Column(text=result.arm, arm=result.arm) for result in step.cells),
            *(Column(text=result.arm, group=f"by {base}", arm=result.arm) for result in others),
            Column(text="unit", left=True),
            Column(text="better", left=True, title="which way is better"),
        ),
        rows=rows,
        note=cells.sentences(
            "Values that the workload defines, read from what statements returned or asked of the "
            "server after the load, and imported metrics of a provider; no verdict uses them.",
            cells.blocks_note(count),
        ),
    )


def _values(result: Cell, name: str) -> list[float | str]:
    """The arm's values, block by block."""
    told = (run.told.get(name) for run in result.runs)
    return [one.value for one in told if one is not None and one.value is not None]


def _cell(result: Cell, name: str) -> TableCell:
    """The mean of numbers; of texts each that was told, the most frequent first."""
    values = _values(result, name)
    texts = [value for value in values if isinstance(value, str)]
    if not texts:
        return cells.over_blocks(value for value in values if not isinstance(value, str))
    counted = Counter(texts).most_common()
    if len(counted) == 1:
        return TableCell(text=texts[0])
    return TableCell(text=", ".join(f"{text} ({count})" for text, count in counted))


def _by_base(result: Cell, base: Cell, name: str) -> str:
    """The mean by that of the base; nothing of texts."""
    own, other = (
        [value for value in _values(one, name) if not isinstance(value, str)]
        for one in (result, base)
    )
    if not own or not other:
        return ""
    return number.ratio(cells.published_ratio(cells.mean(own), cells.mean(other)))


def _parts(subject: Subject) -> Iterable[Group]:
    found = table(subject.step, subject.base, subject.anchor)
    if found is not None:
        name = f"{subject.anchor}-told-part"
        yield Group(name=name, title="", parts=(found,), entry="told", pair=True)


SECTION = Section("step", _parts)
