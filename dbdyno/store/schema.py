"""The parts of result files that judging needs, so that damage names its file.

How forms are written is in dbdyno.model.form; those of events.jsonl are in dbdyno.model.events.
"""

from __future__ import annotations

from typing import Any

from dbdyno.model.form import NUMBER, Natural, misfit


class _Positive(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, NUMBER) and value > 0


class Positive(metaclass=_Positive):
    """A number above 0, as a rate that is asked for."""


class _Pace(type):
    def __instancecheck__(cls, value: object) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
            return False
        needed: dict[str, tuple[str, Any]] = {"tied": ("to", str), "rate": ("per_s", NUMBER)}
        key, of = needed.get(value["kind"], ("kind", str))
        return misfit(value.get(key), of) is None


class Pace(metaclass=_Pace):
    """When a role's operations are due: one that is `tied` says to whom, a `rate` how many."""


class _Code(type):
    def __instancecheck__(cls, value: object) -> bool:
        if not isinstance(value, list) or not value:
            return False
        return value[0] != "send" or (len(value) > 1 and isinstance(value[1], Natural))


class Code(metaclass=_Code):
    """An instruction of a program; one that sends says which statement, by its place."""


NAME = {"name": str}

PLAN = {"name": str, "base": str, "blocks": int, "arms": [NAME], "workloads?": [NAME]}
SERVER = {"settings?": (None, dict), "nondefault?": (None, dict), "preset?": (None, dict)}
JOB = {
    "clients": Natural,
    "engine?": str,
    "statements?": [{"name": str, "pieces?": list, "rows?": (None, *NUMBER)}],
    "programs?": [{"name": str, "code": [Code]}],
    "roles?": [{"name": str, "per": str, "connections": Natural, "pace": Pace}],
    "stop?": {"seconds": (None, *NUMBER), "warmup_s?": (None, *NUMBER)},
}
_SAMPLED = {
    "event": str,
    "hertz": Natural,
    "call_graph": str,
    "samples": Natural,
    "lost": Natural,
    "binaries": [{"path": str, "symbols": bool, "samples": Natural}],
    "seconds?": NUMBER,
    "counters?": {"*": NUMBER},
    "no_counters?": (None, str),
    "failure": None,
}
PROFILE = ({"failure": str}, _SAMPLED)
SNAPSHOT = {"tables?": (None, {"*": dict}), "explain?": (None, {"*": {"*": (None, str)}})}
GENERATOR = {
    "loads": [
        {
            "connections": int,
            "per_s": NUMBER,
            "cpu_us_per_operation": (None, *NUMBER),
            "threads": [{"busy_share": NUMBER}],
        }
    ]
}
