"""The events of a load, one JSON object a line: the only schema of them (contract/README.md).

Who measures refuses what it does not know (`parse`). Who judges reads older results, which lack
newer keys, and names what only a newer version knows (`read`).
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar, get_args

import msgspec
from msgspec import Struct

from dbdyno.model.error import GeneratorError
from dbdyno.model.json import Natural, misfit_words

PROTOCOL = 1
"""Of jobs and events: the contract between dyno and what makes the load."""

Told = Literal["seconds", "histograms", "connections", "rows", "lag", "pauses", "fills", "places"]
"""What a driver may be able to tell: of each second; response times; which sessions of the server
are whose; rows; what it costs and delays by itself. `pauses`, `fills`, `places` (threads on
processors): what it can do."""

# --- Parts of events ---------------------------------------------------------------------------


class ClientCounts(Struct, array_like=True, frozen=True):
    """What a tick has of a client; null where it is not told."""

    count: Natural
    rows: Natural | None
    errors: Natural
    max_us: Natural | None


class Sums(Struct, frozen=True, forbid_unknown_fields=True):
    """Of times in microseconds, each time: their sum, and the sum of their squares."""

    response: tuple[float, float]
    service: tuple[float, float]
    late: tuple[float, float]


class TickPart(Struct, kw_only=True, omit_defaults=True):
    """An operation of a tick: its counts, and histograms of its times as texts.

    None where the load does not tell it.
    """

    count: Natural
    rows: Natural | None
    empty: Natural | None = None
    retries: Natural | None
    retried: Natural | None = 0
    errors: dict[str, Natural] | None = None
    failed: dict[str, Natural] | None = None
    rolled_back: Natural | None = 0
    skipped: Natural | None = 0
    over_limit: Natural | None = 0
    max_us: Natural | None
    response: str | None
    service: str | None = None
    sums_us: Sums | None = None


class ConnectionCost(Struct, frozen=True):
    """Connections that operations opened for themselves: how many, and how long that took."""

    count: Natural
    sum_us: Natural
    max_us: Natural


class WindowTimes(Struct, frozen=True):
    """An operation of a whole window, of a load that does not tell the times of its seconds."""

    max_us: Natural | None
    response: str
    service: str | None


class TickTotals(Struct, frozen=True):
    """What all ticks of a role add up to, those of the warm-up too."""

    count: Natural
    rows: Natural
    errors: Natural
    operations: Natural


class Totals(Struct, kw_only=True, omit_defaults=True):
    """What a role did from the start to the end; None where the load does not tell it."""

    count: Natural | None
    rows: Natural | None
    errors: Natural | None
    retries: Natural | None
    retried: Natural | None = 0
    failed: Natural | None = 0
    rolled_back: Natural | None = 0
    skipped: Natural | None = 0
    over_limit: Natural | None = 0
    in_ticks: TickTotals | None = None


class Thread(Struct, kw_only=True, omit_defaults=True):
    """What a worker thread spent from the start to the window's close."""

    busy_share: float
    cpu_us: Natural | float | None = None
    wait: str | None = None
    runnable_share: float | None = None
    no_buffers: Natural = 0
    io_uring_refused: str | None = None
    host: str | None = None  # where several hosts make the load


# --- Events ------------------------------------------------------------------------------------


class Event(
    Struct,
    tag_field="event",
    tag=lambda name: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower(),  # window_open
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """What all events have. A key without a default is one that judging computes with."""

    mono_ns: Natural

    @property
    def name(self) -> str:
        """The event's name, as its key `event` has it."""
        return name_of(type(self))


class HelloEvent(Event, tag="hello"):
    """The first one. `program`: another one than dyno-loadgen makes the load."""

    protocol: int
    version: str | None = None
    program: str | None = None
    commit: str | None = None
    profile: str | None = None
    pid: Natural | None = None


class ConnectedEvent(Event, tag="connected"):
    """A connection has been let in."""

    role: str
    client: Natural
    connection: Natural
    server_pid: Natural
    server_tid: Natural | None = None
    processor: Natural | None = None  # to which the connection's thread keeps


class ReadyEvent(Event, tag="ready"):
    """Everything is prepared; `go` is awaited."""

    connections: Natural | None = None
    threads: Natural | None = None
    setup_us: Natural | None = None
    histogram_bytes_max: Natural | None = None


class StartedEvent(Event, tag="started"):
    """The step has started."""

    unix_ns: int


class WindowOpen(Event):
    """Counting begins."""


class Tick(Event):
    """One role's second; of a load that tells no seconds, its window."""

    tick: int | None  # its number: those of the warm-up end with 0
    active_ns: Natural
    measured: bool
    role: str
    per_client: list[ClientCounts]
    operations: dict[str, TickPart]
    late_us_max: Natural | None
    backlog: Natural | None
    cpu_us: Natural | None = None
    lag: str | None = None
    queue: str | None = None
    connection_ns: Natural | None = None
    connects: ConnectionCost | None = None


class PausedEvent(Event, tag="paused"):
    """All is quiet."""


class ResumedEvent(Event, tag="resumed"):
    """The step goes on."""


class CapturedEvent(Event, tag="captured"):
    """What a statement returned."""

    role: str
    client: Natural
    connection: Natural
    statement: str
    columns: list[str]
    rows: list[list[str | None]]
    notices: list[str]


class SessionEnd(Event):
    """A session has ended that was made anew after pauses: what it answered to the role's `ask`."""

    role: str
    client: Natural
    connection: Natural
    rows: list[list[str | None]]


class Operation(Event):
    """One operation, of a job with `trace`."""

    role: str
    client: Natural
    connection: Natural
    operation: str
    number: Natural
    due_ns: Natural
    start_ns: Natural
    end_ns: Natural
    rows: Natural
    error: str | None


class Error(Event):
    """An error of the server, or a lost connection."""

    role: str
    client: Natural
    connection: Natural
    operation: str
    code: str
    message: str
    fatal: bool


class GaveEvent(Event, tag="gave"):
    """A part of a bulk load that a program or a file gave has come to its end."""

    table: str
    part: Natural
    rows: Natural
    bytes: Natural
    sha256: str


class WindowClose(Event):
    """Counting has ended. `status`: how, where that was not as the job says."""

    active_ns: Natural
    clients_end_ns: list[Natural | None] | None
    ended: dict[str, list[Natural | None]] | None = None
    status: str | None = None


class DoneEvent(Event, tag="done"):
    """The last one. `report`, `window`: what only other programs tell."""

    status: str
    reason: str | None
    totals: dict[str, Totals]
    report: dict[str, Any] | None = None
    window: dict[str, dict[str, WindowTimes]] | None = None
    peak_rss_bytes: Natural | None = None
    cpu_us: Natural | None = None
    threads: list[Thread] | None = None


AnyEvent = (
    HelloEvent
    | ConnectedEvent
    | ReadyEvent
    | StartedEvent
    | WindowOpen
    | Tick
    | PausedEvent
    | ResumedEvent
    | CapturedEvent
    | SessionEnd
    | Operation
    | Error
    | GaveEvent
    | WindowClose
    | DoneEvent
)
EventOf = TypeVar("EventOf", bound=Event)


def name_of(event: type[Event]) -> str:
    """The name of events of this type, as their key `event` has it."""
    return str(event.__struct_config__.tag)


EVENTS: Mapping[str, type[Event]] = {name_of(event): event for event in get_args(AnyEvent)}


class UnknownContent(Struct, frozen=True):
    """What of an event only a newer version knows, in words; it may change what the rest means."""

    words: tuple[str, ...]


_DECODER: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)

# --- Reading and writing -----------------------------------------------------------------------


def parse(line: str | bytes) -> AnyEvent:
    """One line of dyno-loadgen, for who measures.

    Raises GeneratorError where the line is no event of the contract or has other keys.
    """
    try:
        return _DECODER.decode(line)
    except msgspec.ValidationError as error:
        raise GeneratorError(
            "dyno-loadgen wrote a line that does not fit the contract: "
            f"{misfit_words(error)}: {_text(line)}"
        ) from error
    except msgspec.DecodeError as error:
        raise GeneratorError(f"dyno-loadgen wrote a line that is no JSON: {_text(line)}") from error


def read(line: bytes) -> tuple[AnyEvent | UnknownContent, ...]:
    """One line of a result's events, for who judges; behind it, what of it is unknown here.

    Raises msgspec.ValidationError where the line is no event, DecodeError where it is no JSON.
    """
    try:
        return (_DECODER.decode(line),)
    except msgspec.ValidationError:
        keys = msgspec.json.decode(line, type=dict[str, Any])
        form = EVENTS.get(str(keys.get("event")))
        if form is None:
            return (UnknownContent((f"the event `{keys.get('event')}`",)),)
        novel = unknown(form, keys)
        of = "ticks" if form is Tick else f"`{name_of(form)}`"
        newer = UnknownContent(tuple(f"the key `{key}` of {of}" for key in novel))
        known = {key: value for key, value in keys.items() if key not in novel}
        event: AnyEvent = msgspec.convert(known, AnyEvent)
        return event, newer


def unknown(event: type[Event], keys: Iterable[str]) -> list[str]:
    """The keys that events of this type do not have, sorted."""
    return sorted(set(keys) - {"event", *event.__struct_fields__})


def line(event: Event) -> str:
    """The event as a line of events.jsonl, without its end."""
    return msgspec.json.encode(event).decode()


def _text(line: str | bytes) -> str:
    return (line if isinstance(line, str) else line.decode(errors="replace")).strip()[:200]
