"""The series of a window by second: rates, longest responses, the host, all clients."""

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np

from dbdyno.evidence import client_rates, iostat, raw_files
from dbdyno.evidence.evidence import KINDS, Evidence
from dbdyno.evidence.raw_files import BytesOf, WindowTick
from dbdyno.model import Series
from dbdyno.model.host_reading import Device, HostReading
from dbdyno.model.metric.device import DEVICES
from dbdyno.model.processor import BUSY

SHORT_S = 0.5
"""A shorter time at a window's end has no rate of its own: it would be mostly noise."""
CLIENTS_MAX = 64
"""With more, nobody could tell their lines apart."""
MB = 1e6
MOVED: Mapping[str, BytesOf] = {
    "read": lambda disk: disk.read_bytes,
    "write": lambda disk: disk.write_bytes,
}
DEVICE_COLUMNS = ("r_await", "w_await", "aqu_sz", "util_pct")
"""The columns of iostat that are series; an export has all of them by second."""


def series(evidence: Evidence) -> dict[str, Series]:
    """Values over the window by name; x is the end of the second (or reading) that y is of.

    `KIND.rate` (rows a second of inserts and deletes, queries a second; statements where that is
    what the headline counts), `KIND.client.N.rate` (of client N, from 0, where there are 2 to 64:
    rows, queries or transactions), `KIND.max_us` (the longest response), `host.cpu_pct`,
    of the devices `disk` and `wal_disk` `.read_mbps`, `.write_mbps` (10^6 bytes), `.r_await`,
    `.w_await`, `.aqu_sz` and `.util_pct` (as iostat). KIND is insert, delete, query, or other: that
    has the headline's role where it is none of these.
    """
    curves: dict[str, Series] = {}
    for work, roles in _roles(evidence).items():
        ticks = evidence.load.of(roles) if evidence.load.in_seconds else []
        if ticks:
            curves[f"{work}.rate"] = _rates(evidence, ticks, work)
            curves |= {f"{work}.client.{n}.rate": rate for n, rate in _by_client(ticks, work)}
            longest = _longest(ticks)
            curves |= {f"{work}.max_us": longest} if longest.x_s else {}
    if evidence.load.open_ns is not None:
        busy = [(at_s, _busy_share(before, after)) for at_s, before, after in _seconds(evidence)]
        curves |= dict(_known("host.cpu_pct", busy))
        for device in DEVICES:
            curves |= dict(_of_device(evidence, device))
    return curves


def _roles(evidence: Evidence) -> dict[str, list[str]]:
    """The roles of each kind that has series."""
    roles = {work: evidence.roles(work) for work in KINDS}
    if evidence.counts_in_seconds:
        role = evidence.headline_role
        if evidence.kind(role) not in KINDS:
            roles["other"] = [role]
    return roles


def _rates(evidence: Evidence, ticks: Iterable[WindowTick], work: str) -> Series:
    """The work of all roles of a kind, by second."""
    rows = client_rates.unit(work) == "rows"
    headline = evidence.step.headline
    role = headline.role if headline is not None and headline.count == "statements" else None
    amounts: dict[float, float] = {}
    for tick in ticks:
        if tick.seconds >= SHORT_S:
            usual = tick.rows if rows else tick.count
            amount = evidence.counted(tick) if tick.role == role else usual
            if amount is None:
                continue
            amounts[tick.end_s] = amounts.get(tick.end_s, 0.0) + amount / tick.seconds
    return Series(x_s=tuple(amounts), y=tuple(amounts.values()))


def _by_client(ticks: Iterable[WindowTick], work: str) -> Iterable[tuple[int, Series]]:
    """The work of each client in roles with several clients."""
    known = [
        tick
        for tick in ticks
        if 1 < len(tick.clients) <= CLIENTS_MAX
        and tick.seconds >= SHORT_S
        and tick.rows is not None
    ]
    if not known:
        return
    seconds = np.array([tick.seconds for tick in known])
    own = client_rates.amounts(known, work) / seconds[:, np.newaxis]
    ends_s, place = np.unique([tick.end_s for tick in known], return_inverse=True)
    rates = np.zeros((len(ends_s), own.shape[1]))
    np.add.at(rates, place, own)
    x_s = tuple(ends_s.tolist())
    for number, y in enumerate(rates.T.tolist()):
        yield number, Series(x_s=x_s, y=tuple(y))


def _longest(ticks: Iterable[WindowTick]) -> Series:
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
        if after.of(device).reads is not None
    ]
    for way, bytes_of in MOVED.items():
        rates = (
            (at_s, raw_files.disk_rate(before, after, device, bytes_of))
            for at_s, before, after in pairs
        )
        yield from _known(
            f"{device}.{way}_mbps", [(x, raw_files.scaled(y, 1 / MB)) for x, y in rates]
        )
    rows = [(at_s, iostat.figures(before, after, device)) for at_s, before, after in pairs]
    for column in DEVICE_COLUMNS:
        yield from _known(f"{device}.{column}", [(at_s, row[column]) for at_s, row in rows])


def _known(name: str, points: Iterable[tuple[float, float | None]]) -> Iterable[tuple[str, Series]]:
    """A series of the points that are known, where there are any."""
    known = [(x, y) for x, y in points if y is not None]
    if known:
        yield name, Series(x_s=tuple(x for x, _ in known), y=tuple(y for _, y in known))


def _seconds(evidence: Evidence) -> Iterable[tuple[float, HostReading, HostReading]]:
    """Each two readings of the host that follow each other, with the second one's time."""
    open_ns = evidence.load.open_ns or 0
    for before, after in pairwise(evidence.host.readings):
        if after.mono_ns - before.mono_ns >= SHORT_S * raw_files.NS_PER_S:
            yield (after.mono_ns - open_ns) / raw_files.NS_PER_S, before, after


def _busy_share(before: HostReading, after: HostReading) -> float | None:
    """CPU of all cores that was not idle, in percent."""
    spent_us = raw_files.cpu_us(before, after)
    busy = raw_files.plus(spent_us[state] for state in BUSY)
    return raw_files.scaled(raw_files.per(busy, raw_files.plus(spent_us.values())), 100.0)
