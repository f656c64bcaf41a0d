"""The metrics of devices: reads and writes by operation, iostat's columns, the greatest second."""

from collections.abc import Mapping
from itertools import pairwise

from dbdyno.evidence import iostat, raw_files
from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.raw_files import NS_PER_S, BytesOf, per, scaled
from dbdyno.model.metric.debt import SECOND_S_MIN
from dbdyno.model.metric.device import DEVICES, name_of

KIB, MIB = float(1 << 10), float(1 << 20)


def metrics(evidence: Evidence) -> Mapping[str, float | None]:
    """All metrics of the devices of the data and of the log."""
    columns = {
        name_of(device, column): value
        for device in DEVICES
        for column, value in iostat.of_window(evidence.host, device).items()
    }
    return {**by_operation(evidence), **columns, **peaks(evidence)}


def by_operation(evidence: Evidence) -> Mapping[str, float | None]:
    """Reads and writes of the data device: by operation, by row inserted."""
    operations = evidence.operations
    host = evidence.host
    reads = host.moved(lambda reading: reading.of("disk").reads)
    writes = host.moved(lambda reading: reading.of("disk").writes)
    read_bytes = host.moved(lambda reading: reading.of("disk").read_bytes)
    write_bytes = host.moved(lambda reading: reading.of("disk").write_bytes)
    rows = evidence.rows_inserted
    return {
        "rpq": per(reads, operations),
        "rkbpq": scaled(per(read_bytes, operations), 1 / KIB),
        "wpq": per(writes, operations),
        "wkbpq": scaled(per(write_bytes, operations), 1 / KIB),
        "wpi": per(writes, rows),
        "wkbpi": scaled(per(write_bytes, rows), 1 / KIB),
    }


def peaks(evidence: Evidence) -> Mapping[str, float | None]:
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
