"""A step whose load a program makes, as its job: one role, and how the program is called."""

import re

import msgspec
from msgspec.structs import replace

from dbdyno.model.document import suggestion
from dbdyno.model.job import Job
from dbdyno.model.job.external import Pattern, Restore
from dbdyno.model.job.role import ClosedPace, Role
from dbdyno.workload import pgbench, program_schema, schema, sysbench
from dbdyno.workload.role import CONNECTIONS_MAX, KINDS
from dbdyno.workload.scope import Scope

LIMIT_S = 600.0
"""The time that a program may take beside the step's seconds, if the file sets no limit."""
LIMIT_S_MAX = 2_592_000
DRIVERS = ("command", "pgbench", "sysbench", "restore")
"""Programs by their driver; each has a key of a step by its name, which says what it runs."""
ROLE_KEYS = frozenset({"connections", "kind", "per"})
"""The keys of a role that hold for a program; all else is up to the program."""
AMOUNTS = ("count", "per_s", "per_min")
"""Groups of a pattern that say how much was done: in the window, or at what rate."""
GROUPS = (*AMOUNTS, "errors", "latency_ms")
FOREIGN = ("parts", "stop", "sla", "capture", "trace", "log", "fill", "load")
"""Keys of a step that dyno-loadgen carries out."""


def refuse_keys(step: schema.StepForm, scope: Scope) -> None:
    """Raises WorkloadError where a key is another driver's."""
    for name in DRIVERS:
        if step.driver != name and getattr(step, name) is not None:
            raise scope.at(name).error(f'goes with a program; write driver = "{name}", too')
    for key in ("pattern", "needs"):
        if getattr(step, key) and step.driver != "command":
            raise scope.at(key).error('goes with a program; write driver = "command", too')
    if step.driver == "loadgen":
        if step.limit_s is not None:
            raise scope.at("limit_s").error('goes with a program; write driver = "command", too')
        return
    if not getattr(step, step.driver):
        raise scope.at(step.driver).error(f'missing: driver = "{step.driver}" runs it')
    for key in FOREIGN:
        if key in step.model_fields_set and getattr(step, key):
            raise scope.at(key).error("only dyno-loadgen does that; remove it")
    headline = step.headline
    if headline is not None and (headline.count == "statements" or headline.each is not None):
        raise scope.at("headline").error(
            'a program reports operations and rows; write count = "operations", without `each`'
        )


def only_role(step: schema.StepForm, scope: Scope) -> tuple[Role, str]:
    """The role of the step, as a job has it, and its kind. Raises WorkloadError."""
    if len(step.roles) != 1:
        raise scope.at("roles").error(f"a program has one role, not {len(step.roles)}")
    ((name, role),) = step.roles.items()
    place = scope.at("roles", name)
    for key in role.model_fields_set - ROLE_KEYS:
        raise place.at(key).error("that is up to the program; remove it")
    connections = place.at("connections").integer(role.connections, low=1)
    if connections > CONNECTIONS_MAX:
        raise place.at("connections").error(f"at most {CONNECTIONS_MAX}, not {connections}")
    made = Role(name=name, per=role.per, connections=connections, pace=ClosedPace())
    others = "other" if step.driver == "command" else "query"  # whose headline is qps
    return made, role.kind or (name if name in KINDS else others)


def called(job: Job, step: schema.StepForm, scope: Scope) -> Job:
    """The job of the step with what says how the program is called."""
    seconds, warmup_s = job.stop.seconds or 0, job.stop.warmup_s
    limit_s = (
        LIMIT_S + warmup_s + seconds
        if step.limit_s is None
        else scope.at("limit_s").number(step.limit_s, low=1, high=LIMIT_S_MAX)
    )
    job = replace(job, driver=step.driver, workload=scope.source, limit_s=limit_s)
    if step.command is not None:
        place, written = scope.at("command"), step.command
        words = ["sh", "-c", written] if isinstance(written, str) else written
        pattern = _patterns(step, step.pattern, scope.at("pattern")) if step.pattern else None
        needs = tuple(map(scope.at("needs").text, step.needs))
        return replace(job, command=tuple(map(place.text, words)), needs=needs, pattern=pattern)
    if step.restore is not None:
        return replace(job, restore=msgspec.convert(step.restore.model_dump(), Restore))
    _windowed(step, seconds, scope)
    if step.pgbench is not None:
        return replace(job, pgbench=pgbench.called(step.pgbench, scope.at("pgbench")))
    assert step.sysbench is not None, "each driver has its key"
    for key, value in (("seconds", seconds), ("warmup_s", warmup_s)):
        if value != int(value):
            raise scope.at(key).error(f"sysbench takes whole seconds, not {value:g}")
    return replace(job, sysbench=sysbench.called(step.sysbench, scope.at("sysbench")))


def _patterns(step: schema.StepForm, written: program_schema.PatternForm, place: Scope) -> Pattern:
    """The patterns of a program's lines. Raises WorkloadError."""
    if step.headline is not None and step.headline.count != "operations":
        raise place.at("result").error('tells of operations; write count = "operations"')
    for key in ("open", "close", "result", "failed"):
        text = getattr(written, key)
        if text is None:
            continue
        try:
            groups = re.compile(text).groupindex.keys()
        except re.error as error:
            raise place.at(key).error(f"is not a regular expression: {error}") from error
        if other := groups - (GROUPS if key == "result" else set()):
            raise place.at(key).error(
                f"no group `{min(other)}` here; {suggestion(min(other), GROUPS)}"
            )
    if written.result is None:
        if step.measured:
            raise place.at("result").error("missing: a step that is measured needs a figure")
        return Pattern(**written.model_dump())
    amounts = re.compile(written.result).groupindex.keys() & set(AMOUNTS)
    if len(amounts) != 1:
        raise place.at("result").error(
            f"has {len(amounts)} groups that say how much was done; name one of "
            "(?P<count>…), (?P<per_s>…) and (?P<per_min>…)"
        )
    if written.decimal == written.thousands:
        raise place.at("thousands").error(f"`{written.decimal}` stands before fractions already")
    return Pattern(**written.model_dump())


def _windowed(step: schema.StepForm, seconds: float, scope: Scope) -> None:
    """Raises WorkloadError where the window is not one in the run of pgbench or sysbench."""
    if not seconds:
        raise scope.at("seconds").error(f"missing: they are the window in {step.driver}'s run")
    if step.headline is not None and step.headline.count != "operations":
        raise scope.at("headline").error(
            f'{step.driver} tells of operations; write count = "operations"'
        )
