"""The tables of a workload: how many there are of each kind, and how they are called."""

from __future__ import annotations

from dbdyno.model.job import table_names
from dbdyno.workload.schema import Table, WorkloadFile
from dbdyno.workload.scope import Scope

DIGITS_MAX = 9
"""The most digits that a number is filled up to, as dyno-loadgen has it."""


def counts(file: WorkloadFile, scope: Scope) -> dict[str, int]:
    """How many tables there are of each kind; 0: one without a number. Raises WorkloadError."""
    return {
        base: _count(table, scope.root("tables", base, "count"))
        for base, table in file.tables.items()
    }


def digits(file: WorkloadFile, scope: Scope) -> dict[str, int]:
    """The least number of digits by kind, of those that have more than one.

    Raises WorkloadError.
    """
    return {
        base: number
        for base, table in file.tables.items()
        if (number := _digits(table, scope.root("tables", base, "digits"))) > 1
    }


def names(file: WorkloadFile, scope: Scope) -> dict[str, tuple[str, ...]]:
    """The tables of each kind: pi1, pi2 …; raises WorkloadError."""
    least = digits(file, scope)
    return {
        base: table_names(base, count, least.get(base, 1))
        for base, count in counts(file, scope).items()
    }


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
