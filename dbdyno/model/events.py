"""The events of a load, one JSON object a line: the only schema of them (contract/README.md).

Who measures refuses what it does not know (`parse`). Who judges reads older results, which lack
newer keys, and names what only a newer version knows (`unknown`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dbdyno.model.error import GeneratorError
from dbdyno.model.form import NUMBER, Form, Natural
from dbdyno.model.json import Json

PROTOCOL = 1
"""Of jobs and events: the contract between dyno and what makes the load."""
COMMON = frozenset({"event", "mono_ns"})
"""The keys that every event has."""
SPIN = "spin"
"""The `wait` of a thread that looks for answers before it sleeps, and so is always busy."""
CLIENT_COLUMNS = 4

Told = Literal["seconds", "histograms", "connections", "rows", "lag", "pauses", "fills", "spins"]
"""What a driver may be able to tell: of each second; response times; which sessions of the server
are whose; rows; what it costs and delays by itself. `pauses`, `fills`, `spins`: what it can do."""


class _ClientRow(type):
    def __instancecheck__(cls, value: object) -> bool:
        if not isinstance(value, list) or len(value) < CLIENT_COLUMNS:
            return False
        count, rows, errors, max_us, *_ = value
        known = all(isinstance(one, Natural) for one in (count, errors))
        return known and all(one is None or isinstance(one, Natural) for one in (rows, max_us))


class ClientRow(metaclass=_ClientRow):
    """What a tick has of a client: operations, rows, errors, the longest response in µs.

    Rows and the longest response are null where they are not told.
    """


@dataclass(frozen=True, kw_only=True)
class Event:
    """The keys of an event beside `event` and `mono_ns`, with their forms.

    A key that may be missing has a `?`. Those of `told` are null where the driver does not tell
    them. `judged` are those that judging computes with: a result that lacks one is damaged, but
    for those with a `?`, which older results lack.
    """

    always: Mapping[str, Form] = field(default_factory=dict)
    told: Mapping[str, tuple[Told, Form]] = field(default_factory=dict)
    judged: tuple[str, ...] = ()

    @property
    def forms(self) -> dict[str, Form]:
        """The form of every key, with `mono_ns`; null is one where a driver may not tell it."""
        told = {key: (None, form) for key, (_, form) in self.told.items()}
        return {"mono_ns": Natural, **self.always, **told}


PART = {
    "count": Natural,
    "rows": (None, Natural),
    "empty?": (None, Natural),
    "retries?": (None, Natural),
    "retried?": (None, Natural),
    "errors?": (None, {"*": Natural}),
    "failed?": (None, {"*": Natural}),
    "skipped?": (None, Natural),
    "over_limit?": (None, Natural),
    "max_us": (None, Natural),
    "response": (None, str),
    "service?": (None, str),
    "sums_us?": (None, {"response": [NUMBER], "service": [NUMBER], "late": [NUMBER]}),
}
"""An operation of a tick."""
TIMES = {"max_us": (None, Natural), "response": str, "service": (None, str)}
"""An operation of a whole window, of a load that does not tell the times of its seconds."""

EVENTS: Mapping[str, Event] = {
    "hello": Event(
        always={"protocol": int, "version": str, "program?": str},
        told={
            "commit": ("lag", str),
            "profile": ("lag", str),
            "pid": ("lag", Natural),
        },
        judged=("protocol",),
    ),
    "connected": Event(
        always={
            "role": str,
            "client": Natural,
            "connection": Natural,
            "server_pid": Natural,
            "server_tid?": (None, Natural),
        }
    ),
    "ready": Event(
        always={"histogram_bytes_max?": (None, Natural)},
        told={
            "connections": ("connections", Natural),
            "threads": ("lag", Natural),
            "setup_us": ("lag", Natural),
        },
    ),
    "started": Event(always={"unix_ns": int}, judged=("mono_ns", "unix_ns")),
    "window_open": Event(judged=("mono_ns",)),
    "tick": Event(
        always={
            "active_ns": Natural,
            "measured": bool,
            "role": str,
            "per_client": [ClientRow],
            "operations": {"*": PART},
            "connection_ns?": (None, Natural),
            "connects?": (None, {"count": Natural, "sum_us": Natural, "max_us": Natural}),
        },
        told={
            "tick": ("seconds", int),  # those of the warm-up end with 0
            "late_us_max": ("lag", Natural),
            "backlog": ("lag", Natural),
            "cpu_us": ("lag", Natural),
            "lag": ("lag", str),
            "queue": ("lag", str),
        },
        judged=(
            *("tick", "active_ns", "measured", "role", "per_client", "operations"),
            *("late_us_max", "backlog", "lag?", "queue?", "connects?", "connection_ns?"),
        ),
    ),
    "paused": Event(judged=("mono_ns",)),
    "resumed": Event(judged=("mono_ns",)),
    "captured": Event(
        always={
            "role": str,
            "client": Natural,
            "connection": Natural,
            "statement": str,
            "columns": list,
            "rows": list,
            "notices": list,
        }
    ),
    "operation": Event(
        always={
            "role": str,
            "client": Natural,
            "connection": Natural,
            "operation": str,
            "number": Natural,
            "due_ns": Natural,
            "start_ns": Natural,
            "end_ns": Natural,
            "rows": Natural,
            "error": (None, str),
        }
    ),
    "error": Event(
        always={
            "role": str,
            "client": Natural,
            "connection": Natural,
            "operation": str,
            "code": str,
            "message": str,
            "fatal": bool,
        }
    ),
    "window_close": Event(
        always={"active_ns": Natural, "status?": str},
        told={
            "ended": ("connections", dict),
            "clients_end_ns": ("connections", [(None, Natural)]),
        },
        judged=("active_ns", "clients_end_ns"),
    ),
    "done": Event(
        always={
            "status": str,
            "reason": (None, str),
            "totals": dict,
            "report?": (None, dict),
            "window?": (None, {"*": {"*": TIMES}}),
        },
        told={
            "peak_rss_bytes": ("lag", Natural),
            "cpu_us": ("lag", Natural),
            "threads": ("lag", [{"busy_share": NUMBER}]),
        },
        judged=("threads?", "window?"),
    ),
}


def judged(name: str) -> Form:
    """The form of what judging needs of an event; of an unknown one no more than its name."""
    return _JUDGED.get(name, {"event": str})


def _judged(event: Event) -> dict[str, Form]:
    forms = event.forms
    return {key: forms[key if key in forms else key.removesuffix("?")] for key in event.judged}


_JUDGED = {name: _judged(event) for name, event in EVENTS.items()}
_OPTIONAL = {
    name: frozenset(key[:-1] for key in event.always if key[-1] == "?")
    for name, event in EVENTS.items()
}
_KEYS = {
    name: frozenset({*event.always, *event.told} - {f"{key}?" for key in _OPTIONAL[name]})
    for name, event in EVENTS.items()
}
_KNOWN = {name: COMMON | _KEYS[name] | _OPTIONAL[name] for name in EVENTS}


def parse(line: str) -> Json:
    """One line of dyno-loadgen as a dictionary, for who measures.

    Raises GeneratorError where the line is no event of the contract or has other keys.
    """
    try:
        event = json.loads(line)
    except ValueError as error:
        raise GeneratorError(f"dyno-loadgen wrote a line that is no JSON: {line[:200]}") from error
    if not isinstance(event, dict) or event.get("event") not in EVENTS:
        raise GeneratorError(f"dyno-loadgen wrote an unknown event: {line[:200]}")
    name = event["event"]
    wrong = _KEYS[name] ^ (event.keys() - COMMON - _OPTIONAL[name])
    if wrong or "mono_ns" not in event:
        raise GeneratorError(
            f"dyno-loadgen's event `{name}` does not fit the contract: "
            f"check {', '.join(f'`{key}`' for key in sorted(wrong)) or '`mono_ns`'}"
        )
    return event


def unknown(event: Json) -> tuple[str, ...]:
    """What of an event only a newer version knows, in words, for who judges.

    It may change what the known ones mean.
    """
    name = event["event"]
    if name not in _KNOWN:
        return (f"the event `{name}`",)
    novel = event.keys() - _KNOWN[name]
    of = "ticks" if name == "tick" else f"`{name}`"
    return tuple(f"the key `{key}` of {of}" for key in sorted(novel))
