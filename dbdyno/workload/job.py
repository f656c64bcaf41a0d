"""A step's job as dyno-loadgen takes it (contract/README.md, "The job")."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from dbdyno.model.document import suggestion
from dbdyno.model.job import ClientStagger, Job, Log, StopRule
from dbdyno.model.job.role import RatePace, Role, TiedPace
from dbdyno.workload import filling, program, schema, tables
from dbdyno.workload import role as step_roles
from dbdyno.workload.job_content import Content
from dbdyno.workload.scope import Scope

STEP_S_MAX = 2_592_000
"""The longest that a timed step, or its warm-up, may take, as dyno-loadgen has it: 30 days."""


@dataclass(frozen=True, kw_only=True)
class StepJob:
    """A job, and what the step says about its parts."""

    job: Job
    kinds: Mapping[str, str]  # role -> insert, delete, query, other
    explain: Mapping[str, str]
    uses: frozenset[str]  # kinds of table
    nominal_s: float | None


def make(name: str, step: schema.StepForm, file: schema.WorkloadFile, scope: Scope) -> StepJob:
    """The job of one step; `scope` is the step's place with the step's parameters."""
    program.refuse_keys(step, scope)
    if step.driver != "loadgen":
        if step.fills:
            raise scope.at("fills").error("only dyno-loadgen can fill; remove it")
        return _of_program(name, step, file, scope)
    if step.fills:
        return _of_fills(name, step, file, scope)
    content = Content(file, scope)
    if bool(step.roles) == bool(step.parts):
        raise scope.error("needs one of `roles`, `parts` and `fills`")
    if step.parts:
        roles, kinds = step_roles.from_parts(step.parts, content, scope)
    else:
        roles, kinds = step_roles.from_roles(step.roles, content, scope)
    content.finish()
    explain = {**content.explain, **content.scripts.explain}
    step_roles.check_tables(roles, content, scope)
    _check_queued(roles, content, scope)
    stop = _stop(step, roles, scope)
    step_roles.check_tries(roles, timed=stop.seconds is not None, scope=scope)
    share = scope.at("log").number(step.log, low=0, high=1)
    frame = content.scripts.computed(_frame(name, file, scope))
    if content.samples.paths:
        samples, character_set = content.samples.paths, scope.engine.character_set
        frame = replace(frame, samples=samples, character_set=character_set)
    job = replace(
        frame,
        values=tuple(content.values),
        cursors=tuple(content.cursors),
        statements=tuple(content.statements),
        programs=tuple(content.programs),
        roles=tuple(roles),
        apart=_apart(file, frame.clients, roles, scope),
        stop=stop,
        trace=step.trace,
        capture=_capture(step, scope),
        log=Log(share=float(share)) if share else None,
    )
    return StepJob(
        job=job,
        kinds=kinds,
        explain=explain,
        uses=content.named | {role.table.of for role in roles if role.table},
        nominal_s=_nominal_s(job),
    )


def _check_queued(roles: Sequence[Role], content: Content, scope: Scope) -> None:
    """Refuses a queued cursor whose statement no role of a tied pair sends alone."""
    tied = {role.pace.to: role.name for role in roles if isinstance(role.pace, TiedPace)}
    pairs = {*tied, *tied.values()}

    def sends_alone(role: Role, number: int) -> bool:
        codes = (content.programs[choice.program].code for choice in role.choose)
        sent = [[number for verb, number in code if verb != "draw"] for code in codes]
        return role.name in pairs and sent == [[number]] * len(sent)

    for cursor in content.cursors:
        number = cursor.on
        if not cursor.queued or number is None:
            continue
        if not any(sends_alone(role, number) for role in roles):
            raise scope.root("cursors", cursor.name, "queued").error(
                f"no role of a tied pair sends `{content.statements[number].name}` alone in "
                f"`{scope.key}`; remove it"
            )


def _of_program(
    name: str, step: schema.StepForm, file: schema.WorkloadFile, scope: Scope
) -> StepJob:
    """The job of a step whose load a program makes; it may use all tables of the file."""
    role, work = program.only_role(step, scope)
    seconds, warmup_s = _seconds(step, scope)
    if warmup_s and not seconds:
        raise scope.at("warmup_s").error("a program warms up only before its `seconds`")
    frame = replace(_frame(name, file, scope), roles=(role,), stop=_timed(seconds, warmup_s))
    return StepJob(
        job=program.called(frame, step, scope),
        kinds={role.name: work},
        explain={},
        uses=frozenset(file.tables),
        nominal_s=seconds + warmup_s if seconds else None,
    )


def _of_fills(name: str, step: schema.StepForm, file: schema.WorkloadFile, scope: Scope) -> StepJob:
    """The job of a step that loads tables in bulk, without what stands around their fills."""
    for key in ("roles", "parts", "stop", "seconds", "warmup_s", "sla", "capture", "trace", "log"):
        if getattr(step, key):
            raise scope.at(key).error("a step with `fills` does nothing else; remove it")
    if step.headline is not None and (
        step.headline.metric == "scan" or step.headline.each is not None
    ):
        raise scope.at("headline").error("a bulk load counts its rows: no scan, and no `each`")
    filled = {base: table for base, table in file.tables.items() if table.fill}
    for base in step.fills:
        if base not in filled:
            remedy = suggestion(base, filled)
            raise scope.at("fills").error(f"no table `{base}` that has a `fill`; {remedy}")
    return _filled(name, step.fills, file, scope, finished=False)


def fill(file: schema.WorkloadFile, scope: Scope) -> StepJob:
    """The job that loads every table that has a fill."""
    kinds = [base for base, table in file.tables.items() if table.fill]
    return _filled("fill", kinds, file, scope, finished=True)


def _filled(
    name: str, kinds: Sequence[str], file: schema.WorkloadFile, scope: Scope, *, finished: bool
) -> StepJob:
    """The job that loads tables in bulk; `finished`: with what their fills do afterwards."""
    content = Content(file, scope)
    fills = filling.made(kinds, file, content, scope)
    if not fills:
        raise scope.error("fills no rows")
    if not finished:
        fills = [replace(fill, after=()) for fill in fills]
    if content.cursors:
        raise scope.error(f"a fill cannot use the cursor `{content.cursors[0].name}`")
    filling.check(content, fills, scope)
    return StepJob(
        job=replace(_frame(name, file, scope), values=tuple(content.values), fills=tuple(fills)),
        kinds={"fill": "insert"},
        explain={},
        uses=frozenset(fill.table for fill in fills),
        nominal_s=None,
    )


def _frame(name: str, file: schema.WorkloadFile, scope: Scope) -> Job:
    """A job with what every step has; the time zone is the machine's, so the runner tells it."""
    clients = scope.root("parameters", "clients")
    return Job(
        step=name,
        engine=scope.engine.job,
        clients=clients.integer(scope.names.get("clients", 1), low=1),
        tables=tables.counts(file, scope),
        table_digits=tables.digits(file, scope),
    )


def _apart(
    file: schema.WorkloadFile, clients: int, roles: Sequence[Role], scope: Scope
) -> ClientStagger | None:
    """How clients begin one after the other; None: together, as one does and roles of the step."""
    if file.apart is None or clients == 1 or all(role.per == "step" for role in roles):
        return None
    place = scope.root("apart")
    first_s, each_s = (
        float(place.at(key).number(getattr(file.apart, key), low=0, high=STEP_S_MAX))
        for key in ("first_s", "each_s")
    )
    return ClientStagger(first_s=first_s, each_s=each_s) if first_s and each_s else None


def _capture(step: schema.StepForm, scope: Scope) -> tuple[Literal["rows", "notices"], ...]:
    """The replies to keep: those that the step names, and those that its metrics are read from."""
    wanted = list(step.capture)
    for name, metric in step.metrics.items():
        if scope.at("metrics", name, "when").number(metric.when):
            if metric.column is not None:
                wanted.append("rows")
            if metric.pattern is not None:
                wanted += ["rows", "notices"]
    return tuple(dict.fromkeys(wanted))


def _stop(step: schema.StepForm, roles: Sequence[Role], scope: Scope) -> StopRule:
    """Timed where the step has `seconds`; else it ends with roles that have a quota."""
    seconds, warmup_s = _seconds(step, scope)
    if seconds:
        if step.stop is not None:
            raise scope.at("stop").error("has both `stop` and `seconds`; remove one")
        return _timed(seconds, warmup_s)
    quotas = [role.name for role in roles if role.stop is not None]
    wanted = step.stop if step.stop is not None else quotas
    names = [wanted] if isinstance(wanted, str) else wanted
    if not names:
        raise scope.error("never ends; give it `seconds`, or one of its roles a `stop`")
    for name in names:
        if name not in quotas:
            raise scope.at("stop").error(
                f"no role `{name}` with a `stop` of its own; {suggestion(name, quotas)}"
            )
    return StopRule(roles=tuple(names), warmup_s=warmup_s)


def _seconds(step: schema.StepForm, scope: Scope) -> tuple[int | float, int | float]:
    """The window's seconds (0: the step is not timed) and those of the warm-up."""
    warmup_s = scope.at("warmup_s").number(step.warmup_s, low=0, high=STEP_S_MAX)
    seconds = scope.at("seconds").number(step.seconds or 0, low=0, high=STEP_S_MAX)
    return seconds, warmup_s


def _timed(seconds: float, warmup_s: float) -> StopRule:
    """The stop of a step that ends by time; without seconds, by itself."""
    return StopRule(seconds=seconds or None, warmup_s=warmup_s)


def _nominal_s(job: Job) -> float | None:
    """The step's length if every rate is held, in seconds; None if it runs as fast as it can."""
    if job.stop.seconds is not None:
        return float(job.stop.seconds + job.stop.warmup_s)
    longest = 0.0
    for role in job.roles:
        if role.stop is None or role.name not in job.stop.roles:
            continue
        if not isinstance(role.pace, RatePace):
            return None
        per_s = role.pace.per_s
        if role.pace.arrivals == "burst":
            per_s = max(1, math.ceil(per_s))
        longest = max(longest, role.stop.operations / per_s)
    if job.apart is not None:
        longest += job.apart.whole_s(job.clients)
    return longest + float(job.stop.warmup_s)
