"""Questions of a step to its server: rights before its load, work and metrics after it."""

import re
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.model import Condition, MetricSource, Requirement, Right
from dbdyno.model.document import suggestion
from dbdyno.workload import schema
from dbdyno.workload.job import StepJob
from dbdyno.workload.scope import NUMBER_MARK, TABLE_MARK, Scope, for_table

SOURCES = ("column", "pattern", "query")
"""The keys that a metric's value can come from."""
Tables = Mapping[str, Sequence[str]]
"""The tables of each kind."""


def question(written: schema.EngineSqlForm, tables: Tables, scope: Scope) -> str:
    """A single statement whose answer is wanted; `{t}` is the table where there is one."""
    sql = scope.statement(written)
    if TABLE_MARK not in sql and NUMBER_MARK not in sql:
        return sql
    every = [(base, table) for base, names in tables.items() for table in names]
    if len(every) != 1:
        raise scope.error(
            "`{t}` needs exactly one table under [tables]; name the table that counts"
        )
    ((base, table),) = every
    return for_table(sql, table, table.removeprefix(base))


def rights(step: schema.StepForm, tables: Tables, scope: Scope) -> Iterable[Right]:
    """The rights that a step needs on this engine; an empty list of SQL asks for none."""
    for number, right in enumerate(step.rights, start=1):
        place = scope.at(number)
        if place.sql(right):
            yield Right(
                name=place.at("right").text(right.right), query=question(right, tables, place)
            )


def conditions(
    step: schema.StepForm, file: schema.WorkloadFile, tables: Tables, scope: Scope
) -> Iterable[Condition]:
    """What has to hold after a step, in the step's order. Raises WorkloadError."""
    for number, written in enumerate(step.conditions, start=1):
        place = scope.at("conditions", number)
        name = place.text(written)
        if not name:
            continue
        if name not in file.conditions:
            raise place.error(f"no condition `{name}`; {suggestion(name, file.conditions)}")
        own = scope.root("conditions", name)
        yield Condition(name=name, query=question(file.conditions[name], tables, own))


def requirements(file: schema.WorkloadFile, scope: Scope) -> Iterable[Requirement]:
    """The parts that the file needs of a server of this engine; an empty list asks for none."""
    for number, written in enumerate(file.requires, start=1):
        place = scope.root("requires", number)
        if place.sql(written):
            yield Requirement(
                part=place.at("part").text(written.part),
                query=question(written, {}, place),
                remedy=place.at("remedy").text(written.remedy),
                storage_engine=place.at("storage_engine").text(written.storage_engine),
            )


def metrics(
    step: schema.StepForm, made: StepJob, tables: Tables, scope: Scope
) -> Iterable[MetricSource]:
    """The step's own metrics that are there. Raises WorkloadError."""
    for name, source in step.metrics.items():
        place = scope.at(name)
        if not place.at("when").number(source.when):
            continue
        given = [key for key in SOURCES if getattr(source, key) is not None]
        if len(given) != 1:
            raise place.error(
                f"needs exactly one of `column`, `pattern` and `query`, not {len(given)}"
            )
        if source.query is None:
            _check_captured(source, made, place)
        else:
            for key in ("of", "take"):
                if key in source.model_fields_set:
                    raise place.at(key).error("goes with `column` and `pattern`; remove it")
        if source.change and (source.query is None or source.text):
            raise place.at("change").error("goes with a `query` for a number; remove it")
        if source.text and source.take not in ("first", "last"):
            raise place.at("take").error(f'a text has no "{source.take}"; use "first" or "last"')
        yield MetricSource(
            name=name,
            title=place.at("title").text(source.title) if source.title is not None else name,
            unit=place.at("unit").text(source.unit),
            better=source.better,
            take=source.take,
            text=source.text,
            column=source.column,
            pattern=source.pattern,
            of=None if source.of is None else place.at("of").text(source.of),
            query=None
            if source.query is None
            else question(source.query, tables, place.at("query")),
            change=("second" if source.change is True else source.change) or None,
        )


def _check_captured(source: schema.ToldMetricForm, made: StepJob, place: Scope) -> None:
    """Refuses what no statement of the step can have returned, and patterns that say no value."""
    if made.job.driver != "loadgen" or made.job.fills:
        raise place.error("this step has nothing to capture; use a `query`")
    if source.pattern is not None:
        try:
            groups = re.compile(source.pattern).groups
        except re.error as error:
            raise place.at("pattern").error(f"is not a regular expression: {error}") from error
        if groups != 1:
            raise place.at("pattern").error(
                f"needs one group, which is the value, not {groups}; write (?:…) for others"
            )
    if source.of is not None:
        name, known = place.at("of").text(source.of), made.job.statement_names
        if name not in known:
            raise place.at("of").error(
                f"no statement `{name}` in this step; {suggestion(name, known)}"
            )
