"""Reads a program's output as events of the contract (contract/README.md).

Its lines are events themselves; of a program that knows nothing of dyno see `pattern.py`.
"""

import time
from collections.abc import Iterator, Mapping
from functools import cache
from types import NoneType
from typing import Protocol, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from dbdyno.model import Json
from dbdyno.model.error import GeneratorError
from dbdyno.model.events import (
    EVENTS,
    PROTOCOL,
    AnyEvent,
    ConnectedEvent,
    DoneEvent,
    Event,
    HelloEvent,
    PausedEvent,
    ReadyEvent,
    ResumedEvent,
    StartedEvent,
    Tick,
    TickPart,
    Totals,
    WindowClose,
    WindowOpen,
    name_of,
    unknown,
)
from dbdyno.model.job import Job
from dbdyno.model.json import misfit_words

OWN_EVENTS = (HelloEvent, ReadyEvent, StartedEvent, PausedEvent, ResumedEvent)
"""Events that dyno writes for a program."""


class LineReader(Protocol):
    """Turns a program's lines into events; pure but for the clock."""

    @property
    def closed(self) -> bool:
        """Whether the window has closed."""

    @property
    def over(self) -> bool:
        """Whether the program has said `done` itself."""

    @property
    def failed(self) -> bool:
        """Whether a line meant failure: the program is ended, as nothing of it counts any more."""

    def hear(self, line: str) -> None:
        """Takes a line of standard error."""

    def begun(self) -> Iterator[AnyEvent]:
        """The events of the program's start."""

    def events(self, line: str) -> Iterator[AnyEvent]:
        """The events of a line. Raises GeneratorError where it is not as agreed."""

    def missing(self) -> str | None:
        """Why the lines of a program that ended well are no measurement; None: they are one."""

    def done(self, status: str, reason: str | None) -> Iterator[AnyEvent]:
        """The last events."""


def hello(job: Job) -> HelloEvent:
    """The event that names the program."""
    return HelloEvent(
        mono_ns=time.monotonic_ns(), protocol=PROTOCOL, version=job.version, program=job.program
    )


def now_started() -> StartedEvent:
    """The event that a load has started now."""
    return StartedEvent(mono_ns=time.monotonic_ns(), unix_ns=time.time_ns())


def ended(status: str, reason: str | None, totals: dict[str, Totals]) -> DoneEvent:
    """The last event, now."""
    return DoneEvent(mono_ns=time.monotonic_ns(), status=status, reason=reason, totals=totals)


def untimed(count: int, *, retries: int | None = None) -> TickPart:
    """An operation of a program that counts, and tells nothing else."""
    return TickPart(
        count=count,
        rows=None,
        retries=retries,
        retried=None,
        skipped=None,
        over_limit=None,
        max_us=None,
        response=None,
    )


class ProgramLines:
    """The lines of a program as events of the contract, in their order; pure but for the clock."""

    def __init__(self, job: Job) -> None:
        self.closed = False  # whether the window has closed
        self.over = False
        self.failed = False  # such a program says by its status whether it failed
        self._job = job
        self._role = job.roles[0].name
        self._open = False
        self._totals = {"count": 0, "rows": 0, "errors": 0, "retries": 0}
        self._untold: set[str] = set()  # of the totals

    def hear(self, line: str) -> None:
        """Nothing: standard error is for people."""

    def begun(self) -> Iterator[AnyEvent]:
        """Nothing: it opens its window itself."""
        return iter(())

    def events(self, line: str) -> Iterator[AnyEvent]:
        """The event that a line is; none of an empty one. Raises GeneratorError."""
        if line.strip():
            yield self._event(line)

    def missing(self) -> str | None:
        """Why the lines of a program that ended well are no measurement; None: they are one."""
        return (
            None if self.closed else f"`{self._job.program}` ended without the event `window_close`"
        )

    def done(self, status: str, reason: str | None) -> Iterator[AnyEvent]:
        """The last event, with the totals of the ticks; null where they do not tell."""
        totals = {
            key: None if key in self._untold else value for key, value in self._totals.items()
        }
        yield ended(status, reason, {self._role: msgspec.convert(totals, Totals)})

    def _event(self, line: str) -> AnyEvent:
        """A line that the program wrote, whole. Raises GeneratorError where it is no event."""
        keys = _object(line)
        name = str(keys.get("event"))
        if name not in EVENTS:
            raise self._refused(line, "is not an event; send other output to standard error")
        form = EVENTS[name]
        if form in OWN_EVENTS:
            raise self._refused(
                line, f"`{name}` is written by dyno alone; begin with `window_open`"
            )
        if form in (Tick, ConnectedEvent):
            keys = {"role": self._role} | keys
        if form is DoneEvent:
            keys = {"reason": None, "totals": {}} | keys
        if novel := unknown(form, keys):
            words = " and ".join(f"the key `{key}` of `{name}`" for key in novel)
            raise self._refused(line, f"has {words}, which dyno does not know")
        try:
            event = made(form, keys)
        except msgspec.ValidationError as error:
            raise self._refused(line, misfit_words(error)) from error
        role = getattr(event, "role", self._role)
        if role != self._role:
            raise self._refused(line, f"`role` is {role!r}, and the step has `{self._role}` only")
        if (wrong := self._out_of_order(event)) is not None:
            raise self._refused(line, wrong)
        if isinstance(event, Tick):
            self._count(event)
        return event

    def _refused(self, line: str, wrong: str) -> GeneratorError:
        return GeneratorError(
            f"`{self._job.program}` wrote a line that does not fit contract/README.md: "
            f"{wrong}: {line.strip()[:200]}"
        )

    def _out_of_order(self, event: AnyEvent) -> str | None:
        """The mistake in an event that comes now, or None; takes note of the window's ends."""
        closed = self.closed or not self._open
        match event:
            case WindowOpen():
                if self._open:
                    return "the window is open already"
                self._open = True
            case WindowClose():
                if closed:
                    return "no window is open"
                self.closed = True
            case Tick(measured=True) if closed:
                return "no window is open"
            case DoneEvent():
                self.over = True
        return None

    def _count(self, tick: Tick) -> None:
        amounts: dict[str, list[int | None]] = {
            "count": [client.count for client in tick.per_client],
            "rows": [client.rows for client in tick.per_client],
            "errors": [client.errors for client in tick.per_client],
            "retries": [part.retries for part in tick.operations.values()],
        }
        for key, values in amounts.items():
            self._totals[key] += sum(filter(None, values))
            if None in values:
                self._untold.add(key)


def _object(line: str) -> Json:
    """The object in a line; an empty one where it is none."""
    try:
        return msgspec.json.decode(line, type=Json)
    except msgspec.DecodeError:
        return {}


def made(form: type[Event], keys: Mapping[str, object]) -> AnyEvent:
    """An event of a load that does not tell all: now, and null where `keys` say nothing.

    Raises msgspec.ValidationError where a key is missing that every load tells, or does not fit.
    """
    whole = {"event": name_of(form), "mono_ns": time.monotonic_ns(), **_untold(form), **keys}
    parts = whole.get("operations")
    if isinstance(parts, dict):
        whole["operations"] = {
            name: {**_untold(TickPart), **part} if isinstance(part, dict) else part
            for name, part in parts.items()
        }
    event: AnyEvent = msgspec.convert(whole, AnyEvent)
    return event


@cache
def _untold(form: type[Struct]) -> Mapping[str, None]:
    """Null for each key that may be null; made once, as it reads the annotations."""
    return {field.name: None for field in fields(form) if NoneType in get_args(field.type)}
