"""The statements of a step, and its throughput counted in other ways."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dbdyno.findings.statements.facts import StatementFacts, StatementUse
from dbdyno.model import Cell, StepComparison, StepRun
from dbdyno.model.comparison import FOUND_MIN
from dbdyno.model.metric.over import over_of
from dbdyno.parts import cells, number
from dbdyno.parts.grid import Grid, GridFigure
from dbdyno.parts.part import Group, Section
from dbdyno.parts.table import Column, Row, Table, TableCell

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
    """The throughput counted in other ways; each statement."""
    if step.headline == "scan":
        yield _rates(step, _SCAN, prefix, "A scan's throughput")
    elif any(result.metrics.get("control_ps") for result in step.cells):
        yield _rates(step, _RATES, prefix, "Queries and transactions")
    if any(facts.statements for facts in step.each(StatementFacts)):
        yield _statements(step, prefix)


def _rates(step: StepComparison, shown: Sequence[Rate], prefix: str, title: str) -> Table:
    rows = tuple(
        Row.of(result.arm, *(_rate(step, result, names) for _, names, _ in shown), arm=result.arm)
        for result in step.cells
    )
    meanings = "; ".join(f"{text}: {what}" for text, _, what in shown)
    return Table(
        name=f"{prefix}-counted",
        title=title,
        columns=Column.heads("arm", *(Column(text=text, title=what) for text, _, what in shown)),
        rows=rows,
        note=f"{meanings}. {cells.blocks_note(step.blocks)}".strip(),
    )


def _rate(step: StepComparison, cell: Cell, names: Iterable[str]) -> TableCell:
    """The sum of metrics over the blocks, taken as they are."""
    over = over_of(_sum(run, names) for run in step.runs)
    return cells.over_blocks((_sum(run, names) for run in cell.runs), over=over)


def _sum(run: StepRun, names: Iterable[str]) -> float | None:
    values = [run.metrics.get(name) for name in names]
    known = [value for value in values if value is not None]
    return math.fsum(known) if len(known) == len(values) else None


# --- Each statement --------------------------------------------------------------------------


_STATEMENTS: Grid[StatementUse] = Grid(
    heading="statement",
    things=lambda run: run.of(StatementFacts).statements,
    key=lambda use: (use.role, use.name),
    figures=(
        GridFigure(heading="per second", of=lambda use: use.per_s),
        GridFigure(heading="rows/s", of=lambda use: use.rows_per_s),
        GridFigure(
            heading="found a row, %",
            of=lambda use: use.found,
            words=lambda share: number.number(100 * share, 1),
            tone=lambda share: "notice" if share < FOUND_MIN else "",
        ),
    ),
)


def _statements(step: StepComparison, prefix: str) -> Table:
    """A row for each statement, in the order of the job."""
    table = _STATEMENTS.table(step, name=f"{prefix}-statements", title="Statements")
    low = any(cell.tone == "notice" for row in table.rows for cell in row.cells)
    return replace(
        table,
        colors=f"Bold: under {100 * FOUND_MIN:.0f} % found a row." if low else "",
        note=cells.sentences(
            "Executions without error in the window, rows that they returned or changed, and the "
            "share that found any; blank for statements without rows.",
            f"{cells.MEANS}." if step.blocks > 1 else "",
        ),
    )


SECTION = Section.grouped(
    "step",
    lambda subject: tables(subject.step, subject.anchor),
    Group(name="-statements-part", entry="statements", pair=True),
)
