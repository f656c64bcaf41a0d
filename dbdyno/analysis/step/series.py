"""The series of a window by second: rates, longest responses, the host, all clients."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from dbdyno.analysis.step import client_rates, iostat, raw_files, replay_lag, waits
from dbdyno.analysis.step.evidence import KINDS, Evidence
from dbdyno.analysis.step.raw_files import Tick
from dbdyno.model import Json, Series
from dbdyno.model.metric.device import DEVICES, Device
from dbdyno.model.processor import BUSY, CPU_STATES

SHORT_S = 0.5
"""A shorter stretch at a window's end has no rate of its own: it would be mostly noise."""
CLIENTS_MAX = 64
"""With more, nobody could tell their lines apart."""
MB = 1e6
DEVICE_COLUMNS = ("r_await", "w_await", "aqu_sz", "util_pct")
"""The columns of iostat that are series; an export has all of them by second."""


def series(evidence: Evidence) -> dict[str, Series]:
    """Values over the window by name; x is the end of the second (or reading) that y is of.

    `KIND.rate` (rows a second of inserts and deletes, queries a second; statements where that is
    what the headline counts), `KIND.client.N.rate` (of client N, from 0, where there are 2 to 64:
    rows, queries or transactions), `KIND.max_us` (the longest response), `host.cpu_pct`,
    of the devices `disk` and `wal_disk` `.read_mbps`, `.write_mbps` (10^6 bytes), `.r_await`,
    `.w_await`, `.aqu_sz` and `.util_pct` (as iostat), `blocks.read` and `blocks.hit` (pages a
    second of the server's cache, where waits were sampled), `lag.seconds` and `lag.mb` (10^6 bytes;
    of a standby). KIND is insert, delete, query, or other: that has the headline's role where it is
    none of these.
    """
    found: dict[str, Series] = {}
    for kind, roles in _roles(evidence).items():
        ticks = evidence.load.of(roles) if evidence.load.in_seconds else []
        if ticks:
            found[f"{kind}.rate"] = _rates(evidence, ticks, kind)
            found |= {f"{kind}.client.{n}.rate": one for n, one in _by_client(ticks, kind)}
            longest = _longest(ticks)
            found |= {f"{kind}.max_us": longest} if longest.x_s else {}
    if evidence.load.open_ns is not None:
        busy = [(at_s, _busy_share(before, after)) for at_s, before, after in _seconds(evidence)]
        found |= dict(_known("host.cpu_pct", busy))
        found |= {name: one for device in DEVICES for name, one in _of_device(evidence, device)}
    found |= waits.blocks(evidence)
    return found | replay_lag.series(evidence)


def _roles(evidence: Evidence) -> dict[str, list[str]]:
    """The roles of each kind that has series."""
    found = {kind: evidence.roles(kind) for kind in KINDS}
    if evidence.counts_in_seconds:
        role = evidence.step["headline"]["role"]
        if evidence.kind(role) not in KINDS:
            found["other"] = [role]
    return found


def _rates(evidence: Evidence, ticks: Iterable[Tick], kind: str) -> Series:
    """The work of all roles of a kind, by second."""
    rows = client_rates.unit(kind) == "rows"
    headline = evidence.step.get("headline") or {}
    role = headline.get("role") if headline.get("count") == "statements" else None
    amounts: dict[float, float] = {}
    for tick in ticks:
        if tick.seconds >= SHORT_S:
            usual = tick.rows if rows else tick.count
            amount = evidence.counted(tick) if tick.role == role else usual
            if amount is None:
                continue
            amounts[tick.end_s] = amounts.get(tick.end_s, 0.0) + amount / tick.seconds
    return Series(x_s=tuple(amounts), y=tuple(amounts.values()))


def _by_client(ticks: Iterable[Tick], kind: str) -> Iterable[tuple[int, Series]]:
    """The work of each client in roles with several clients."""
    told = [
        tick
        for tick in ticks
        if 1 < len(tick.clients) <= CLIENTS_MAX
        and tick.seconds >= SHORT_S
        and tick.rows is not None
    ]
    if not told:
        return
    seconds = np.array([tick.seconds for tick in told])
    own = client_rates.amounts(told, kind) / seconds[:, np.newaxis]
    ends_s, place = np.unique([tick.end_s for tick in told], return_inverse=True)
    rates = np.zeros((len(ends_s), own.shape[1]))
    np.add.at(rates, place, own)
    x_s = tuple(ends_s.tolist())
    for number, y in enumerate(rates.T.tolist()):
        yield number, Series(x_s=x_s, y=tuple(y))


def _longest(ticks: Iterable[Tick]) -> Series:
    longest: dict[float, float] = {}
    for tick in ticks:
        if tick.max_us is not None:
            longest[tick.end_s] = max(longest.get(tick.end_s, 0.0), float(tick.max_us))
    return Series(x_s=tuple(longest), y=tuple(longest.values()))


def _of_device(evidence: Evidence, device: Device) -> Iterable[tuple[str, Series]]:
    """What a device moved, and how iostat has it; no series of what is never known."""
    pairs = [
        (at_s, before, after)
        for at_s, before, after in _seconds(evidence)
        if raw_files.number(after, device, "reads") is not None
    ]
    told = [(at_s, iostat.figures(before, after, device)) for at_s, before, after in pairs]
    for way in ("read", "write"):
        counter = f"{way}_bytes"
        moved = [
            (at_s, raw_files.disk_rate(before, after, counter, device=device))
            for at_s, before, after in pairs
        ]
        yield from _known(
            f"{device}.{way}_mbps", [(x, raw_files.scaled(y, 1 / MB)) for x, y in moved]
        )
    for column in DEVICE_COLUMNS:
        yield from _known(f"{device}.{column}", [(at_s, one[column]) for at_s, one in told])


def _known(name: str, points: Iterable[tuple[float, float | None]]) -> Iterable[tuple[str, Series]]:
    """A series of the points that are known, where there are any."""
    known = [(x, y) for x, y in points if y is not None]
    if known:
        yield name, Series(x_s=tuple(x for x, _ in known), y=tuple(y for _, y in known))


def _seconds(evidence: Evidence) -> Iterable[tuple[float, Json, Json]]:
    """Each two readings of the host that follow each other, with the second one's time."""
    open_ns = evidence.load.open_ns or 0
    for before, after in pairwise(evidence.host.readings):
        if after["mono_ns"] - before["mono_ns"] >= SHORT_S * raw_files.NS_PER_S:
            yield (after["mono_ns"] - open_ns) / raw_files.NS_PER_S, before, after


def _busy_share(before: Json, after: Json) -> float | None:
    """CPU of all cores that was not idle, in percent."""
    moved = {
        part: raw_files.difference(before, after, "host", "cpu_us", part) for part in CPU_STATES
    }
    busy = raw_files.plus(moved[part] for part in BUSY)
    return raw_files.scaled(raw_files.per(busy, raw_files.plus(moved.values())), 100.0)
