"""Reads a program's output as events of the contract (contract/README.md).

Its lines are events themselves; of a program that knows nothing of dyno see `pattern.py`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Protocol

from dbdyno.model import Json, events
from dbdyno.model.error import GeneratorError
from dbdyno.model.form import misfit

OWN_EVENTS = ("hello", "ready", "started", "paused", "resumed")
"""Events that dyno writes for a program."""


class Reader(Protocol):
    """Turns a program's lines into events; pure but for the clock."""

    @property
    def closed(self) -> bool:
        """Whether the window has closed."""

    @property
    def over(self) -> bool:
        """Whether the program has said `done` itself."""

    def begun(self) -> Iterator[Json]:
        """The events of the program's start."""

    def events(self, line: str) -> Iterator[Json]:
        """The events of a line. Raises GeneratorError where it is not as agreed."""

    def missing(self) -> str | None:
        """Why the lines of a program that ended well are no measurement; None: they are one."""

    def done(self, status: str, reason: str | None) -> Iterator[Json]:
        """The last events."""


def hello(job: Json) -> Json:
    """The event that names the program."""
    own = {"protocol": events.PROTOCOL, "version": job["version"]}
    return completed({"event": "hello", **own, "program": job["program"]})


def ready() -> Json:
    """A program can always begin."""
    return completed({"event": "ready"})


class Lines:
    """The lines of a program as events of the contract, in their order; pure but for the clock."""

    def __init__(self, job: Json) -> None:
        self.closed = False  # whether the window has closed
        self.over = False
        self._job = job
        self._role: str = job["roles"][0]["name"]
        self._open = False
        self._totals = {"count": 0, "rows": 0, "errors": 0, "retries": 0}
        self._untold: set[str] = set()  # of the totals

    def begun(self) -> Iterator[Json]:
        """Nothing: it opens its window itself."""
        return iter(())

    def events(self, line: str) -> Iterator[Json]:
        """The event that a line is; none of an empty one. Raises GeneratorError."""
        if line.strip():
            yield self._event(line)

    def missing(self) -> str | None:
        """Why the lines of a program that ended well are no measurement; None: they are one."""
        return (
            None
            if self.closed
            else f"`{self._job['program']}` ended without the event `window_close`"
        )

    def done(self, status: str, reason: str | None) -> Iterator[Json]:
        """The last event, with the totals of the ticks; null where they do not tell."""
        totals = {
            key: None if key in self._untold else value for key, value in self._totals.items()
        }
        yield completed(
            {"event": "done", "status": status, "reason": reason, "totals": {self._role: totals}}
        )

    def _event(self, line: str) -> Json:
        """A line that the program wrote, whole. Raises GeneratorError where it is no event."""
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict) or event.get("event") not in events.EVENTS:
            self._refuse(line, "is not an event; send other output to standard error")
        name = event["event"]
        if name in OWN_EVENTS:
            self._refuse(line, f"`{name}` is written by dyno alone; begin with `window_open`")
        if name in ("tick", "connected"):
            event = {"role": self._role} | event
        if name == "done":
            event = {"reason": None, "totals": {}} | event
        event = completed(event)
        wrong = misfit(event, events.EVENTS[name].forms)
        if wrong is None and (novel := events.unknown(event)):
            wrong = f"has {' and '.join(novel)}, which dyno does not know"
        if wrong is None and event.get("role", self._role) != self._role:
            wrong = f"`role` is {event['role']!r}, and the step has `{self._role}` only"
        self._refuse(line, wrong or self._out_of_order(name, measured=event.get("measured", False)))
        self._count(event)
        return event

    def _refuse(self, line: str, wrong: str | None) -> None:
        if wrong is not None:
            raise GeneratorError(
                f"`{self._job['program']}` wrote a line that does not fit contract/README.md: "
                f"{wrong}: {line.strip()[:200]}"
            )

    def _out_of_order(self, name: str, *, measured: bool) -> str | None:
        """The mistake in an event that comes now, or None; takes note of the window's ends."""
        if name == "window_open":
            if self._open:
                return "the window is open already"
            self._open = True
        if name == "window_close":
            if self.closed or not self._open:
                return "no window is open"
            self.closed = True
        elif name == "tick" and measured and (self.closed or not self._open):
            return "no window is open"
        if name == "done":
            self.over = True
        return None

    def _count(self, event: Json) -> None:
        if event["event"] != "tick":
            return
        parts = [part.get("retries") for part in event["operations"].values()]
        columns = {
            "count": [row[0] for row in event["per_client"]],
            "rows": [row[1] for row in event["per_client"]],
            "errors": [row[2] for row in event["per_client"]],
            "retries": parts,
        }
        for key, values in columns.items():
            self._totals[key] += sum(filter(None, values))
            if None in values:
                self._untold.add(key)


def completed(event: Mapping[str, object]) -> Json:
    """The event with the moment at which it was read, and null where it tells nothing."""
    its = events.EVENTS[str(event["event"])]
    whole: Json = {"mono_ns": time.monotonic_ns(), **dict.fromkeys(its.told), **event}
    parts = whole.get("operations")
    if isinstance(parts, dict):
        told = dict.fromkeys(key.removesuffix("?") for key in events.PART if key != "count")
        whole["operations"] = {
            name: told | part if isinstance(part, dict) else part for name, part in parts.items()
        }
    return whole
