"""A window cut into segments of a second or a turn: what each did and spent, to see its noise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dbdyno.evidence import raw_files
from dbdyno.evidence.evidence import HELPERS, NS_PER_US, Evidence
from dbdyno.model import Segment
from dbdyno.model.host_reading import Reading

WHOLE_S = 0.9
"""Turns that are shorter are taken together until they are so long: operations are told by the
second, and of less than that nothing is known."""
REST_S = 0.5
"""A shorter rest of a turn is left out."""


class _Cut(NamedTuple):
    """A segment from one moment of active time to another."""

    from_s: float
    until_s: float
    turn: int  # its own number or, of several, that of the first; 0: there are no turns
    turns: int


def segments(evidence: Evidence) -> tuple[Segment, ...]:
    """The window's segments in their order; none where operations are not told by the second.

    In turns they end where turns do, and each second within one of two seconds or more; else at
    whole seconds. What lies between two readings or two ticks is taken as even.
    """
    if not evidence.counts_in_seconds or evidence.load.seconds is None:
        return ()
    ticks = evidence.load.of([evidence.headline_role])
    amounts = [amount for tick in ticks if (amount := evidence.counted(tick)) is not None]
    if not ticks or len(amounts) < len(ticks):
        return ()
    ends_s = [0.0, *(tick.end_s for tick in ticks)]
    done = np.cumsum([0, *amounts])
    readings = _readings(evidence)
    in_turns = any(reading.moment == "pause" for reading in readings)
    whole = [tick.end_s for tick in ticks if tick.whole]
    cuts = list(_of_turns(readings)) if in_turns else list(_of_seconds(whole))
    return tuple(_segment(cut, ends_s, done, readings) for cut in cuts)


class _Spent(NamedTuple):
    """What a reading of the host within the window says."""

    at_s: float  # active time since the window's start
    moment: str
    cpu_us: float | None  # of the headline's operations, since the server's start


def _readings(evidence: Evidence) -> list[_Spent]:
    host = evidence.server_host
    if host.open is None or host.close is None:
        return []
    role = evidence.headline_role
    names = (f"role:{role}", f"parallel:{role}", *HELPERS)
    begun_ns = host.open.mono_ns
    return [
        _Spent(
            (reading.mono_ns - begun_ns) / raw_files.NS_PER_S,
            reading.moment,
            _cpu_us(reading, names),
        )
        for reading in host.readings
    ]


def _cpu_us(reading: Reading, names: tuple[str, ...]) -> float | None:
    known = [reading.owners[name].cpu_ns for name in names if name in reading.owners]
    return raw_files.scaled(raw_files.plus(known), 1 / NS_PER_US)


def _of_seconds(ends_s: list[float]) -> Iterator[_Cut]:
    begun_s = 0.0
    for end_s in ends_s:
        if end_s > begun_s:  # a damaged file may say that a tick took no time
            yield _Cut(begun_s, end_s, 0, 0)
            begun_s = end_s


def _of_turns(readings: list[_Spent]) -> Iterator[_Cut]:
    """Whole turns, or the seconds of long ones; short ones together."""
    begun_s = turn_s = readings[0].at_s
    turn, turns = 1, 1
    for at_s, moment, _ in readings[1:]:
        ends = moment in ("pause", "close")
        length_s = at_s - begun_s
        if length_s >= WHOLE_S or (ends and at_s - turn_s >= WHOLE_S):
            if length_s >= REST_S:
                yield _Cut(begun_s, at_s, turn, turns)
            begun_s = at_s
            if ends:
                turn, turns, turn_s = turn + turns, 1, at_s
        elif ends:
            turns += 1


def _segment(cut: _Cut, ends_s: list[float], done: np.ndarray, readings: list[_Spent]) -> Segment:
    seconds = cut.until_s - cut.from_s
    first, last = np.interp([cut.from_s, cut.until_s], ends_s, done)
    known = [reading for reading in readings if reading.cpu_us is not None]
    spent_us: float | None = None
    if len(known) > 1 and last > first:
        at_s = [reading.at_s for reading in known]
        begun_us, ended_us = np.interp(
            [cut.from_s, cut.until_s], at_s, [reading.cpu_us or 0.0 for reading in known]
        )
        spent_us = float((ended_us - begun_us) / (last - first))
    return Segment(
        turn=cut.turn,
        turns=cut.turns,
        seconds=seconds,
        rate=float((last - first) / seconds),
        cpu_us=spent_us,
    )
