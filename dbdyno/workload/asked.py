"""Questions of a step to its server: rights before its load, work and metrics after it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.model import MetricSource, Right
from dbdyno.model.document import suggestion
from dbdyno.workload import schema
from dbdyno.workload.job import Made
from dbdyno.workload.scope import NUMBER_MARK, TABLE_MARK, Scope, for_table

SOURCES = ("column", "pattern", "query")
"""The keys that a metric's value can come from."""
Tables = Mapping[str, Sequence[str]]
"""The tables of each kind."""


def question(written: schema.PerEngine, tables: Tables, scope: Scope) -> str:
    """A single statement whose answer is wanted; `{t}` is the table where there is one."""
    sql = scope.statement(written)
    if TABLE_MARK not in sql and NUMBER_MARK not in sql:
        return sql
    every = [(kind, table) for kind, names in tables.items() for table in names]
    if len(every) != 1:
        raise scope.error(
            "`{t}` needs exactly one table under [tables]; name the table that counts"
        )
    ((kind, table),) = every
    return for_table(sql, table, table.removeprefix(kind))


def rights(step: schema.Step, tables: Tables, scope: Scope) -> Iterable[Right]:
    """The rights that a step needs on this engine; an empty list of SQL asks for none."""
    for number, right in enumerate(step.rights, start=1):
        place = scope.at(number)
        if place.sql(right):
            yield Right(
                name=place.at("right").text(right.right), query=question(right, tables, place)
            )


def metrics(step: schema.Step, made: Made, tables: Tables, scope: Scope) -> Iterable[MetricSource]:
    """The step's own metrics that are there. Raises WorkloadError."""
    for name, one in step.metrics.items():
        place = scope.at(name)
        if not place.at("when").number(one.when):
            continue
        given = [key for key in SOURCES if getattr(one, key) is not None]
        if len(given) != 1:
            raise place.error(
                f"needs exactly one of `column`, `pattern` and `query`, not {len(given)}"
            )
        if one.query is None:
            _check_captured(one, made, place)
        else:
            for key in ("of", "take"):
                if key in one.model_fields_set:
                    raise place.at(key).error("goes with `column` and `pattern`; remove it")
        if one.text and one.take not in ("first", "last"):
            raise place.at("take").error(f'a text has no "{one.take}"; use "first" or "last"')
        yield MetricSource(
            name=name,
            title=place.at("title").text(one.title) if one.title is not None else name,
            unit=place.at("unit").text(one.unit),
            better=one.better,
            take=one.take,
            text=one.text,
            column=one.column,
            pattern=one.pattern,
            of=None if one.of is None else place.at("of").text(one.of),
            query=None if one.query is None else question(one.query, tables, place.at("query")),
        )


def _check_captured(one: schema.Told, made: Made, place: Scope) -> None:
    """Refuses what no statement of the step can have returned, and patterns that say no value."""
    if made.job.driver != "loadgen" or made.job.fills:
        raise place.error("this step has nothing to capture; use a `query`")
    if one.pattern is not None:
        try:
            groups = re.compile(one.pattern).groups
        except re.error as error:
            raise place.at("pattern").error(f"is not a regular expression: {error}") from error
        if groups != 1:
            raise place.at("pattern").error(
                f"needs one group, which is the value, not {groups}; write (?:…) for others"
            )
    if one.of is not None:
        name, known = place.at("of").text(one.of), made.job.statement_names
        if name not in known:
            raise place.at("of").error(
                f"no statement `{name}` in this step; {suggestion(name, known)}"
            )
