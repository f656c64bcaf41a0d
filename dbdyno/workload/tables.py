"""The tables of a workload: how many there are of each kind, and how they are called."""

from __future__ import annotations

from dbdyno.model import Json
from dbdyno.model.job import table_names
from dbdyno.workload.schema import Table, WorkloadFile
from dbdyno.workload.scope import Scope

DIGITS_MAX = 9
"""The most digits that a number is filled up to, as dyno-loadgen has it."""


def counted(file: WorkloadFile, scope: Scope) -> Json:
    """The job's keys `tables` (0: one without a number) and, where a kind has any, `table_digits`.

    Raises WorkloadError.
    """
    digits = {
        kind: number
        for kind, table in file.tables.items()
        if (number := _digits(table, scope.root("tables", kind, "digits"))) > 1
    }
    counts = {
        kind: _count(table, scope.root("tables", kind, "count"))
        for kind, table in file.tables.items()
    }
    return {"tables": counts, **({"table_digits": digits} if digits else {})}


def names(file: WorkloadFile, scope: Scope) -> dict[str, tuple[str, ...]]:
    """The tables of each kind: pi1, pi2 …; raises WorkloadError."""
    tables = counted(file, scope)
    return {kind: table_names(tables, kind) for kind in tables["tables"]}


def _count(table: Table, scope: Scope) -> int:
    count = scope.integer(table.count, low=1)
    if table.numbered:
        return count
    if count != 1:
        raise scope.error(f"{count} tables need numbers; remove `numbered = false`")
    return 0


def _digits(table: Table, scope: Scope) -> int:
    digits = scope.integer(table.digits, low=1)
    if digits > DIGITS_MAX:
        raise scope.error(f"at most {DIGITS_MAX}, not {digits}")
    if digits > 1 and not table.numbered:
        raise scope.error("the table is not `numbered`; remove it")
    return digits
