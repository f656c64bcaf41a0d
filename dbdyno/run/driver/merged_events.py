"""Merges the events of several generators that share a job into those of one generator.

Times are those of this host's clock. Pure but for the wall clock, which `started` has.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from dbdyno.model.error import GeneratorError
from dbdyno.model.events import (
    AnyEvent,
    DoneEvent,
    Error,
    Event,
    EventOf,
    HelloEvent,
    Operation,
    PausedEvent,
    ReadyEvent,
    ResumedEvent,
    StartedEvent,
    Tick,
    WindowClose,
    WindowOpen,
)
from dbdyno.model.job import Job
from dbdyno.run.driver import merged_ticks

ERRORS_WRITTEN_MAX = 20
"""Of a role and code, unless they end the step (contract/README.md, "Events")."""
STATUSES = ("ok", "stopped", "failed")
"""How a step ended, the worst last."""


@dataclass(kw_only=True)
class Share:
    """What one generator has said so far."""

    name: str
    offset_ns: int  # its CLOCK_MONOTONIC minus ours
    here: bool  # whether it runs on this host
    said: dict[type[Event], Event] = field(default_factory=dict)  # the last of each kind, no ticks
    ticks: dict[int | None, list[Tick]] = field(default_factory=dict)  # not merged yet, by number
    drained: list[Tick] = field(default_factory=list)  # what was in flight as its window closed

    def last(self, form: type[EventOf]) -> EventOf | None:
        """The last event of a kind; None where there is none."""
        event = self.said.get(form)
        return event if isinstance(event, form) else None

    @property
    def over(self) -> bool:
        """Whether nothing of it counts any more."""
        return WindowClose in self.said or DoneEvent in self.said

    @property
    def status(self) -> str:
        """How it ended, or ends."""
        ends = self.last(DoneEvent) or self.last(WindowClose)
        return (ends and ends.status) or "ok"


class Merge:
    """Takes the events of all generators of a job as they come."""

    def __init__(self, job: Job, shares: Sequence[Share]) -> None:
        self.shares = shares
        self._job = job
        self._roles = len(job.roles) or 1  # of a fill
        self._held: list[AnyEvent] | None = []  # what came before all had said hello
        self._written: Counter[tuple[str, str]] = Counter()  # errors, by role and code
        self._paused: dict[int, AnyEvent] = {}
        self._resumed: dict[int, AnyEvent] = {}
        self._cause: Share | None = None  # who ended before its time, first
        self._closed = False

    @property
    def over(self) -> bool:
        """Whether all have said their last word."""
        return all(DoneEvent in share.said for share in self.shares)

    @property
    def broken(self) -> bool:
        """Whether one ended before its time, so that the others have nothing to go on for."""
        return self._cause is not None

    def starts_ns(self) -> dict[str, int]:
        """When each generator started that has, by our clock."""
        starts = ((share.name, share.last(StartedEvent)) for share in self.shares)
        return {name: start.mono_ns for name, start in starts if start}

    def take(self, number: int, event: AnyEvent) -> Iterator[AnyEvent]:
        """The merged events that are known by an event of generator `number`.

        Raises GeneratorError where generators of several versions share the job, ResultError where
        a histogram is none.
        """
        share = self.shares[number]
        event = _on_our_clock(event, share.offset_ns)
        first = not any(type(event) in other.said for other in self.shares)
        if not isinstance(event, Tick):
            share.said[type(event)] = event
        if self._cause is None and share.status != "ok":
            self._cause = share
        for merged in self._merged(event, number, first=first):
            yield from self._after_hello(merged)

    def _merged(self, event: AnyEvent, number: int, *, first: bool) -> Iterator[AnyEvent]:
        match event:
            case HelloEvent():
                yield from self._hello()
            case ReadyEvent():
                yield from self._ready()
            case StartedEvent() if first:
                ahead_ns = time.time_ns() - time.monotonic_ns()
                yield replace(event, unix_ns=event.mono_ns + ahead_ns)
            case WindowOpen() if first:
                yield event
            case StartedEvent() | WindowOpen():
                return
            case Error():
                place = event.role, event.code
                self._written[place] += 1
                if event.fatal or self._written[place] <= ERRORS_WRITTEN_MAX:
                    yield event
            case Tick():
                yield from self._tick(event, self.shares[number])
            case PausedEvent():
                self._paused[number] = event
                yield from self._answered()
            case ResumedEvent():
                self._resumed[number] = event
                yield from self._answered()
            case WindowClose():
                yield from self._window_close()
            case DoneEvent():
                yield from self._done()
            case _:
                yield event

    def _after_hello(self, merged: AnyEvent) -> Iterator[AnyEvent]:
        if self._held is None:
            yield merged
        elif isinstance(merged, HelloEvent):
            yield merged
            yield from self._held
            self._held = None
        else:
            self._held.append(merged)

    def _hello(self) -> Iterator[AnyEvent]:
        hellos = self._of_all(HelloEvent)
        if hellos is None:
            return
        each = list(zip(self.shares, hellos, strict=True))
        _refuse_unlike([(share.name, hello) for share, hello in each])
        here = [hello.pid for share, hello in each if share.here]
        yield replace(
            hellos[0],
            mono_ns=min(hello.mono_ns for hello in hellos),
            pid=here[0] if len(here) == 1 else None,
        )

    def _ready(self) -> Iterator[AnyEvent]:
        if readies := self._of_all(ReadyEvent):
            yield ReadyEvent(
                mono_ns=max(ready.mono_ns for ready in readies),
                setup_us=max(ready.setup_us or 0 for ready in readies),
                connections=sum(ready.connections or 0 for ready in readies),
                threads=sum(ready.threads or 0 for ready in readies),
                histogram_bytes_max=sum(ready.histogram_bytes_max or 0 for ready in readies),
            )

    def _tick(self, tick: Tick, share: Share) -> Iterator[AnyEvent]:
        if WindowClose in share.said:
            share.drained.append(tick)
            return
        share.ticks.setdefault(tick.tick, []).append(tick)
        yield from self._complete_ticks()

    def _complete_ticks(self) -> Iterator[AnyEvent]:
        """The ticks of the seconds that all have counted who have not closed their windows."""
        numbers = {number for share in self.shares for number in share.ticks if number is not None}
        for number in sorted(numbers):
            counted = [share.ticks.get(number, []) for share in self.shares]
            waited = zip(self.shares, counted, strict=True)
            if any(len(ticks) < self._roles and not share.over for share, ticks in waited):
                return
            for share in self.shares:
                share.ticks.pop(number, None)
            yield from merged_ticks.added([ticks for ticks in counted if ticks])

    def _answered(self) -> Iterator[AnyEvent]:
        """That all are quiet, or go on, whose windows are open."""
        going = {number for number, share in enumerate(self.shares) if not share.over}
        for answers in (self._paused, self._resumed):
            if answers and going and going <= answers.keys():
                yield max(answers.values(), key=lambda event: event.mono_ns)
                answers.clear()

    def _window_close(self) -> Iterator[AnyEvent]:
        yield from self._complete_ticks()
        yield from self._answered()
        closes = [share.last(WindowClose) for share in self.shares]
        known = [close for close in closes if close is not None]
        if not self._closed and known and all(share.over for share in self.shares):
            self._closed = True
            status = max((share.status for share in self.shares), key=STATUSES.index)
            yield WindowClose(
                mono_ns=max(close.mono_ns for close in known),
                active_ns=max(close.active_ns for close in known),
                ended=_ended(known),
                clients_end_ns=self._clients_end_ns(closes),
                status=None if status == "ok" else status,
            )

    def _clients_end_ns(self, closes: Sequence[WindowClose | None]) -> list[int | None]:
        """When each client ended: by its own generator, and by all where connections are shared."""
        names = self._job.stop.roles
        shared = any(role.per == "step" for role in self._job.roles if role.name in names)
        clients_end_ns: list[int | None] = []
        for client in range(self._job.clients):
            own = closes if shared else [closes[client % len(closes)]]
            ends = [(close.clients_end_ns or [])[client] if close else None for close in own]
            known = [end for end in ends if end is not None]
            clients_end_ns.append(max(known) if len(known) == len(ends) else None)
        return clients_end_ns

    def _done(self) -> Iterator[AnyEvent]:
        yield from self._window_close()
        dones = self._of_all(DoneEvent)
        if dones is None:
            return
        yield from merged_ticks.added([share.drained for share in self.shares if share.drained])
        status = max((done.status for done in dones), key=STATUSES.index)
        causes = [share for share in (self._cause, *self.shares) if share is not None]
        worst, reason = next(
            (share, done.reason)
            for share in causes
            if (done := share.last(DoneEvent)) is not None and done.status == status
        )
        if reason is not None and len(self.shares) > 1:
            reason = f"{reason} (generator on {worst.name})"
        yield DoneEvent(
            mono_ns=max(done.mono_ns for done in dones),
            status=status,
            reason=reason,
            totals=merged_ticks.totals([done.totals for done in dones]),
            peak_rss_bytes=sum(done.peak_rss_bytes or 0 for done in dones),
            cpu_us=sum(done.cpu_us or 0 for done in dones),
            threads=[
                replace(thread, host=share.name)
                for share, done in zip(self.shares, dones, strict=True)
                for thread in done.threads or ()
            ],
        )

    def _of_all(self, form: type[EventOf]) -> list[EventOf] | None:
        """The event of this kind of each generator; None while one is missing."""
        events = [event for share in self.shares if (event := share.last(form)) is not None]
        return events if len(events) == len(self.shares) else None


def _on_our_clock(event: AnyEvent, offset_ns: int) -> AnyEvent:
    """The event with the times of our clock."""
    mono_ns = event.mono_ns - offset_ns
    match event:
        case Operation():
            return replace(
                event,
                mono_ns=mono_ns,
                due_ns=event.due_ns - offset_ns,
                start_ns=event.start_ns - offset_ns,
                end_ns=event.end_ns - offset_ns,
            )
        case WindowClose():
            ended = event.ended or {}
            return replace(
                event,
                mono_ns=mono_ns,
                ended={role: _moved(times, offset_ns) for role, times in ended.items()},
                clients_end_ns=_moved(event.clients_end_ns or [], offset_ns),
            )
        case _:
            return replace(event, mono_ns=mono_ns)


def _moved(times: Sequence[int | None], offset_ns: int) -> list[int | None]:
    return [None if time_ns is None else time_ns - offset_ns for time_ns in times]


def _ended(closes: Sequence[WindowClose]) -> dict[str, list[int | None]]:
    """By role the last completion of each client, whoever had it."""
    by_close = [close.ended or {} for close in closes]
    roles = dict.fromkeys(role for ended in by_close for role in ended)
    return {
        role: [
            max(filter(None, ends), default=None)
            for ends in zip(*(ended[role] for ended in by_close), strict=True)
        ]
        for role in roles
    }


def _refuse_unlike(hellos: Sequence[tuple[str, HelloEvent]]) -> None:
    """Raises GeneratorError where generators are of several versions; each with its host."""
    (first_name, first), *others = hellos
    for name, hello in others:
        for key, own, other in (
            ("version", first.version, hello.version),
            ("commit", first.commit, hello.commit),
        ):
            if own is not None and other is not None and own != other:
                raise GeneratorError(
                    f"dyno-loadgen on {first_name} has {key} {own}, on {name} {other}: "
                    "install the same on both (`dyno host prepare --help`)"
                )
