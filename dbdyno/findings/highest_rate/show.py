"""The highest rate that keeps response times under the plan's limit, of each arm in each step."""

from collections.abc import Iterable

from dbdyno.model import Cell
from dbdyno.model.find import METRIC
from dbdyno.parts import cells, number
from dbdyno.parts.part import AnyPart, Section, Subject
from dbdyno.parts.table import Column, Row, Table, TableCell


def _parts(subject: Subject) -> Iterable[AnyPart]:
    """A table with a row for each arm in each step that was searched; none without a search."""
    steps = [step for step in subject.steps if any(METRIC in run.metrics for run in step.runs)]
    if not steps:
        return
    beside = len(subject.comparison.arms) > 1
    uses = (use for use in subject.comparison.plan.workloads if use.folder == steps[0].workload)
    limit_us = next((use.p99_below_us for use in uses), None)
    blocks = subject.comparison.blocks
    yield Table(
        name=f"{subject.anchor}-highest-rate",
        title=f"Highest rate with p99 < {number.time_us(limit_us)}",
        depth="brief",
        look="inline",
        entry="highest rate",
        columns=Column.heads(
            "arm",
            "operations/s",
            *((Column(text=f"{number.TIMES} {subject.base}"),) if beside else ()),
        ),
        rows=tuple(
            Row.of(*_cells(cell, beside), group=step.step, arm=cell.arm)
            for step in steps
            for cell in step.cells
        ),
        note=cells.sentences(
            "Operations arrive at random; windows after the step search the rate in each block.",
            cells.blocks_note(blocks),
            f"{number.TIMES}: paired by block, with the 95 % t interval." if beside else "",
        ),
    )


SECTION = Section("workload", _parts)


def _cells(result: Cell, beside: bool) -> Iterable[TableCell]:
    yield TableCell(text=result.arm)
    values = [run.metrics.get(METRIC) for run in result.runs]
    yield (
        cells.over_blocks(values, over="ratio")
        if any(values)
        else TableCell(text="none", tone="failed")
    )
    if beside:
        yield cells.paired_cell(result.estimates.get(METRIC))
