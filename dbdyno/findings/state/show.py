"""The database before and after a step, and what the step left for later, in words."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from dbdyno.model import Cell, StepComparison
from dbdyno.model.metric.over import taken
from dbdyno.model.metric.state import STATES, StateFacts, StateMetric, by_name
from dbdyno.parts import cells, number
from dbdyno.parts.part import Group, Section
from dbdyno.parts.table import Column, Row, Table, TableCell

_GROUPS: Mapping[str, str] = {  # by the unit of a quantity; debt has a group of its own
    "bytes": "Size",
    "rows": "Rows",
    "%": "Rows",
}
_DEBT = "Still to be done"
_MOMENTS = ("before", "after")
_ORDER = ("Size", "Rows", _DEBT)


def words(name: str, value: float | None) -> str:
    """A value with its unit as a reader wants it: 3.42 GiB, 0.52 %, 214,880."""
    unit = by_name(name).unit
    if unit == "bytes":
        return number.size_bytes(value)
    if unit == "%":
        return number.MISSING if value is None else f"{number.number(value, 1)} %"
    return number.number(value, 0)


_UNDONE: tuple[tuple[str, str], ...] = (
    ("dead_rows", "dead rows"),
    ("dirty_bytes", "not yet written from the buffers"),
    ("wal_since_checkpoint_bytes", "of WAL since the last checkpoint"),
    ("vacuum_due_tables", "due for vacuum"),
)


def tables(step: StepComparison, prefix: str) -> Iterable[Table]:
    """One table: each quantity before and after, by arm; its note says what was left undone."""
    known = {state.name for facts in step.each(StateFacts) for state in facts.states}
    shown = [row for row in STATES if row.name in known]
    if not shown:
        return
    shown.sort(key=lambda row: _ORDER.index(_group(row)))
    rows = tuple(
        Row.of(
            TableCell(text=row.title, title=f"{row.name}: {row.how}"),
            *(_cell(cell, when, row.name) for cell in step.cells for when in _MOMENTS),
            group=_group(row),
        )
        for row in shown
    )
    columns = Column.heads(
        "", *(Column(text=when, group=result.arm) for result in step.cells for when in _MOMENTS)
    )
    left = " ".join(text for result in step.cells if (text := undone(result)))
    means = "Means of the blocks." if step.blocks > 1 else ""
    yield Table(
        name=f"{prefix}-before-after",
        title="State before and after",
        depth="detail",
        lead="State after",
        columns=columns,
        rows=rows,
        note=" ".join(part for part in (left, means) if part),
    )


def undone(result: Cell) -> str:
    """An arm's debt after the step, in a sentence; nothing if unknown."""
    after = [run.of(StateFacts).at("after") for run in result.runs]
    known = [(name, what, taken(state.get(name) for state in after)) for name, what in _UNDONE]
    parts = [_left(name, value, what) for name, what, value in known if value]
    if not any(value is not None for _, _, value in known):
        return ""
    if not parts:
        return f"{result.arm} left nothing undone."
    return f"{result.arm} left {', '.join(parts)}."


def _left(name: str, value: float, what: str) -> str:
    """An amount of work left, such as "214,880 dead rows"."""
    if name == "vacuum_due_tables":
        digits = 0 if value.is_integer() else 1  # the mean of the blocks
        return f"{number.number(value, digits)} table{'' if value == 1 else 's'} {what}"
    return f"{words(name, value)} {what}"


def _group(row: StateMetric) -> str:
    return _DEBT if row.debt else _GROUPS.get(row.unit, "Rows")


def _cell(cell: Cell, moment: str, name: str) -> TableCell:
    blocks = (facts.at(moment).get(name) for facts in cell.each(StateFacts))
    return replace(cells.over_blocks(blocks, partial(words, name)), detail="")


SECTION = Section.grouped(
    "step",
    lambda subject: tables(subject.step, subject.anchor),
    Group(name="-state", entry="state", pair=True),
)
