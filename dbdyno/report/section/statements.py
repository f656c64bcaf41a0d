"""The statements of a step, and its throughput counted in other ways."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from dbdyno.model import Cell, StatementUse, StepComparison, StepRun
from dbdyno.model.comparison import FOUND_MIN
from dbdyno.model.metric.over import taken
from dbdyno.parts import cells, number
from dbdyno.parts.colors import Tone
from dbdyno.parts.part import Column, Group, Row, Section, Subject, Table, TableCell
from dbdyno.report.section import outcomes

Rate = tuple[str, tuple[str, ...], str]
"""A heading, the metrics whose sum it is, and what it means."""

_RATES: tuple[Rate, ...] = (
    (
        "queries/s",
        ("statements_ps", "control_ps"),
        "as published: every statement, BEGIN, COMMIT and ROLLBACK included",
    ),
    ("statements/s", ("statements_ps",), "without BEGIN, COMMIT and ROLLBACK"),
    ("BEGIN, COMMIT/s", ("control_ps",), "BEGIN, COMMIT and ROLLBACK"),
    ("transactions/s", ("tps",), "operations of the role that the throughput counts"),
    ("rows/s", ("rows_ps",), "rows returned or affected"),
)
_SCAN: tuple[Rate, ...] = (
    ("rows/s", ("scan",), "rows of the tables that all clients scanned"),
    ("scans/s", ("tps",), "scans that all clients ended"),
    ("krows/s of a client", ("scan_krows_client",), "the published figure: thousands of rows"),
)


def tables(step: StepComparison, prefix: str) -> Iterable[Table]:
    """How operations ended; the throughput counted in other ways; each statement."""
    yield from outcomes.table(step, prefix)
    if step.headline == "scan":
        yield _rates(step, _SCAN, prefix, "A scan's throughput")
    elif any(result.metrics.get("control_ps") for result in step.cells):
        yield _rates(step, _RATES, prefix, "Queries and transactions")
    uses = dict.fromkeys(
        (use.role, use.name)
        for result in step.cells
        for run in result.runs
        for use in run.roles.statements
    )
    if uses:
        yield _statements(step, list(uses), prefix)


def _rates(step: StepComparison, shown: Sequence[Rate], prefix: str, title: str) -> Table:
    rows = tuple(
        Row(
            cells=(
                TableCell(text=result.arm),
                *(
                    cells.over_blocks(_sum(run, names) for run in result.runs)
                    for _, names, _ in shown
                ),
            ),
            arm=result.arm,
        )
        for result in step.cells
    )
    meanings = "; ".join(f"{text}: {what}" for text, _, what in shown)
    return Table(
        name=f"{prefix}-counted",
        title=title,
        columns=(
            Column(text="arm", left=True),
            *(Column(text=text, title=what) for text, _, what in shown),
        ),
        rows=rows,
        note=f"{meanings}. {_blocks(step)}".strip(),
    )


def _sum(run: StepRun, names: Iterable[str]) -> float | None:
    values = [run.metrics.get(name) for name in names]
    known = [value for value in values if value is not None]
    return math.fsum(known) if len(known) == len(values) else None


def _blocks(step: StepComparison) -> str:
    return cells.blocks_note(max((len(result.runs) for result in step.cells), default=0))


# --- Each statement --------------------------------------------------------------------------


_QUANTITIES: tuple[tuple[str, Callable[[StatementUse], float | None]], ...] = (
    ("per second", lambda use: use.per_s),
    ("rows/s", lambda use: use.rows_per_s),
)


def _statements(step: StepComparison, uses: Sequence[tuple[str, str]], prefix: str) -> Table:
    """A row for each statement, in the order of the job; roles by name where there are several."""
    several = len({role for role, _ in uses}) > 1
    rows = tuple(
        Row(
            cells=(
                TableCell(text=name),
                *(
                    TableCell(text=number.number(_mean(result, role, name, of)))
                    for _, of in _QUANTITIES
                    for result in step.cells
                ),
                *(_found(result, role, name) for result in step.cells),
            ),
            group=role if several else "",
        )
        for role, name in uses
    )
    columns = (
        Column(text="statement", left=True),
        *(Column(text=cell.arm, group=group) for group, _ in _QUANTITIES for cell in step.cells),
        *(Column(text=cell.arm, group="found a row, %") for cell in step.cells),
    )
    low = any(cell.tone == "notice" for row in rows for cell in row.cells)
    means = "" if not _blocks(step) else f" {cells.MEANS}."
    return Table(
        name=f"{prefix}-statements",
        title="Statements",
        columns=columns,
        rows=rows,
        colors=f"Bold: under {100 * FOUND_MIN:.0f} % found a row." if low else "",
        note="Executions without error in the window, rows that they returned or changed, and the "
        f"share that found any; blank for statements without rows.{means}",
    )


def _uses(result: Cell, role: str, name: str) -> list[StatementUse]:
    return [
        use
        for run in result.runs
        for use in run.roles.statements
        if (use.role, use.name) == (role, name)
    ]


def _mean(
    result: Cell, role: str, name: str, of: Callable[[StatementUse], float | None]
) -> float | None:
    values = [value for use in _uses(result, role, name) if (value := of(use)) is not None]
    return taken(values)


def _found(result: Cell, role: str, name: str) -> TableCell:
    share = _mean(result, role, name, lambda use: use.found)
    if share is None:
        return TableCell(text="")
    tone: Tone = "notice" if share < FOUND_MIN else ""
    return TableCell(text=number.number(100 * share, 1), tone=tone)


def _parts(subject: Subject) -> Iterable[Group]:
    found = tuple(tables(subject.step, subject.anchor))
    if found:
        yield Group(
            name=f"{subject.anchor}-statements-part",
            title="",
            parts=found,
            entry="statements",
            pair=True,
        )


SECTION = Section("step", _parts)
