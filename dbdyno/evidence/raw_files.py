"""A step's raw files as values: the window, its ticks, counters at the window's two ends."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from msgspec.structs import asdict

from dbdyno.model import Json, events
from dbdyno.model.events import ClientCounts, ConnectionCost, TickPart
from dbdyno.model.host_reading import Device, DeviceCounters, HostReading, growth
from dbdyno.model.job import SETTLE_S_DEFAULT
from dbdyno.model.processor import CPU_STATES
from dbdyno.model.wait_samples import WaitLook
from dbdyno.stats.amounts import longest, total

NS_PER_S = 1_000_000_000
MS_PER_S = 1_000
BytesOf = Callable[[DeviceCounters], float | None]
"""A counter of a device, or some together."""
WHOLE_TICK_SHARE = 0.999
"""A tick at least so long, in seconds, is a whole one; the last of a window is usually shorter."""


@dataclass(frozen=True, kw_only=True)
class WindowTick:
    """One second of one role within the window."""

    role: str
    end_s: float  # active seconds since the window's start
    seconds: float  # how long it was
    count: int
    rows: int | None  # None, as all that follows: the load does not tell it
    errors: int  # those that were tried again too
    max_us: int | None
    retries: int | None
    skipped: int  # left out, as they missed their latency limit before they could begin
    over_limit: int  # without error, but over their latency limit
    late_us_max: int | None
    backlog: int | None
    lag: str | None  # a histogram, as are those of operations; None in older results
    queue: str | None
    operations: Mapping[str, TickPart]
    connection_ns: int | None = None  # for how long connections had what counts, if that ended
    connects: ConnectionCost | None = None  # opened by operations for themselves, if any
    clients: Sequence[ClientCounts] = ()
    cpu_us: int | None = None  # of the load generator

    @property
    def whole(self) -> bool:
        """Whether the tick lasted a whole second."""
        return self.seconds >= WHOLE_TICK_SHARE


@dataclass(frozen=True)
class OperationSums:
    """Of the operations of a window: how many ended, and what their times add up to."""

    count: int
    by_times: Mapping[str, tuple[float, float]]  # response, service, late: µs; their squares


@dataclass(frozen=True, kw_only=True)
class LoadReport:
    """The load generator's report of a step."""

    open_ns: int | None  # CLOCK_MONOTONIC at the window's start
    unix_minus_mono_ns: int | None
    seconds: float | None  # the window's exact length; None where it was not closed
    ticks: tuple[WindowTick, ...]  # of the window
    clients_end_ns: tuple[int, ...]  # of steps bound by work, else empty; without pauses
    pauses: tuple[tuple[int, int], ...] = ()  # within the window: from, and until it counts again
    done: events.DoneEvent | None = None  # the last event; None where it is missing
    names: Mapping[str, int] = field(default_factory=dict)  # how often each event, but for ticks
    drained_s: float = 0.0  # from the window's close to the end of what was in flight then
    lasted_s: float | None = None  # from its beginning to the window's end, warm-up and pauses too
    in_seconds: bool = True  # whether ticks are of a second, and not of the window as a whole
    unknown: tuple[str, ...] = ()  # events and keys that this version does not know, in words
    generator: str | None = None  # version and commit of dyno-loadgen; None: another program
    in_ticks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By role what all ticks add up to, as `in_ticks` of the generator's totals has it."""
    stamps_ns: Sequence[int] = ()  # when each event was, but for single operations
    disordered: tuple[str, ...] = ()  # roles whose ticks go back in number or time, or stand twice
    session_ends: Sequence[events.SessionEnd] = ()
    connections: Mapping[str, float] = field(default_factory=dict)
    """By role: how many connections had operations that count, on average over the window.

    Roles whose operations count where they ended are missing: of other programs, older results.
    """

    @property
    def totals(self) -> Mapping[str, events.Totals]:
        """What each role did in all; nothing where the last event is missing."""
        return {} if self.done is None else self.done.totals

    @property
    def resumptions(self) -> int:
        """How often the load went on after a pause, in the warm-up too."""
        return self.names.get(events.name_of(events.ResumedEvent), 0)

    @property
    def threads(self) -> Sequence[events.Thread]:
        """The load generator's threads, as far as it tells them."""
        return () if self.done is None else self.done.threads or ()

    @property
    def window(self) -> Mapping[str, Mapping[str, events.WindowTimes]]:
        """By role and operation the times of the whole window, of a load that tells only these."""
        return {} if self.done is None else self.done.window or {}

    @property
    def report(self) -> Json:
        """What another program printed of its whole run."""
        return {} if self.done is None else self.done.report or {}

    def of(self, roles: Iterable[str]) -> list[WindowTick]:
        """The ticks of these roles."""
        wanted = set(roles)
        return [tick for tick in self.ticks if tick.role in wanted]

    @cached_property
    def sums(self) -> Mapping[tuple[str, str], OperationSums | None]:
        """By role and operation, of those of which any ended; None: ticks do not tell all sums."""
        sums: dict[tuple[str, str], OperationSums | None] = {}
        for tick in self.ticks:
            for name, part in tick.operations.items():
                if part.count:
                    key = tick.role, name
                    sums[key] = _with(sums.get(key, OperationSums(0, {})), part)
        return sums

    def active_s(self, passed_s: float) -> float:
        """Active time at a moment: `passed_s` seconds after the window's start, less pauses."""
        paused = (min(end, passed_s) - begun for begun, end in self._paused_s if begun < passed_s)
        return passed_s - sum(paused)

    @cached_property
    def passed_s(self) -> float:
        """How long the window was, with its pauses; one that was not closed: to its last tick."""
        active_s = self.seconds
        if active_s is None:
            active_s = max((tick.end_s for tick in self.ticks), default=0.0)
        return active_s + sum(end - begun for begun, end in self._paused_s)

    @cached_property
    def _paused_s(self) -> list[tuple[float, float]]:
        open_ns = self.open_ns or 0
        return [((a - open_ns) / NS_PER_S, (b - open_ns) / NS_PER_S) for a, b in self.pauses]

    def sampled(self, looks: Iterable[WaitLook]) -> list[tuple[float, WaitLook]]:
        """Those of the window, each after its active seconds; none of pauses or what settles."""
        if self.open_ns is None:
            return []
        passed = [((look.mono_ns - self.open_ns) / NS_PER_S, look) for look in looks]
        return [
            (self.active_s(at_s), look)
            for at_s, look in passed
            if 0.0 <= at_s <= self.passed_s
            and not any(begun <= look.mono_ns < until for begun, until in self.pauses)
        ]


def _with(so_far: OperationSums | None, part: TickPart) -> OperationSums | None:
    """Sums with those of a tick; None from the first tick on that does not tell them."""
    if so_far is None or part.sums_us is None:
        return None
    by_times = {}
    for times, (sum_us, squares) in asdict(part.sums_us).items():
        before = so_far.by_times.get(times, (0.0, 0.0))
        by_times[times] = before[0] + sum_us, before[1] + squares
    return OperationSums(so_far.count + part.count, by_times)


@dataclass
class _LoadState:
    """What a load has said so far."""

    settle_ns: int
    last: dict[type[events.Event], events.Event] = field(default_factory=dict)  # but for ticks
    names: Counter[str] = field(default_factory=Counter)
    in_ticks: dict[str, Counter[str]] = field(default_factory=dict)
    ticks: list[events.Tick] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    pauses: list[tuple[int, int]] = field(default_factory=list)
    stamps_ns: list[int] = field(default_factory=list)
    last_ticks: dict[str, events.Tick] = field(default_factory=dict)
    disordered: set[str] = field(default_factory=set)
    session_ends: list[events.SessionEnd] = field(default_factory=list)

    def take(self, event: events.AnyEvent | events.UnknownContent) -> None:
        """Takes note of an event."""
        if isinstance(event, events.UnknownContent):
            self.unknown.update(event.words)
            return
        if not isinstance(event, events.Operation):
            self.stamps_ns.append(event.mono_ns)
        if isinstance(event, events.Tick):
            if not _follows(event, self.last_ticks.get(event.role)):
                self.disordered.add(event.role)
            self.last_ticks[event.role] = event
            self.in_ticks.setdefault(event.role, Counter()).update(_amounts(event))
            if event.measured:
                self.ticks.append(event)
            return
        self.names[event.name] += 1
        if isinstance(event, events.SessionEnd):
            self.session_ends.append(event)
        paused = self.of(events.PausedEvent)
        if isinstance(event, events.ResumedEvent) and paused and self.of(events.WindowOpen):
            self.pauses.append((paused.mono_ns, event.mono_ns + self.settle_ns))
        self.last[type(event)] = event

    def of(self, event_type: type[events.EventOf]) -> events.EventOf | None:
        """The last event of a type; None where there is none."""
        event = self.last.get(event_type)
        return event if isinstance(event, event_type) else None


def load(
    said: Iterable[events.AnyEvent | events.UnknownContent], settle_s: float = SETTLE_S_DEFAULT
) -> LoadReport:
    """Reads the events of a step; `settle_s`: what follows a pause and counts for nothing."""
    so_far = _LoadState(settle_ns=round(settle_s * NS_PER_S))
    for event in said:
        so_far.take(event)
    opened, close = so_far.of(events.WindowOpen), so_far.of(events.WindowClose)
    started = so_far.of(events.StartedEvent)
    measured = tuple(_ticks(so_far.ticks))
    lasted_ns = close.mono_ns - started.mono_ns if started and close else -1
    last_ns = max((tick.mono_ns for tick in so_far.ticks), default=0)
    drained_ns = max(0, last_ns - close.mono_ns) if close else 0
    return LoadReport(
        open_ns=opened.mono_ns if opened else None,
        unix_minus_mono_ns=started.unix_ns - started.mono_ns if started else None,
        seconds=close.active_ns / NS_PER_S if close else None,
        ticks=measured,
        clients_end_ns=_ends(close, so_far.pauses),
        pauses=tuple(so_far.pauses),
        done=so_far.of(events.DoneEvent),
        names=so_far.names,
        drained_s=drained_ns / NS_PER_S,
        lasted_s=lasted_ns / NS_PER_S if lasted_ns >= 0 else None,
        in_seconds=all(tick.tick is not None for tick in so_far.ticks),
        unknown=tuple(sorted(so_far.unknown)),
        connections=_connections(measured, close),
        in_ticks=so_far.in_ticks,
        stamps_ns=so_far.stamps_ns,
        session_ends=so_far.session_ends,
        disordered=tuple(sorted(so_far.disordered)),
        generator=_generator(so_far.of(events.HelloEvent)),
    )


def _generator(hello: events.HelloEvent | None) -> str | None:
    """`0.1.0 (31d18ebae780)`, of a load that dyno-loadgen made."""
    if hello is None or hello.program is not None or hello.version is None:
        return None
    return f"{hello.version} ({hello.commit})" if hello.commit else hello.version


def _follows(tick: events.Tick, before: events.Tick | None) -> bool:
    """Whether a tick may come after the one before of its role."""
    if before is None:
        return True
    if tick.tick is not None and before.tick is not None and tick.tick <= before.tick:
        return False
    return tick.mono_ns >= before.mono_ns


def _amounts(tick: events.Tick) -> dict[str, int]:
    """What a tick adds to `in_ticks` of its role's totals."""
    clients = tick.per_client
    return {
        "count": sum(client.count for client in clients),
        "rows": sum(client.rows or 0 for client in clients),
        "errors": sum(client.errors for client in clients),
        "operations": sum(part.count for part in tick.operations.values()),
    }


def _connections(ticks: Sequence[WindowTick], close: events.WindowClose | None) -> dict[str, float]:
    """By role: the time of connections in the window, divided by the window's length."""
    by_role: dict[str, int] = {}
    for tick in ticks:
        if tick.connection_ns is not None:
            by_role[tick.role] = by_role.get(tick.role, 0) + tick.connection_ns
    length_ns = close.active_ns if close else 0
    return {role: time_ns / length_ns for role, time_ns in by_role.items()} if length_ns else {}


def _ends(close: events.WindowClose | None, pauses: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The ends of the clients, each earlier by the pauses before it."""
    ends = (close.clients_end_ns if close else None) or ()
    return tuple(
        end - sum(until - begun for begun, until in pauses if begun < end)
        for end in ends
        if end is not None
    )


def _ticks(ticks: Iterable[events.Tick]) -> Iterable[WindowTick]:
    """Ticks with the window's active time at their end; those of one second share a number."""
    ends: dict[int | None, float] = {}
    end_s = 0.0
    for tick in ticks:
        seconds = tick.active_ns / NS_PER_S
        if tick.tick not in ends:
            end_s += seconds
            ends[tick.tick] = end_s
        clients = tick.per_client
        parts = tick.operations.values()
        yield WindowTick(
            role=tick.role,
            end_s=ends[tick.tick],
            seconds=seconds,
            count=sum(client.count for client in clients),
            rows=total(client.rows for client in clients),
            errors=sum(client.errors for client in clients),
            max_us=longest(client.max_us for client in clients),
            retries=total(part.retries for part in parts),
            skipped=sum(part.skipped or 0 for part in parts),
            over_limit=sum(part.over_limit or 0 for part in parts),
            late_us_max=tick.late_us_max,
            backlog=tick.backlog,
            lag=tick.lag,
            queue=tick.queue,
            operations=tick.operations,
            connection_ns=tick.connection_ns,
            connects=tick.connects,
            clients=clients,
            cpu_us=tick.cpu_us,
        )


# --- Counters --------------------------------------------------------------------------------


def number(value: Any, *path: str) -> float | None:
    """The number at `path` in nested objects; None where it, or a part of the way, is missing."""
    for key in path:
        if type(value) is not dict:  # isinstance takes twice as long, and this is called often
            return None
        value = value.get(key)
    return float(value) if isinstance(value, (int, float)) else None


def moved(before: float | None, after: float | None) -> float | None:
    """How far a counter moved; None where a side is missing or the counter was set back."""
    return None if before is None or after is None or after < before else after - before


def per(amount: float | None, count: float | None) -> float | None:
    """`amount` by `count`; None where either is missing or there is nothing to divide by."""
    return None if amount is None or not count else amount / count


def scaled(amount: float | None, factor: float) -> float | None:
    """`amount` times `factor`; None where it is missing."""
    return None if amount is None else amount * factor


def seconds_between(before: HostReading, after: HostReading) -> float | None:
    """The time between two readings; None where the clock was set back."""
    return scaled(moved(before.mono_ns, after.mono_ns), 1 / NS_PER_S)


def disk_rate(
    before: HostReading, after: HostReading, device: Device, bytes_of: BytesOf
) -> float | None:
    """Bytes by second that a device moved between two readings.

    None where a reading lacks a counter.
    """
    size = moved(bytes_of(before.of(device)), bytes_of(after.of(device)))
    return per(size, seconds_between(before, after))


def cpu_us(before: HostReading | None, after: HostReading | None) -> dict[str, float | None]:
    """Time of all cores between two readings, by state; None where it is not known."""
    if before is None or after is None:
        return dict.fromkeys(CPU_STATES)
    first, last = before.host.cpu_us, after.host.cpu_us
    return {state: moved(first.get(state), last.get(state)) for state in CPU_STATES}


def plus_all(amounts: Iterable[float | None]) -> float | None:
    """The sum; None where one of them is not known."""
    known = list(amounts)
    return None if None in known else math.fsum(amount for amount in known if amount is not None)


def plus(amounts: Iterable[float | None]) -> float | None:
    """The sum of what is known; None where nothing is."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


@dataclass(frozen=True, kw_only=True)
class WindowReadings:
    """The host's readings that lie in the window, its ends first and last.

    Where the arm took turns with others its counters are as if the time between its turns had not
    been: a difference is the sum over its own turns.
    """

    readings: tuple[HostReading, ...]
    waited: tuple[
        HostReading, ...
    ] = ()  # as read: `pause` and `resume` of each wait for the next turn
    closed: HostReading | None = None  # the window's end as read, other arms' turns included

    @property
    def open(self) -> HostReading | None:
        """The reading at the window's start."""
        return self._end("open", 0)

    @property
    def close(self) -> HostReading | None:
        """The reading at the window's end."""
        return self._end("close", -1)

    def _end(self, moment: str, place: int) -> HostReading | None:
        reading = self.readings[place] if self.readings else None
        return reading if reading is not None and reading.moment == moment else None

    def moved(self, counter: Callable[[HostReading], float | None]) -> float | None:
        """How far a counter moved between the window's two ends."""
        if self.open is None or self.close is None:
            return None
        return moved(counter(self.open), counter(self.close))

    @cached_property
    def cpu_us(self) -> Mapping[str, float | None]:
        """Time of all cores between the window's two ends, by state."""
        return cpu_us(self.open, self.close)

    @property
    def seconds(self) -> float | None:
        """The time between the two readings, by which rates of counters are taken."""
        if self.open is None or self.close is None:
            return None
        return seconds_between(self.open, self.close)


def host(readings: Iterable[HostReading]) -> WindowReadings:
    """The readings from `open` to `close`; without either end, what there is of `second` ones."""
    kept: list[HostReading] = []
    waited: list[HostReading] = []
    between: HostReading | None = None  # by how much counters grew between the arm's turns, so far
    turn_end: tuple[HostReading, HostReading] | None = (
        None  # as read and as kept, until the next turn
    )
    for reading in readings:
        moment = reading.moment
        if moment == "open":
            kept, waited, between, turn_end = [reading], [], None, None
        elif moment == "resume" and turn_end is not None:
            waited += [turn_end[0], reading]
        elif moment in ("second", "settled", "pause", "close"):
            if turn_end is not None:
                between, turn_end = growth(turn_end[1], reading), None
            if moment != "settled":  # as the `pause` before it, now
                kept.append(reading if between is None else growth(between, reading))
            if moment == "pause":
                turn_end = reading, kept[-1]
        if moment == "close":
            return WindowReadings(readings=tuple(kept), waited=tuple(waited), closed=reading)
    return WindowReadings(readings=tuple(kept), waited=tuple(waited))
