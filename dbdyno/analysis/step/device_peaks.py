"""The greatest second of the data device in a step's window, and beside it the device's ceiling."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from dbdyno.evidence import raw_files
from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.raw_files import NS_PER_S, BytesOf, per, scaled
from dbdyno.model.metric.debt import SECOND_S_MIN

MIB = float(1 << 20)


def metrics(evidence: Evidence) -> Mapping[str, float | None]:
    """The greatest second of reads, of writes and of both, in MiB/s; shares of the ceiling in %."""
    read = greatest(evidence, lambda disk: disk.read_bytes)
    write = greatest(evidence, lambda disk: disk.write_bytes)
    canary = None if evidence.done is None else evidence.done.canary
    device = None if canary is None else canary.device
    ceilings = (None, None) if device is None else (device.read_mbps, device.write_mbps)
    return {
        "rmbps_max": read,
        "wmbps_max": write,
        "rwmbps_max": greatest(
            evidence, lambda disk: raw_files.plus_all([disk.read_bytes, disk.write_bytes])
        ),
        "read_share_of_device": scaled(per(read, ceilings[0]), 100.0),
        "write_share_of_device": scaled(per(write, ceilings[1]), 100.0),
    }


def greatest(evidence: Evidence, bytes_of: BytesOf) -> float | None:
    """The greatest MiB/s of a second of the window, or of all of it.

    The whole window is what a step has that is over before two readings lie a second apart.
    """
    host = evidence.host
    pairs = [
        (before, after)
        for before, after in pairwise(host.readings)
        if after.mono_ns - before.mono_ns >= SECOND_S_MIN * NS_PER_S
    ]
    if host.open is not None and host.close is not None:
        pairs.append((host.open, host.close))
    rates = (scaled(raw_files.disk_rate(*pair, "disk", bytes_of), 1 / MIB) for pair in pairs)
    return max((rate for rate in rates if rate is not None), default=None)
