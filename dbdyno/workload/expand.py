"""A workload with its parameters, expanded for one engine into steps that are ready to run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdyno.error import WorkloadError
from dbdyno.model import Headline, Json, Sla, Step
from dbdyno.workload import form, job, parameter
from dbdyno.workload.document import suggestion
from dbdyno.workload.expression import Value
from dbdyno.workload.file import NAME, Workload
from dbdyno.workload.scope import NUMBER_MARK, TABLE_MARK, Scope, for_table

STEPS_MAX = 1000
FILL_ROWS_PER_S = 250_000
"""A guess for the progress bar and `dyno check`; of sysbench's rows, on two cores."""


def expand(
    workload: Workload,
    parameters: Mapping[str, Any],
    engine: str,
    *,
    version: int | None = None,
    steps: Sequence[str] | None = None,
) -> tuple[Step, ...]:
    """The workload's steps for an engine, in its order.

    `version` is the server's major version (9, 17), for SQL that older ones do not know; None
    takes the newest form. `steps` keeps only the steps of these names; they keep their ordinals.
    Steps of other sets than the workload's are there only where `steps` names them.
    The engine "fake" takes PostgreSQL's SQL. Raises WorkloadError.
    """
    values = parameter.of(workload, parameters)
    scope = Scope(
        source=workload.source,
        names=values,
        engine="postgres" if engine == "fake" else engine,
        version=version,
        statements=workload.file.statements,
    )
    if scope.engine not in form.ENGINES:
        raise WorkloadError(f"no engine `{engine}`; {suggestion(engine, (*form.ENGINES, 'fake'))}")
    every = list(itertools.islice(_drafts(workload, scope), STEPS_MAX + 1))
    if len(every) > STEPS_MAX:
        raise scope.root("steps").error(f"more than {STEPS_MAX} steps")
    drafts = _of_set(every, steps, workload)
    chosen = _chosen([draft[0] for draft in drafts], every, steps, workload)
    created: dict[str, str] = {}
    made = []
    for ordinal, (name, step, place) in enumerate(drafts, start=1):
        # What is left out may be what these parameters rule out.
        if ordinal in chosen:
            one, uses = _step(ordinal, name, step, workload, place)
            created |= dict.fromkeys(_creates(step, workload.file), name)
            _check_tables(name, uses - set(created), drafts, workload)
            made.append(_with_engine(one, engine))
    return tuple(made)


Draft = tuple[str, form.Step | None, Scope]
"""A step's name, its form (None: the fill), and its place with its own parameters."""


def _drafts(workload: Workload, scope: Scope) -> Iterator[Draft]:
    """Every step, those with `for` once for each combination, the first key slowest."""
    file = workload.file
    if workload.fill == "fast" and any(table.fill for table in file.tables.values()):
        yield "fill", None, scope.root("tables")
    for number, step in enumerate(file.steps, start=1):
        if step.fill not in (None, workload.fill):
            continue
        place = scope.root("steps", number)
        lists = [_items(key, value, place.at("for", key)) for key, value in step.each.items()]
        for items in itertools.product(*lists):
            here = place.knowing(dict(zip(step.each, items, strict=True)))
            own = {
                name: here.at("parameters", name).value(value)
                for name, value in step.parameters.items()
            }
            for name in own:
                if name not in scope.names:
                    raise here.at("parameters", name).error(
                        f"no such parameter; {suggestion(name, scope.names)}"
                    )
            here = here.knowing(own)
            if not here.at("when").number(step.when):
                continue
            name = here.at("name").text(step.name)
            if not NAME.fullmatch(name.replace("@", "-").replace("=", "-").replace(",", "-")):
                raise here.at("name").error(f"{name!r} cannot name a folder")
            yield name, step, here


def _items(key: str, written: str | list[form.Number], scope: Scope) -> list[Value]:
    if key in scope.names:
        raise scope.error("is a parameter's name, too; take another word")
    items = scope.value(written) if isinstance(written, str) else scope.value(list(written))
    if not isinstance(items, list):
        raise scope.error(f"must be a list or the name of one in braces, not {items!r}")
    return list(items)


def _of_set(
    drafts: Sequence[Draft], wanted: Sequence[str] | None, workload: Workload
) -> list[Draft]:
    """The steps of the workload's set, and those of others that are wanted by their names."""
    own = {name for name, step, _ in drafts if _in_set(step, workload)}
    foreign = {name: 0 for name in wanted or () if name not in own}
    for name, _, _ in drafts:
        if name in foreign:
            foreign[name] += 1
    for name, count in foreign.items():
        if count > 1:
            sets = sorted({one for n, step, _ in drafts if n == name and step for one in step.sets})
            raise WorkloadError(
                f"{workload.source}: step `{name}` is in the sets "
                f"{' and '.join(f'`{one}`' for one in sets)}; choose one with the key `set`"
            )
    return [draft for draft in drafts if _in_set(draft[1], workload) or draft[0] in foreign]


def _in_set(step: form.Step | None, workload: Workload) -> bool:
    return step is None or not step.sets or workload.set in step.sets


def _chosen(
    there: Sequence[str],
    every: Sequence[Draft],
    wanted: Sequence[str] | None,
    workload: Workload,
) -> set[int]:
    """The ordinals of the wanted steps."""
    if wanted is None:
        return set(range(1, len(there) + 1))
    for name in wanted:
        other = _other_form(name, workload)
        if name not in there and other is not None:
            raise WorkloadError(
                f'{workload.source}: step `{name}` is part of fill = "{other}" only, and this is '
                f'fill = "{workload.fill}"; change `fill`, or leave the step out'
            )
        if name not in there:
            raise WorkloadError(
                f"{workload.source}: no step `{name}` with these parameters; "
                f"{suggestion(name, [draft[0] for draft in every])}"
            )
    return {ordinal for ordinal, name in enumerate(there, start=1) if name in wanted}


def _other_form(name: str, workload: Workload) -> str | None:
    """The form of load that a step is part of, where it is not the one that is taken."""
    if name == "fill":
        return "fast"
    forms = {step.name: step.fill for step in workload.file.steps}
    return forms.get(name)


def _step(
    ordinal: int, name: str, step: form.Step | None, workload: Workload, scope: Scope
) -> tuple[Step, frozenset[str]]:
    """One step, and the kinds of table that it uses."""
    file = workload.file
    tables = job.table_names(file, scope)
    made = job.make(name, step, file, scope) if step else job.fill(file, scope)
    written = step or form.Step(name=name, measured=False, expected_s=_fill_s(made.job))
    pad_to_s = _optional(written.pad_to_s, scope.at("pad_to_s"))
    expected_s = _optional(written.expected_s, scope.at("expected_s"))
    setup = [
        *_creation(_creates(step, file), file, tables, scope),
        *(_setup(written, tables, scope) if step else _before(file, tables, scope)),
    ]
    return Step(
        ordinal=ordinal,
        name=name,
        workload=workload.name,
        measured=written.measured,
        writes=written.writes,
        warm=written.warm,
        setup=tuple(setup),
        job=made.job,
        headline=_headline(written, made, scope.at("headline")),
        sla=_sla(written, made, scope.at("sla")),
        pad_to_s=pad_to_s,
        roles=made.kinds,
        tables=tuple(itertools.chain.from_iterable(tables.values())),
        explain=made.explain,
        expected_s=_longest(expected_s or made.nominal_s, pad_to_s),
        nominal_s=made.nominal_s,
    ), made.uses


def _fill_s(made: Json) -> float:
    """About how long the job of a fill takes, keys and indexes included."""
    rows = sum(one["rows"] * made["tables"][one["table"]] for one in made["fills"])
    return float(rows / FILL_ROWS_PER_S)


def _creates(step: form.Step | None, file: form.WorkloadFile) -> list[str]:
    if step is None:
        return [kind for kind, table in file.tables.items() if table.fill]
    return step.creates


def _creation(
    kinds: Sequence[str],
    file: form.WorkloadFile,
    tables: Mapping[str, Sequence[str]],
    scope: Scope,
) -> Iterator[str]:
    """The SQL that drops and creates tables."""
    for kind in kinds:
        if kind not in file.tables:
            raise scope.at("creates").error(f"no table `{kind}`; {suggestion(kind, file.tables)}")
        create = scope.root("tables", kind, "create").sql(file.tables[kind].create)
        for table in tables[kind]:
            yield f"DROP TABLE IF EXISTS {table}"
            yield from (for_table(sql, table, table.removeprefix(kind)) for sql in create)


def _before(
    file: form.WorkloadFile, tables: Mapping[str, Sequence[str]], scope: Scope
) -> Iterator[str]:
    """The SQL that makes empty tables ready for their rows, such as without keys."""
    for kind, written in file.tables.items():
        if written.fill and written.fill.before:
            before = scope.root("tables", kind, "fill", "before").sql(written.fill.before)
            for table in tables[kind]:
                yield from (for_table(sql, table, table.removeprefix(kind)) for sql in before)


def _setup(step: form.Step, tables: Mapping[str, Sequence[str]], scope: Scope) -> Iterator[str]:
    """The step's own SQL before the job; a statement with {t} is sent for every table."""
    place = scope.at("setup")
    for sql in place.sql(step.setup) if step.setup else ():
        if TABLE_MARK not in sql and NUMBER_MARK not in sql:
            yield sql
            continue
        if len(tables) != 1:
            raise place.error("`{t}` needs exactly one kind of table under [tables]")
        ((kind, names),) = tables.items()
        yield from (for_table(sql, table, table.removeprefix(kind)) for table in names)


def _check_tables(
    name: str, missing: set[str] | frozenset[str], drafts: Sequence[Draft], workload: Workload
) -> None:
    """A step cannot run where no step before it creates its tables."""
    for kind in sorted(missing):
        makers = [one for one, step, _ in drafts if kind in _creates(step, workload.file)]
        remedy = (
            f'which step `{makers[0]}` creates; add "{makers[0]}" before it'
            if makers
            else ("which no step creates; give a step the key `creates`")
        )
        raise WorkloadError(f"{workload.source}: step `{name}` uses table `{kind}`, {remedy}")


def _headline(step: form.Step, made: job.Made, scope: Scope) -> Headline | None:
    if step.headline is None:
        return None
    headline = step.headline
    _check_role(headline.role, made, scope)
    work = None if headline.work is None else scope.at("work").integer(headline.work, low=1)
    return Headline(metric=headline.metric, role=headline.role, count=headline.count, work=work)


def _sla(step: form.Step, made: job.Made, scope: Scope) -> Sla | None:
    if step.sla is None:
        return None
    _check_role(step.sla.role, made, scope)
    rows_per_s = scope.at("rows_per_s").positive(step.sla.rows_per_s)
    return Sla(role=step.sla.role, rows_per_s=float(rows_per_s))


def _check_role(name: str, made: job.Made, scope: Scope) -> None:
    if name not in made.kinds:
        raise scope.at("role").error(f"no role `{name}`; {suggestion(name, made.kinds)}")


def _optional(written: form.Number | None, scope: Scope) -> float | None:
    return None if written is None else float(scope.number(written, low=0))


def _longest(*seconds: float | None) -> float | None:
    return max((one for one in seconds if one is not None), default=None)


def _with_engine(step: Step, engine: str) -> Step:
    step.job["engine"] = engine
    return step
