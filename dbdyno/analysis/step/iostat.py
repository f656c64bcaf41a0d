"""A device's figures as `iostat -x` computes them, from two readings of its counters.

The formulas are those of `iostat.c` of sysstat 12 (`write_ext_stat`, `compute_ext_disk_stats` of
`rd_stats.c`) and iostat(1), with one difference: without requests a time or size of one is None
here and 0 there. What counters mean: the kernel's Documentation/admin-guide/iostats.rst.
"""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.analysis.step import raw_files
from dbdyno.analysis.step.raw_files import MS_PER_S, NS_PER_S, Host, per, scaled
from dbdyno.model import Json
from dbdyno.model.metric.device import DEVICES, Device, name_of

Figures = Mapping[str, float | None]

REQUESTS = {"r": "read", "w": "write", "d": "discard"}
"""The letter with which columns of these requests begin, and how their counters do."""
KIB, MIB = float(1 << 10), float(1 << 20)


def metrics(host: Host) -> dict[str, float | None]:
    """The metrics of both devices over the window; None of a device that was not read."""
    return {
        name_of(device, column): value
        for device in DEVICES
        for column, value in of_window(host, device).items()
    }


def of_window(host: Host, device: Device) -> Figures:
    """All columns of a device over exactly the window, by the names of metric.device.COLUMNS."""
    counts = [raw_files.number(reading, device, "in_flight") for reading in host.readings]
    known = [count for count in counts if count is not None]
    return {**figures(host.open, host.close, device), "in_flight_max": max(known, default=None)}


def figures(before: Json | None, after: Json | None, device: Device) -> dict[str, float | None]:
    """iostat's columns between two readings of the host, by the names of metric.device.COLUMNS.

    A counter that a reading lacks, as those of older results do, makes None of what needs it.
    """
    seconds = scaled(raw_files.difference(before, after, "mono_ns"), 1 / NS_PER_S)

    def moved(counter: str) -> float | None:
        return raw_files.difference(before, after, device, counter)

    found: dict[str, float | None] = {}
    for letter, kind in REQUESTS.items():
        count, merges, size = moved(f"{kind}s"), moved(f"{kind}_merges"), moved(f"{kind}_bytes")
        asked = None if count is None or merges is None else count + merges
        found |= {
            f"{letter}ps": per(count, seconds),
            f"{letter}mbps": scaled(per(size, seconds), 1 / MIB),
            f"{letter}rqmps": per(merges, seconds),
            f"{letter}rqm_pct": scaled(per(merges, asked), 100.0),
            f"{letter}_await": per(moved(f"{kind}_ms"), count),
            f"{letter}areq_sz": scaled(per(size, count), 1 / KIB),
        }
    flushes = moved("flushes")
    return {
        **found,
        "fps": per(flushes, seconds),
        "f_await": per(moved("flush_ms"), flushes),
        "aqu_sz": scaled(per(moved("weighted_ms"), seconds), 1 / MS_PER_S),
        "util_pct": scaled(per(moved("io_ms"), seconds), 100.0 / MS_PER_S),
    }
