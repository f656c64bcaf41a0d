"""The rows of devices by second, from the raw lines of host.jsonl.

A step at a time is in memory.
"""

from __future__ import annotations

from itertools import pairwise

from dbdyno.evidence import iostat, raw_files
from dbdyno.evidence.raw_files import NS_PER_S, Host
from dbdyno.model.host_reading import Reading
from dbdyno.model.metric.device import DEVICES
from dbdyno.report.export.source import Place, Source
from dbdyno.report.export.step_rows import Rows


def devices(source: Source) -> Rows:
    """The rows of `device_samples` of every step, step by step."""
    for place in source.places():
        yield from source.stream(place.folder, _devices(source, place))


def _devices(source: Source, place: Place) -> Rows:
    key = source.step_key(place, place.folder.step())
    host = raw_files.host(place.folder.host())
    if host.open is None:  # no window
        return
    for device, holds in DEVICES.items():
        name = host.open.of(device).device
        if not name:
            continue
        common = key | {"holds": holds, "device": name}
        for times, before, after in _pairs(host):
            row = iostat.figures(before, after, device)
            gauge = {"in_flight": after.of(device).in_flight}
            yield "device_samples", common | times | row | gauge


def _pairs(host: Host) -> list[tuple[dict[str, float], Reading, Reading]]:
    """Each two readings that follow each other, with their times as in `samples`."""
    first = host.readings[0]
    opened_ns = first.mono_ns - (first.delay_ns or 0)
    return [
        (
            {
                "second": (after.mono_ns - opened_ns) / NS_PER_S,
                "seconds": (after.mono_ns - before.mono_ns) / NS_PER_S,
            },
            before,
            after,
        )
        for before, after in pairwise(host.readings)
        if after.mono_ns > before.mono_ns
    ]
