"""The same steps before and after the writes: what fragmentation costs."""

from collections.abc import Iterable, Mapping

from dbdyno.findings.step_pairs.facts import StepPair, StepPairFacts
from dbdyno.model import StepComparison
from dbdyno.parts import cells, number, step_groups
from dbdyno.parts.part import Section, Subject
from dbdyno.parts.table import Column, Row, Table, TableCell


def _parts(subject: Subject) -> Iterable[Table]:
    """Each step that ran before the writes, by arm: before, after, and after by before."""
    steps, blocks = subject.steps, subject.comparison.blocks
    before = [step for step in steps if step_groups.before_writes(step)]
    if not before:
        return
    twins = {step.step: step for step in steps}
    pairs = subject.comparison.of(StepPairFacts).of("post by pre", subject.workloads)
    ratios = {(pair.first_step, pair.arm): pair for pair in pairs}
    interval = f", with the 95 % t interval of {blocks} blocks" if blocks > 1 else ""
    rows = tuple(row for step in before for row in _rows(step, twins, ratios))
    yield Table(
        name=f"{subject.anchor}-fragmentation",
        title="The cost of fragmentation: before and after the writes",
        depth="brief",
        look="inline",
        entry="before and after the writes",
        columns=Column.heads("arm", "before", "after", "after / before"),
        rows=rows,
        note=cells.sentences(
            f"Throughput before and after the writes, and their ratio{interval}: below 1, the "
            "writes made the tables slower to read.",
            cells.legend(rows, cells.INCOMPLETE_MARK),
        ),
    )


def _rows(
    step: StepComparison,
    twins: Mapping[str, StepComparison],
    ratios: Mapping[tuple[str, str], StepPair],
) -> Iterable[Row]:
    name = step.step.replace(step_groups.PRE, "", 1)
    after = twins.get(name)
    for place, result in enumerate(step.cells):
        twin = after.cells[place] if after is not None else None
        pair = ratios.get((step.step, result.arm))
        yield Row.of(
            result.arm,
            cells.absolute_cell(result, ""),
            TableCell(text="not run", tone="failed")
            if twin is None
            else cells.absolute_cell(twin, ""),
            TableCell(text=number.MISSING)
            if twin is None or pair is None or pair.ratio is None
            else cells.quotient_cell(pair.ratio, result, twin),
            group=name,
            arm=result.arm,
        )


SECTION = Section("workload", _parts)
