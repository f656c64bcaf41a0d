"""Derives what each statement of a step did, from the counts of its seconds."""

from collections.abc import Iterable, Sequence

from dbdyno.evidence.evidence import Evidence
from dbdyno.findings.finding import StepFinding
from dbdyno.findings.statements.facts import StatementFacts, StatementUse
from dbdyno.model.events import TickPart
from dbdyno.model.job import is_control
from dbdyno.model.job.statements import Statement
from dbdyno.stats import amounts


def of_step(evidence: Evidence) -> StatementFacts:
    """Of each role in the job's order, each in the job's order; none without a window."""
    seconds = evidence.load.seconds
    return StatementFacts(statements=tuple(_statements(evidence, seconds)) if seconds else ())


FINDING = StepFinding(facts=StatementFacts, of_step=of_step)


def _statements(evidence: Evidence, seconds: float) -> Iterable[StatementUse]:
    for role in evidence.job.roles:
        ticks = evidence.load.of([role.name])
        for statement in evidence.job.statements:
            name = statement.name
            parts = [tick.operations[name] for tick in ticks if name in tick.operations]
            if parts:
                yield _use(evidence, role.name, statement, parts, seconds)


def _use(
    evidence: Evidence, role: str, statement: Statement, parts: Sequence[TickPart], seconds: float
) -> StatementUse:
    count, rows = (
        evidence.in_window(role, amounts.total(counted))
        for counted in ([part.count for part in parts], [part.rows for part in parts])
    )
    return StatementUse(
        role=role,
        name=statement.name,
        kind="control" if is_control(statement) else "statement",
        per_s=(count or 0.0) / seconds,
        rows_per_s=(rows or 0.0) / seconds,
        found=_found(parts) if statement.rows and not is_control(statement) else None,
    )


def _found(parts: Sequence[TickPart]) -> float | None:
    """The share that found a row; None where nothing was executed or the load does not tell."""
    count = sum(part.count for part in parts)
    empty = amounts.total(part.empty for part in parts)
    return None if not count or empty is None else (count - empty) / count
