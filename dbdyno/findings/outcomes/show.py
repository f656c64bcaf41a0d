"""How the operations of a step ended, by name: what completed apart from what rolled back."""

from collections.abc import Iterable
from dataclasses import replace

from dbdyno.findings.outcomes.facts import OutcomeFacts, Outcomes, named, outcomes_of
from dbdyno.findings.statements.facts import StatementFacts
from dbdyno.parts import cells
from dbdyno.parts.grid import Grid, GridFigure
from dbdyno.parts.part import Section, Subject
from dbdyno.parts.table import Table

_OPERATIONS: Grid[Outcomes] = Grid(
    heading="operation",
    things=lambda run: run.of(OutcomeFacts).outcomes,
    key=lambda ended: (ended.role, ended.name),
    figures=(
        GridFigure(heading="completed", of=lambda ended: ended.completed),
        GridFigure(heading="rolled back", of=lambda ended: ended.rolled_back),
        GridFigure(heading="failed", of=lambda ended: ended.failed),
        GridFigure(heading="tried again", of=lambda ended: ended.retried),
    ),
)


def _parts(subject: Subject) -> Iterable[Table]:
    """A row for each operation, beside the statements; nothing where all completed or failed."""
    step = subject.step
    table = _OPERATIONS.table(step, name=f"{subject.anchor}-outcomes", title="Operations")
    if table.rows:
        beside = any(facts.statements for facts in step.each(StatementFacts))
        joins = f"{subject.anchor}-statements-part" if beside else ""
        counted = ", ".join(named(outcomes_of(step)))
        note = cells.sentences(
            "Whole operations in the window; what rolled back was to do so, and is no error.",
            f"The throughput counts what completed of {counted}." if counted else "",
            f"{cells.MEANS}." if step.blocks > 1 else "",
        )
        yield replace(table, note=note, joins=joins)


SECTION = Section("step", _parts)
