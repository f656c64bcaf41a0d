"""What judging needs the files of a result to hold, so that a damaged one is known by its name.

A form is a type, `None`, a tuple of forms of which one has to fit, a list of one form for all
items, or a dict: forms by key, a key that may be missing with `?`, and `*` for all other keys.
Keys that no form names are let through: a newer version may have more to say.
"""

from __future__ import annotations

from typing import Any

NUMBER = (int, float)


class _Natural(type):
    def __instancecheck__(cls, value: object) -> bool:
        return type(value) is int and 0 <= value <= NATURAL_MAX


class Natural(metaclass=_Natural):
    """A whole number that is not negative and that 64 bits hold, as counts and times are."""


class _ClientRow(type):
    def __instancecheck__(cls, value: object) -> bool:
        return (
            isinstance(value, list)
            and len(value) >= CLIENT_COLUMNS
            and all(isinstance(one, Natural) for one in value)
        )


class ClientRow(metaclass=_ClientRow):
    """What a tick has of a client: operations, rows, errors, the longest response in µs."""


class _Counters(type):
    def __instancecheck__(cls, value: object) -> bool:
        if isinstance(value, dict):
            return all(isinstance(one, Counters) for key, one in value.items() if key != "device")
        return value is None or type(value) is int or type(value) is float


class Counters(metaclass=_Counters):
    """A counter, null where it is not known, or an object of such; a `device` may be anything."""


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


class _Session(type):
    def __instancecheck__(cls, value: object) -> bool:
        if not isinstance(value, list) or len(value) != SESSION_COLUMNS:
            return False
        *words, count = value
        return isinstance(count, NUMBER) and all(isinstance(one, str | None) for one in words)


class Session(metaclass=_Session):
    """So many sessions doing one thing: owner, kind, event, statement, how many."""


SESSION_COLUMNS = 5
NATURAL_MAX = 2**63 - 1
CLIENT_COLUMNS = 4
PROTOCOL = 1
"""Of jobs and events: the contract between dyno and dyno-loadgen."""
NAME = {"name": str}

PLAN = {"name": str, "base": str, "blocks": int, "arms": [NAME], "workloads?": [NAME]}
SERVER = {"settings?": (None, dict), "nondefault?": (None, dict), "preset?": (None, dict)}
ORDER = {"order": [str], "steps?": (None, {"*": [str]})}
BLOCK_DONE = {"took_s?": NUMBER, "steps_s?": {"*": {"*": NUMBER}}, "disturbed?": [str]}
SIZING = {
    "pilot": int,
    "fresh": int,
    "minutes": NUMBER,
    "steps": [
        {
            "workload": str,
            "step": str,
            "sd": {"*": NUMBER},
            "blocks": int,
            "power": NUMBER,
            "capped": bool,
        }
    ],
}
GOLDEN = {
    "began": bool,
    "workload": str,
    "step": str,
    "step_ordinal": int,
    "key": str,
    "made_unix_ns": int,
}
STEP = {
    "workload": str,
    "ordinal": int,
    "name": str,
    "measured": bool,
    "headline?": (
        None,
        {"metric": str, "role": str, "count": str, "work": (None, int), "each?": (None, int)},
    ),
    "group?": (None, str),
    "sla?": (None, {"role": str, "rows_per_s": Positive}),
    "roles?": {"*": str},
}
JOB = {
    "clients": Natural,
    "engine?": str,
    "statements?": [{"name": str, "pieces?": list, "rows?": (None, *NUMBER)}],
    "programs?": [{"name": str, "code": [Code]}],
    "roles?": [{"name": str, "per": str, "connections": Natural, "pace": Pace}],
    "stop?": {"seconds": (None, *NUMBER)},
}
DONE = {
    "canary?": (None, dict),
    "log_events?": (
        None,
        [{"unix_ms": NUMBER, "kind": str, "text": str, "duration_s?": (None, *NUMBER)}],
    ),
    "checks?": (None, [{"what": str, "ok": bool, "expected": object, "actual": object}]),
    "warnings?": (None, list),
    "turns?": (None, {"order": [str]}),
}
FAILED = {"status": str, "reason": (None, str), "log_events?": DONE["log_events?"]}
SNAPSHOT = {"tables?": (None, {"*": dict}), "explain?": (None, {"*": {"*": (None, str)}})}
READING = {
    "kind": str,
    "mono_ns": Natural,
    "delay_ns?": (None, Natural),
    "read_ns?": (None, *NUMBER),
    "host?": Counters,
    "disk?": Counters,
    "rss_bytes?": (None, *NUMBER),
    "owners?": {"*": {"*": Counters}},
}
WAITS = {"asked_ns": int}
LOOK = {"mono_ns": int, "took_us": NUMBER, "sessions": [Session], "idle": {"*": int}}
WAITS_END = {"samples": int, "late": int, "cpu_us": NUMBER}
EVENTS: dict[str, dict[str, Any]] = {
    "hello": {"protocol": int},
    "started": {"mono_ns": int, "unix_ns": int},
    "window_open": {"mono_ns": Natural},
    "window_close": {"active_ns": Natural, "clients_end_ns": (None, [(None, Natural)])},
    "paused": {"mono_ns": Natural},
    "resumed": {"mono_ns": Natural},
    "done": {"threads?": (None, [{"busy_share": NUMBER}])},
    "tick": {
        "tick": Natural,
        "active_ns": Natural,
        "measured": bool,
        "role": str,
        "per_client": [ClientRow],
        "operations": {
            "*": {
                "count": Natural,
                "rows": Natural,
                "empty?": Natural,
                "retries?": Natural,
                "max_us": Natural,
                "response": str,
                "service?": str,
            }
        },
        "late_us_max": Natural,
        "backlog": Natural,
        "lag?": (None, str),
        "queue?": (None, str),
    },
}
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


def misfit(value: Any, form: Any) -> str | None:
    """Where a value is not of the form, in words; None where it is."""
    found = _misfit(value, form)
    if found is None:
        return None
    path, words = found
    where = path.removeprefix(".")
    return words.format(f"`{where}` " if where else "", where=where)


def _misfit(value: Any, form: Any) -> tuple[str, str] | None:
    """The place, and what is wrong there; places are put together only where something is."""
    if isinstance(form, dict):
        return _of_object(value, form)
    if isinstance(form, list):
        return _of_list(value, form[0])
    if isinstance(form, tuple):
        return _of_several(value, form)
    fits = value is None if form is None else isinstance(value, form)
    return None if fits else ("", "{}is " + _short(value))


def _of_several(value: Any, forms: tuple[Any, ...]) -> tuple[str, str] | None:
    found: tuple[str, str] | None = None
    for one in forms:
        found = _misfit(value, one)
        if found is None:
            return None
    return found


def _of_object(value: Any, form: dict[str, Any]) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return "", "{}is no object"
    for key, inner in form.items():
        if key == "*":
            for name, one in value.items():
                if found := _misfit(one, inner):
                    return f".{name}{found[0]}", found[1]
            continue
        name = key[:-1] if key[-1] == "?" else key
        if name not in value:
            if name == key:
                return f".{name}", "the key `{where}` is missing"
        elif found := _misfit(value[name], inner):
            return f".{name}{found[0]}", found[1]
    return None


def _of_list(value: Any, form: Any) -> tuple[str, str] | None:
    if not isinstance(value, list):
        return "", "{}is no list"
    for place, one in enumerate(value):
        if found := _misfit(one, form):
            return f"[{place}]{found[0]}", found[1]
    return None


def _short(value: Any) -> str:
    text = repr(value)
    short = text if len(text) <= 40 else f"{text[:40]}…"
    return short.replace("{", "{{").replace("}", "}}")
