"""What judging needs the files of a result to hold, so that a damaged one is known by its name.

A form is a type, `None`, a tuple of forms of which one has to fit, a list of one form for all
items, or a dict: forms by key, a key that may be missing with `?`, and `*` for all other keys.
Keys that no form names are let through: a newer version may have more to say.
"""

from __future__ import annotations

from typing import Any

PROTOCOL = 1
"""Of jobs and events: the contract between dyno and dyno-loadgen."""
NUMBER = (int, float)
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
    "sla?": (None, {"role": str, "rows_per_s": NUMBER}),
    "roles?": {"*": str},
}
JOB = {
    "statements?": [NAME],
    "programs?": [{"name": str, "code": [list]}],
    "roles?": [{"name": str, "pace?": dict}],
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
SNAPSHOT = {"tables?": (None, {"*": dict})}
READING = {"kind": str, "mono_ns": int, "owners?": dict}
WAITS = {"asked_ns": int}
LOOK = {"mono_ns": int, "took_us": NUMBER, "sessions": [list], "idle": {"*": int}}
WAITS_END = {"samples": int, "late": int, "cpu_us": NUMBER}
EVENTS: dict[str, dict[str, Any]] = {
    "hello": {"protocol": int},
    "started": {"mono_ns": int, "unix_ns": int},
    "window_open": {"mono_ns": int},
    "window_close": {"active_ns": int, "clients_end_ns": (None, [(None, int)])},
    "done": {"threads?": (None, [{"busy_share": NUMBER}])},
}
"""Of ticks, which are many, `analysis.raw` says itself what they lack."""
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


def misfit(value: Any, form: Any, where: str = "") -> str | None:
    """Where a value is not of the form, in words; None where it is."""
    if isinstance(form, dict):
        return _of_object(value, form, where)
    if isinstance(form, list):
        return _of_list(value, form[0], where)
    if isinstance(form, tuple):
        found = [misfit(value, one, where) for one in form]
        return None if None in found else found[-1]
    fits = value is None if form is None else isinstance(value, form)
    return None if fits else f"`{where}` is {_short(value)}"


def _of_object(value: Any, form: dict[str, Any], where: str) -> str | None:
    if not isinstance(value, dict):
        return f"`{where}` is no object" if where else "is no object"
    for key, inner in form.items():
        name = key.removesuffix("?")
        names = list(value) if key == "*" else [name] if name in value else []
        if key == name != "*" and not names:
            return f"the key `{_path(where, name)}` is missing"
        for one in names:
            if found := misfit(value[one], inner, _path(where, one)):
                return found
    return None


def _of_list(value: Any, form: Any, where: str) -> str | None:
    if not isinstance(value, list):
        return f"`{where}` is no list"
    found = (misfit(one, form, f"{where}[{place}]") for place, one in enumerate(value))
    return next((text for text in found if text), None)


def _path(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
