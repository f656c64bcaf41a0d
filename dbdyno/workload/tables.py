"""The tables of a workload: how many there are of each kind, and how they are called."""

import re
from collections.abc import Mapping, Sequence

from dbdyno.model.job import table_names
from dbdyno.workload.schema import ChildrenForm, FillForm, StepForm, TableForm, WorkloadFile
from dbdyno.workload.scope import Scope

DIGITS_MAX = 9
"""The most digits that a number is filled up to, as dyno-loadgen has it."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
"""What a kind of table can be called: as servers take a name without quotes."""


def called(file: WorkloadFile, scope: Scope) -> WorkloadFile:
    """The file with each kind of table under the name that it is given, wherever it stands.

    Raises WorkloadError.
    """
    names: dict[str, str] = {}
    for base, table in file.tables.items():
        place = scope.root("tables", base, "name")
        name = base if table.name is None else place.text(table.name)
        if not NAME.fullmatch(name):
            raise place.error(f"`{name}` is no table's name; use letters, digits and `_`")
        if name in names.values():
            raise place.error(f"another kind of table is called `{name}`, too; change one")
        names[base] = name
    if all(base == name for base, name in names.items()):
        return file
    tables = {names[base]: _with_parent(table, names) for base, table in file.tables.items()}
    steps = [_naming(step, names) for step in file.steps]
    return file.model_copy(update={"tables": tables, "steps": steps})


def _with_parent(table: TableForm, names: Mapping[str, str]) -> TableForm:
    """A table whose rows, if they are children, are those of the parent by its name."""
    if table.fill is None or not isinstance(table.fill.rows, ChildrenForm):
        return table
    rows = table.fill.rows
    fill: FillForm = table.fill.model_copy(
        update={"rows": rows.model_copy(update={"per": names.get(rows.per, rows.per)})}
    )
    return table.model_copy(update={"fill": fill})


def _naming(step: StepForm, names: Mapping[str, str]) -> StepForm:
    """A step that has kinds of table by their names."""

    def named(kinds: Sequence[str]) -> list[str]:
        return [names.get(base, base) for base in kinds]

    kinds = {"creates": named(step.creates), "makes": named(step.makes), "fills": named(step.fills)}
    return step.model_copy(update=kinds)


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


def _count(table: TableForm, scope: Scope) -> int:
    count = scope.integer(table.count, low=1)
    if table.numbered:
        return count
    if count != 1:
        raise scope.error(f"{count} tables need numbers; remove `numbered = false`")
    return 0


def _digits(table: TableForm, scope: Scope) -> int:
    digits = scope.integer(table.digits, low=1)
    if digits > DIGITS_MAX:
        raise scope.error(f"at most {DIGITS_MAX}, not {digits}")
    if digits > 1 and not table.numbered:
        raise scope.error("the table is not `numbered`; remove it")
    return digits
