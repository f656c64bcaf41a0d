"""A step whose load a program makes, as its job: one role, and how the program is called."""

from __future__ import annotations

from dbdyno.model import Json
from dbdyno.workload import schema
from dbdyno.workload.role import CONNECTIONS_MAX, KINDS
from dbdyno.workload.scope import Scope

LIMIT_S = 600.0
"""What a program may take beside the step's seconds where the file says no limit."""
LIMIT_S_MAX = 2_592_000
ROLE_KEYS = frozenset({"connections", "kind", "per"})
"""What a role says of a program; what else it does is the program's."""
FOREIGN = ("parts", "stop", "sla", "capture", "trace", "fill", "load")
"""Keys of a step that dyno-loadgen carries out."""


def refuse_keys(step: schema.Step, scope: Scope) -> None:
    """Raises WorkloadError where a key is the other driver's."""
    if step.driver == "loadgen":
        for key in ("command", "limit_s"):
            if getattr(step, key) is not None:
                raise scope.at(key).error('goes with a program; write driver = "command", too')
        return
    if not step.command:
        raise scope.at("command").error('missing: driver = "command" runs it')
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
    return made, role.kind or (name if name in KINDS else "other")


def call(step: schema.Step, seconds: float | None, warmup_s: float, scope: Scope) -> Json:
    """How the program is called: the job's keys beside those of every step."""
    command = step.command or []
    words = ["sh", "-c", command] if isinstance(command, str) else command
    place = scope.at("command")
    limit_s = (
        LIMIT_S + warmup_s + (seconds or 0.0)
        if step.limit_s is None
        else scope.at("limit_s").number(step.limit_s, low=1, high=LIMIT_S_MAX)
    )
    return {
        "driver": step.driver,
        "command": [place.text(word) for word in words],
        "workload": scope.source,
        "limit_s": limit_s,
    }
