"""A workload with its parameters, expanded for one engine into steps that are ready to run."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from typing import Literal

from msgspec.structs import replace

from dbdyno.model import Headline, Sla, Step, WorkloadUse
from dbdyno.model import engine as engines
from dbdyno.model.document import suggestion
from dbdyno.model.error import PlanError, WorkloadError
from dbdyno.model.headlines import HEADLINES, kind_of
from dbdyno.model.job import Job
from dbdyno.workload import (
    asked,
    job,
    maker_schema,
    mixes,
    parameter,
    schema,
    step_selection,
    sweep,
)
from dbdyno.workload.expression import Value
from dbdyno.workload.file import KEEP, Workload
from dbdyno.workload.scope import NUMBER_MARK, TABLE_MARK, Scope, for_table
from dbdyno.workload.step_selection import Draft, GivenParameters
from dbdyno.workload.tables import called, names

DROP = "DROP TABLE IF EXISTS "
"""How the statement begins that makes room for a table."""
DEVICE_GB_MAX = 1024
FILL_ROWS_PER_S = 250_000
"""A guess for the progress bar and `dyno check`; of sysbench's rows, on two cores."""


@dataclass(frozen=True, kw_only=True)
class _Drafts:
    """The workload with its tables' names, all its drafts, those taken, and what is swept."""

    workload: Workload
    every: list[Draft]
    taken: list[Draft]
    swept: sweep.Lists


_Made = tuple[Draft, Step, frozenset[str]]
"""A step, of which draft it was made, and the kinds of table that it uses."""


def expand(  # noqa: PLR0913 (which steps, each choice by its name)
    workload: Workload,
    parameters: Mapping[str, Value],
    engine: str,
    *,
    version: tuple[int, ...] | None = None,
    steps: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
) -> tuple[Step, ...]:
    """The workload's steps for an engine, in its order.

    `version` is the server's release ((9, 6), (17,), (8, 4)), for SQL that older ones do not know;
    None takes the newest form. `steps` keeps only the steps of these names; they keep their
    ordinals. Where none of them creates a table that they use, the load comes before them.
    Steps of other sets than the workload's are there only where `steps` names them.
    `groups` keeps only the steps of these groups and those of none. A list among `parameters` for
    one that has a single value has each step that is measured for some seconds once for each.
    Raises WorkloadError.
    """
    drafts = _drafts(workload, parameters, engine, version, (steps, groups))
    workload = drafts.workload
    # What is left out may be what these parameters rule out.
    made = [(draft, *_step(draft, workload)) for draft in drafts.taken]
    load = _load(drafts.every, made, workload) if steps is not None else []
    made = [*((draft, *_step(draft, workload)) for draft in load), *made]
    _check_tables(drafts.every, made, workload)
    does = (
        (draft.base, draft.values, (replace(step.job, step=""), step.setup))
        for draft, step, _ in made
    )
    sweep.refuse_idle(workload, drafts.swept, does)
    return tuple(step for _, step, _ in made)


def load_of(
    workload: Workload,
    parameters: Mapping[str, Value],
    engine: str,
    *,
    steps: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
) -> list[object]:
    """The steps that make the tables of these: for each its name, its SQL and its job.

    Without the steps of a sweep, each of which makes its own. How many clients there are is told of
    steps in which each of them does something. Raises WorkloadError.
    """
    drafts = _drafts(workload, parameters, engine, None, (steps, groups))
    loads: list[object] = []
    for draft in drafts.every if steps is not None else drafts.taken:
        if draft.loads and not draft.timed:
            step, _ = _step(draft, drafts.workload)
            by_client = any(role.per == "client" for role in step.job.roles)
            does = step.job if by_client else replace(step.job, clients=0)
            loads.append((step.name, step.setup, does))
    return loads


def _drafts(
    workload: Workload,
    parameters: Mapping[str, Value],
    engine: str,
    version: tuple[int, ...] | None,
    wanted: tuple[Sequence[str] | None, Sequence[str] | None],
) -> _Drafts:
    """The drafts of a workload; `wanted`: steps and groups."""
    try:
        traits = engines.of_release(engine, version)
    except PlanError as error:
        raise WorkloadError(str(error)) from None
    swept = sweep.lists(workload, parameters, traits)
    given = GivenParameters(values=sweep.beside(parameters, swept), swept=swept)
    scope = Scope(
        source=workload.source,
        names=parameter.of(workload, given.values, traits),
        engine=traits,
        version=version,
        statements=workload.file.statements,
        folder=workload.folder,
    )
    workload = changed(workload, file=called(workload.file, scope))
    every, taken = step_selection.taken(workload, scope, given, *wanted)
    return _Drafts(workload=workload, every=every, taken=taken, swept=swept)


def brought(use: WorkloadUse, steps: Sequence[Step]) -> tuple[str, ...]:
    """The names of those of a plan's steps that it does not name: the load that the others need."""
    if use.steps is None:
        return ()
    return tuple(
        step.name for step in steps if not {step.name, step.name.split("@")[0]} & {*use.steps}
    )


def loaded(use: WorkloadUse, steps: Sequence[Step]) -> int:
    """The number of first steps that only bring the tables into place."""
    only_load = brought(use, steps)
    for number, step in enumerate(steps):
        if step.measured and step.name not in only_load:
            return number
    return len(steps)


def _step(draft: Draft, workload: Workload) -> tuple[Step, frozenset[str]]:
    """One step, and the kinds of table that it uses."""
    file, step, name, scope = workload.file, draft.form, draft.name, draft.place
    tables = names(file, scope)
    made = job.make(name, step, file, scope) if step else job.fill(file, scope)
    written = step or schema.StepForm(name=name, measured=False, expected_s=_fill_s(made.job))
    pad_to_s = _optional(written.pad_to_s, scope.at("pad_to_s"))
    expected_s = _optional(written.expected_s, scope.at("expected_s")) or made.nominal_s
    lasts_s = [seconds for seconds in (expected_s, pad_to_s) if seconds is not None]
    makes = _makes(written, tables, scope.at("makes"))
    # Scripts of a plan may leave alone the tables for which their step is set up.
    own = written.setup if made.uses or workload.source != mixes.SOURCE else None
    setup = [
        *_first(file, scope),
        *_creation(_creates(step, file), file, tables, scope),
        *(f"{DROP}{table}" for table in makes),
        *(_before(file, tables, scope) if not step else _own("setup", own, tables, scope)),
    ]
    private = workload.application is not None or bool(made.job.samples)
    return Step(
        ordinal=draft.ordinal,
        name=name,
        workload=workload.name,
        measured=written.measured,
        writes=_writes(written, scope.at("writes")),
        goes_on=_goes_on(written, scope),
        warm=_warm(written.warm, scope.at("warm")),
        setup=tuple(setup),
        job=replace(made.job, private=private),
        headline=_headline(written, made, tables, scope.at("headline")),
        sla=_sla(written, made, scope.at("sla")),
        pad_to_s=pad_to_s,
        roles=made.kinds,
        tables=tuple(itertools.chain.from_iterable(tables.values())),
        explain=made.explain,
        expected_s=max(lasts_s, default=None),
        nominal_s=made.nominal_s,
        group=_group(written, file, scope.at("group")),
        invariants=tuple(_own("invariants", written.invariants, tables, scope)),
        conditions=tuple(asked.conditions(written, file, tables, scope)),
        device_gb=float(scope.at("device_gb").number(written.device_gb, low=0, high=DEVICE_GB_MAX)),
        sweep=draft.base if draft.values else None,
        makes=makes,
        metrics=tuple(asked.metrics(written, made, tables, scope.at("metrics"))),
        rights=tuple(asked.rights(written, tables, scope.at("rights"))),
        requires=tuple(asked.requirements(file, scope)),
        turn_s=float(scope.at("turn_s").number(written.turn_s, low=0)),
        private=private,
    ), made.uses


def _writes(step: schema.StepForm, scope: Scope) -> bool:
    """Whether it changes data."""
    written = step.writes
    return written if isinstance(written, bool) else bool(scope.number(written))


def _goes_on(step: schema.StepForm, scope: Scope) -> bool:
    """Whether a failure of it leaves the steps after it what they need: only where it reads."""
    if step.on_failure != "go_on":
        return False
    if _writes(step, scope.at("writes")):
        raise scope.at("on_failure").error(
            "a step that writes leaves an unknown state if it fails; write `writes = false`, "
            "or remove it"
        )
    return True


def _warm(written: list[str] | Literal["none"], scope: Scope) -> tuple[str, ...] | Literal["none"]:
    """The relations in their order; those that parameters leave empty are none."""
    if isinstance(written, str):
        return written
    return tuple(name for relation in written if (name := scope.text(relation))) or "none"


def _fill_s(made: Job) -> float:
    """About how long the job of a fill takes, keys and indexes included."""
    rows = sum(fill.expected_rows * len(made.table_names(fill.table)) for fill in made.fills)
    return float(rows / FILL_ROWS_PER_S)


def _creates(step: schema.StepForm | None, file: schema.WorkloadFile) -> list[str]:
    if step is None:
        return [base for base, table in file.tables.items() if table.fill]
    return step.creates


def _brings(step: schema.StepForm | None, file: schema.WorkloadFile) -> list[str]:
    """The kinds of table that are there after a step: created before it, or by its statements."""
    return [*_creates(step, file), *(step.makes if step else ())]


def _makes(
    step: schema.StepForm, tables: Mapping[str, Sequence[str]], scope: Scope
) -> tuple[str, ...]:
    """The tables that the step's own statements create."""
    for base in step.makes:
        if base not in tables:
            raise scope.error(f"no table `{base}`; {suggestion(base, tables)}")
        if base in step.creates:
            raise scope.error(f"`{base}` is in `creates`, too; remove it from one")
    return tuple(table for base in step.makes for table in tables[base])


def _first(file: schema.WorkloadFile, scope: Scope) -> list[str]:
    """The file's SQL before each of its steps, which names no table."""
    place = scope.root("setup")
    texts = place.sql(file.setup) if file.setup else []
    for sql in texts:
        if TABLE_MARK in sql or NUMBER_MARK in sql:
            raise place.error("names a table that may not exist yet; give the step a `setup`")
    return texts


def _creation(
    kinds: Sequence[str],
    file: schema.WorkloadFile,
    tables: Mapping[str, Sequence[str]],
    scope: Scope,
) -> Iterator[str]:
    """The SQL that drops and creates tables."""
    for base in kinds:
        if base not in file.tables:
            raise scope.at("creates").error(f"no table `{base}`; {suggestion(base, file.tables)}")
        place, written = scope.root("tables", base, "create"), file.tables[base].create
        if written is None:
            raise place.error("missing: only a table that a step `makes` has none")
        create = place.sql(written)
        for table in tables[base]:
            yield f"{DROP}{table}"
            yield from (for_table(sql, table, table.removeprefix(base)) for sql in create)


def _before(
    file: schema.WorkloadFile, tables: Mapping[str, Sequence[str]], scope: Scope
) -> Iterator[str]:
    """The SQL that makes empty tables ready for their rows, such as without keys."""
    for base, written in file.tables.items():
        if written.fill and written.fill.before:
            before = scope.root("tables", base, "fill", "before").sql(written.fill.before)
            for table in tables[base]:
                yield from (for_table(sql, table, table.removeprefix(base)) for sql in before)


def _own(
    key: str, written: schema.Sql | None, tables: Mapping[str, Sequence[str]], scope: Scope
) -> Iterator[str]:
    """The step's own SQL beside its job; a statement with {t} is there for every table."""
    place = scope.at(key)
    for sql in place.sql(written) if written else ():
        if TABLE_MARK not in sql and NUMBER_MARK not in sql:
            yield sql
            continue
        if len(tables) != 1:
            raise place.error("`{t}` needs exactly one kind of table under [tables]")
        ((base, names),) = tables.items()
        yield from (for_table(sql, table, table.removeprefix(base)) for table in names)


def _load(drafts: Sequence[Draft], made: Sequence[_Made], workload: Workload) -> list[Draft]:
    """The steps of the load before the first taken one; none where the taken bring their tables."""
    created = {base for draft, _, _ in made for base in _brings(draft.form, workload.file)}
    missing = {base for _, _, uses in made for base in uses} - created
    if workload.fill == KEEP or not missing:
        return []
    taken = {draft.ordinal for draft, _, _ in made}
    return [draft for draft in drafts if draft.loads and draft.ordinal < min(taken)]


def _check_tables(drafts: Sequence[Draft], made: Sequence[_Made], workload: Workload) -> None:
    """A step cannot run where no step before it creates its tables."""
    created = set(workload.file.tables) if workload.fill == KEEP else set()
    for draft, _, uses in made:
        created |= set(_brings(draft.form, workload.file))
        for base in sorted(uses - created):
            makers = [each.name for each in drafts if base in _brings(each.form, workload.file)]
            remedy = (
                f'which step `{makers[0]}` creates; add "{makers[0]}" before it'
                if makers
                else "which no step creates; give a step the key `creates` or `makes`"
            )
            raise WorkloadError(
                f"{workload.source}: step `{draft.name}` uses table `{base}`, {remedy}"
            )


def _headline(
    step: schema.StepForm, made: job.StepJob, tables: Mapping[str, Sequence[str]], scope: Scope
) -> Headline | None:
    if step.headline is None:
        return None
    headline = step.headline
    metric, role = scope.at("metric").text(headline.metric), scope.at("role").text(headline.role)
    if metric not in HEADLINES:
        raise scope.at("metric").error(f"no headline `{metric}`; {suggestion(metric, HEADLINES)}")
    _check_role(role, made, scope)
    _check_whole(metric, headline, made, scope)
    work, each, query = headline.work, headline.each, None
    if work is not None and each is not None:
        raise scope.error("has both `work` and `each`; remove one")
    if isinstance(work, schema.QueryForm):
        query, work = asked.question(work.query, tables, scope.at("work", "query")), None
    return Headline(
        metric=metric,
        role=role,
        count="operations" if isinstance(headline.count, schema.OperationsForm) else headline.count,
        operations=_named(headline, made, scope.at("count", "operations")),
        work=None if work is None else scope.at("work").integer(work, low=1),
        each=None if each is None else scope.at("each").integer(each, low=1),
        work_query=query,
    )


def _named(headline: schema.HeadlineForm, made: job.StepJob, scope: Scope) -> tuple[str, ...]:
    """The operations that a headline names; none where it counts all of its role's."""
    if not isinstance(headline.count, schema.OperationsForm):
        return ()
    if kind_of(headline.metric).whole or headline.work is not None or headline.each is not None:
        raise scope.error("needs a rate of operations, such as opm; without `work` and `each`")
    role = made.job.role(headline.role)
    choose = () if role is None else role.choose
    there = {made.job.operation_of(choice.program) for choice in choose}
    for name in headline.count.operations:
        if name not in there:
            remedy = suggestion(name, there)
            raise scope.error(f"role `{headline.role}` has no operation `{name}`; {remedy}")
    return tuple(headline.count.operations)


def _check_whole(
    metric: str, headline: schema.HeadlineForm, made: job.StepJob, scope: Scope
) -> None:
    """Refuses what a headline of the whole window cannot have."""
    if metric == "seconds":
        if made.job.stop.seconds:
            raise scope.at("metric").error(
                "a step with `seconds` always takes that long; use a rate, such as qps"
            )
        if headline.each is not None:
            raise scope.at("each").error("`seconds` is the window's length; remove it")
    if metric == "mbps":
        if headline.each is not None:
            raise scope.at("each").error("`mbps` needs all bytes at once; use `work`")
        if headline.work is None:
            raise scope.error("`mbps` needs `work`, the bytes; write a number or { query = … }")


def _group(step: schema.StepForm, file: schema.WorkloadFile, scope: Scope) -> str | None:
    """The title of the step's group."""
    if step.group is None:
        return None
    if step.group not in file.groups:
        remedy = f"{suggestion(step.group, file.groups)} (or add it to [groups])"
        raise scope.error(f"no group `{step.group}`; {remedy}")
    return file.groups[step.group]


def _sla(step: schema.StepForm, made: job.StepJob, scope: Scope) -> Sla | None:
    if step.sla is None:
        return None
    _check_role(step.sla.role, made, scope)
    rows_per_s = scope.at("rows_per_s").positive(step.sla.rows_per_s)
    return Sla(role=step.sla.role, rows_per_s=float(rows_per_s))


def _check_role(name: str, made: job.StepJob, scope: Scope) -> None:
    if name not in made.kinds:
        raise scope.at("role").error(f"no role `{name}`; {suggestion(name, made.kinds)}")


def _optional(written: maker_schema.Number | None, scope: Scope) -> float | None:
    return None if written is None else float(scope.number(written, low=0))
