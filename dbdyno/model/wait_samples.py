"""Samples of what a server's sessions do: the lines of waits.jsonl (docs/results.md).

The first line is a WaitsBegin, each sample a WaitLook, the last line a WaitsEnd.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Struct, field


class WaitsBegin(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """How sampling was asked for."""

    asked_ns: int  # the interval
    application: str = ""  # of the connection that asks
    by_session: tuple[str, ...] | None = None  # the columns of every session, where these are kept
    version_num: int | None = None  # the server's


class SessionCount(Struct, array_like=True, frozen=True):
    """How many sessions do one thing."""

    owner: str
    activity: str  # "CPU", a class of wait events as the server has it, or "idle in transaction"
    event: str  # the wait event; empty on CPU
    statement: str  # its name in the job, else its text in short; empty in the background
    count: float


class SessionSample(Struct, array_like=True, frozen=True):
    """The activity of one session."""

    pid: int | None  # None: it has no connection
    owner: str
    state: str | None  # in the server's own words
    activity: str = field(name="kind")  # as of SessionCount, also "idle" and "hidden"
    event: str
    statement: str
    query: str  # the beginning of its text
    query_start_us: int | None  # since 1970; None: the server does not tell it
    xact_start_us: int | None


class WaitLook(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One sample."""

    mono_ns: int
    took_us: float
    sessions: tuple[SessionCount, ...]
    idle: Mapping[str, int]  # by owner: sessions that wait for their client
    hidden: int = 0  # other users' sessions, of which nobody tells what they do
    blocks: tuple[int, int] | None = None  # pages read so far, and those found in the cache
    by_session: tuple[SessionSample, ...] | None = None  # every one, where the plan asks for that


class WaitsEnd(Struct, kw_only=True, frozen=True):
    """What sampling came to."""

    end: bool = True
    samples: int
    late: int  # intervals that passed without a sample
    cpu_us: float  # of dyno
    failed: str | None = None  # why sampling ended before the window did


class WaitSamples(Struct, frozen=True):
    """The whole file of a step that ended well."""

    begin: WaitsBegin
    looks: tuple[WaitLook, ...]
    end: WaitsEnd


def read(line: bytes) -> WaitsBegin | WaitLook | WaitsEnd:
    """A line of the file; a text in it has no `"end":`, whose quotes JSON would escape."""
    if b'"end":' in line:
        return msgspec.json.decode(line, type=WaitsEnd)
    if b'"asked_ns":' in line:
        return msgspec.json.decode(line, type=WaitsBegin)
    return _LOOK.decode(line)


_LOOK = msgspec.json.Decoder(WaitLook)


SESSION_COLUMNS = SessionSample.__struct_encode_fields__
"""The columns of every session, as the first line names them."""
