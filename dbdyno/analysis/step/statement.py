"""The statements of a step, each by itself: how often, how many rows, how many found a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dbdyno.analysis.step.evidence import Evidence
from dbdyno.model import Json, StatementUse
from dbdyno.model.job import is_control


def statements(evidence: Evidence) -> tuple[StatementUse, ...]:
    """Of each role in the job's order, each in the job's order; none without a window."""
    seconds = evidence.load.seconds
    return tuple(_statements(evidence, seconds)) if seconds else ()


def _statements(evidence: Evidence, seconds: float) -> Iterable[StatementUse]:
    for role in evidence.job.get("roles", []):
        ticks = evidence.load.of([role["name"]])
        for statement in evidence.job.get("statements", []):
            name = statement["name"]
            parts = [tick.operations[name] for tick in ticks if name in tick.operations]
            if parts:
                yield _use(role["name"], statement, parts, seconds)


def _use(role: str, statement: Json, parts: Sequence[Json], seconds: float) -> StatementUse:
    return StatementUse(
        role=role,
        name=statement["name"],
        kind="control" if is_control(statement) else "statement",
        per_s=sum(part["count"] for part in parts) / seconds,
        rows_per_s=sum(part["rows"] for part in parts) / seconds,
        found=_found(parts) if statement.get("rows") and not is_control(statement) else None,
    )


def _found(parts: Sequence[Json]) -> float | None:
    """The share that found a row; None where nothing was executed or an older result says not."""
    count = sum(part["count"] for part in parts)
    if not count or any("empty" not in part for part in parts):
        return None
    empty = sum(part["empty"] for part in parts)
    return float((count - empty) / count)
