"""A device's figures as `iostat -x` computes them, from two readings of its counters.

The formulas are those of `iostat.c` of sysstat 12 (`write_ext_stat`, `compute_ext_disk_stats` of
`rd_stats.c`) and iostat(1), with one difference: without requests a time or size of one is None
here and 0 there. What counters mean: the kernel's Documentation/admin-guide/iostats.rst.
"""

from collections.abc import Mapping

from dbdyno.evidence import raw_files
from dbdyno.evidence.raw_files import MS_PER_S, WindowReadings, per, scaled
from dbdyno.model.host_reading import Device, HostReading
from dbdyno.model.metric.device import COLUMNS

Figures = Mapping[str, float | None]

REQUESTS = {"r": "read", "w": "write", "d": "discard"}
"""The letter with which columns of these requests begin, and how their counters do."""
KIB, MIB = float(1 << 10), float(1 << 20)


def of_window(host: WindowReadings, device: Device) -> Figures:
    """All columns of a device over exactly the window, by the names of metric.device.COLUMNS."""
    counts = [reading.of(device).in_flight for reading in host.readings]
    known = [count for count in counts if count is not None]
    columns: dict[str, float | None] = dict.fromkeys(column.name for column in COLUMNS)
    if host.open is not None and host.close is not None:
        columns |= figures(host.open, host.close, device)
    return columns | {"in_flight_max": max(known, default=None)}


def figures(before: HostReading, after: HostReading, device: Device) -> dict[str, float | None]:
    """iostat's columns between two readings of the host, by the names of metric.device.COLUMNS.

    A counter that a reading lacks, as those of older results do, makes None of what needs it.
    """
    seconds = raw_files.seconds_between(before, after)
    first, last = before.of(device), after.of(device)

    def moved(counter: str) -> float | None:
        return raw_files.moved(getattr(first, counter), getattr(last, counter))

    columns: dict[str, float | None] = {}
    for letter, request in REQUESTS.items():
        count, merges = moved(f"{request}s"), moved(f"{request}_merges")
        size = moved(f"{request}_bytes")
        columns |= {
            f"{letter}ps": per(count, seconds),
            f"{letter}mbps": scaled(per(size, seconds), 1 / MIB),
            f"{letter}rqmps": per(merges, seconds),
            f"{letter}rqm_pct": scaled(per(merges, raw_files.plus_all([count, merges])), 100.0),
            f"{letter}_await": per(moved(f"{request}_ms"), count),
            f"{letter}areq_sz": scaled(per(size, count), 1 / KIB),
        }
    flushes = moved("flushes")
    return {
        **columns,
        "fps": per(flushes, seconds),
        "f_await": per(moved("flush_ms"), flushes),
        "aqu_sz": scaled(per(moved("weighted_ms"), seconds), 1 / MS_PER_S),
        "util_pct": scaled(per(moved("io_ms"), seconds), 100.0 / MS_PER_S),
    }
