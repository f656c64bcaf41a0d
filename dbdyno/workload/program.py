"""A step whose load a program makes, as its job: one role, and how the program is called."""

from __future__ import annotations

from dbdyno.model import Json
from dbdyno.workload import pgbench, schema
from dbdyno.workload.role import CONNECTIONS_MAX, KINDS
from dbdyno.workload.scope import Scope

LIMIT_S = 600.0
"""What a program may take beside the step's seconds where the file says no limit."""
LIMIT_S_MAX = 2_592_000
DRIVERS = ("command", "pgbench")
"""Programs by their driver; each has a key of a step by its name, which says what it runs."""
ROLE_KEYS = frozenset({"connections", "kind", "per"})
"""What a role says of a program; what else it does is the program's."""
FOREIGN = ("parts", "stop", "sla", "capture", "trace", "fill", "load")
"""Keys of a step that dyno-loadgen carries out."""


def refuse_keys(step: schema.Step, scope: Scope) -> None:
    """Raises WorkloadError where a key is another driver's."""
    for name in DRIVERS:
        if step.driver != name and getattr(step, name) is not None:
            raise scope.at(name).error(f'goes with a program; write driver = "{name}", too')
    if step.driver == "loadgen":
        if step.limit_s is not None:
            raise scope.at("limit_s").error('goes with a program; write driver = "command", too')
        return
    if not getattr(step, step.driver):
        raise scope.at(step.driver).error(f'missing: driver = "{step.driver}" runs it')
    for key in FOREIGN:
        if key in step.model_fields_set and getattr(step, key):
            raise scope.at(key).error("dyno-loadgen does that and no other program; remove it")
    headline = step.headline
    if headline is not None and (headline.count == "statements" or headline.each is not None):
        raise scope.at("headline").error(
            'a program tells of operations and rows; write count = "operations", without `each`'
        )


def one_role(step: schema.Step, scope: Scope) -> tuple[Json, str]:
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
    made = {
        "name": name,
        "per": role.per,
        "connections": connections,
        "choose": [],
        "table": None,
        "pace": {"kind": "closed"},
        "stop": None,
        "after": [],
    }
    others = "other" if step.pgbench is None else "query"  # whose headline is qps
    return made, role.kind or (name if name in KINDS else others)


def call(step: schema.Step, seconds: float | None, warmup_s: float, scope: Scope) -> Json:
    """How the program is called: the job's keys beside those of every step."""
    limit_s = (
        LIMIT_S + warmup_s + (seconds or 0.0)
        if step.limit_s is None
        else scope.at("limit_s").number(step.limit_s, low=1, high=LIMIT_S_MAX)
    )
    return {"driver": step.driver, "workload": scope.source, "limit_s": limit_s} | (
        {"command": _words(step.command or [], scope.at("command"))}
        if step.pgbench is None
        else {"pgbench": _pgbench(step, step.pgbench, seconds, scope)}
    )


def _words(command: str | list[str], place: Scope) -> list[str]:
    words = ["sh", "-c", command] if isinstance(command, str) else command
    return [place.text(word) for word in words]


def _pgbench(
    step: schema.Step, written: schema.Pgbench, seconds: float | None, scope: Scope
) -> Json:
    if not seconds:
        raise scope.at("seconds").error("missing: they are the window in pgbench's run")
    if step.headline is not None and step.headline.count != "operations":
        raise scope.at("headline").error('pgbench tells of operations; write count = "operations"')
    return pgbench.called(written, scope.at("pgbench"))
