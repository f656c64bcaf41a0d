"""Asks the planner how it would run each statement; nothing is run."""

from collections.abc import Mapping
from functools import partial

from dbdyno.engine.postgres.probe.reader import PostgresProbe
from dbdyno.model.snapshot import StatementPlan

GENERIC_VERSION_NUM = 120000
"""plan_cache_mode, by which a generic plan can be asked for, came with PostgreSQL 12."""

SAMPLES = {"date": "2000-01-01", "boolean": "true"}
TIMESTAMP = "timestamp"


def plans(reader: PostgresProbe, statements: Mapping[str, str]) -> dict[str, StatementPlan]:
    """The plans of each statement (`$1` … in its SQL) by name: `custom` and `generic`, as text.

    A custom plan is made for sample values (1, 2, …), a generic one for any. A statement without a
    plan (VACUUM, a missing table) is None and named in the reader's `unavailable`.
    """
    if reader.is_pooled:
        reader.unavailable["explain"] = "a pooler stands before the server: it keeps no session"
        return {name: StatementPlan() for name in statements}
    names = {name: f"dyno_explain_{number}" for number, name in enumerate(statements)}
    for name, sql in statements.items():
        reader.part(f"explain.{name}", partial(prepare, prepared=names[name], sql=sql))
    types = reader.part("explain", prepared_types) or {}
    calls = {
        name: call(prepared, types[prepared])
        for name, prepared in names.items()
        if prepared in types
    }
    custom, generic = (plans_of(reader, kind, calls) for kind in ("custom", "generic"))
    return {
        name: StatementPlan(custom=custom.get(name), generic=generic.get(name))
        for name in statements
    }


def plans_of(reader: PostgresProbe, kind: str, calls: Mapping[str, str]) -> dict[str, str | None]:
    """The `custom` or the `generic` plans of these calls; none where the server has none such."""
    if not choose(reader, kind):
        return {}
    return {
        name: reader.part(f"explain.{name}.{kind}", partial(explained, text=text))
        for name, text in calls.items()
    }


def prepare(reader: PostgresProbe, prepared: str, sql: str) -> None:
    """Prepares a statement; the server infers the types of its parameters."""
    reader.rows(f"PREPARE {prepared} AS {sql}")


def prepared_types(reader: PostgresProbe) -> dict[str, list[str]]:
    """The parameters' types of each statement that could be prepared, by its name there."""
    rows = reader.rows("SELECT name, parameter_types::text[] AS types FROM pg_prepared_statements")
    return {row["name"]: row["types"] for row in rows}


def call(prepared: str, types: list[str]) -> str:
    """The EXECUTE with a sample value for each parameter."""
    values = ", ".join(f"'{sample(type_name, n)}'" for n, type_name in enumerate(types, start=1))
    return f"EXECUTE {prepared}({values})" if values else f"EXECUTE {prepared}"


def sample(type_name: str, number: int) -> str:
    """A value that the type accepts: the parameter's number where that is one."""
    if type_name.startswith(TIMESTAMP):
        return SAMPLES["date"]
    return SAMPLES.get(type_name, str(number))


def choose(reader: PostgresProbe, kind: str) -> bool:
    """Makes the server plan in this way; False, with the reason kept, where it cannot.

    Before 12 the first five executions of a statement are planned for their values.
    """
    if reader.version_num < GENERIC_VERSION_NUM:
        if kind == "generic":
            reader.unavailable["explain.generic"] = f"{reader.product} has no plan_cache_mode"
        return kind == "custom"
    setting = f"SET plan_cache_mode = force_{kind}_plan"
    return reader.part(f"explain.{kind}", lambda asked: asked.rows(setting)) is not None


def explained(reader: PostgresProbe, text: str) -> str:
    """The plan of an EXECUTE, as EXPLAIN prints it."""
    return "\n".join(str(row["QUERY PLAN"]) for row in reader.rows(f"EXPLAIN {text}"))
