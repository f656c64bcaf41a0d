"""Facts of the storage under the servers' data: file system, devices, how long a sync takes."""

import os
import tempfile
import time
from math import ceil
from pathlib import Path

from msgspec import structs

from dbdyno.host.observe import device, files
from dbdyno.host.observe.reader import HostReader
from dbdyno.model.host_facts import Queue, Storage, SyncTimes

SYNC_BYTES = 8192
"""A page of PostgreSQL; what a small commit writes at least."""
SYNCS_MAX = 100
FILE_PAGES = 128
"""The file is written once before, as a recycled segment of a server's log is."""


def data(reader: HostReader, path: Path) -> Storage:
    """The storage under `path`, or under its nearest parent that exists."""
    sys, mountinfo = reader.at("/sys"), reader.at("/proc/self/mountinfo")
    below = device.find(path, sys=sys, mountinfo=mountinfo)
    space = os.statvfs(device.existing(path))
    layers = tuple(queue(folder) for folder in device.layers(path, sys=sys, mountinfo=mountinfo))
    if below.unsure is not None and not layers:
        reader.nothing("data.layers", below.unsure)
    return structs.replace(
        below,
        free_bytes=space.f_bavail * space.f_frsize,
        total_bytes=space.f_blocks * space.f_frsize,
        layers=layers,
    )


def queue(folder: Path) -> Queue:
    """A device's queue; `schedulers` are those that it could have."""
    words = files.line(folder / "queue/scheduler")
    ahead_kib = files.number(folder / "queue/read_ahead_kb")
    rotational = files.number(folder / "queue/rotational")
    schedulers = None if words is None else words.replace("[", "").replace("]", "").split()
    return Queue(
        device=folder.name,
        scheduler=None if words is None else files.bracketed(words),
        schedulers=None if schedulers is None else tuple(schedulers),
        read_ahead_bytes=None if ahead_kib is None else ahead_kib * 1024,
        rotational=None if rotational is None else bool(rotational),
        write_cache=files.line(folder / "queue/write_cache"),
        requests=files.number(folder / "queue/nr_requests"),
    )


def syncs(reader: HostReader, path: Path, seconds_max: float) -> SyncTimes | None:
    """How long it takes until a page that is overwritten in `path` is on the device (fdatasync).

    At most SYNCS_MAX times and, but for one that hangs, `seconds_max`; the file has no name and is
    gone afterwards. None where nothing can be written there.
    """
    folder = device.existing(path)
    page = os.urandom(SYNC_BYTES)
    took_us: list[float] = []
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            number = file.fileno()
            for place in range(FILE_PAGES):
                os.pwrite(number, page, place * SYNC_BYTES)
            os.fsync(number)
            end_s = time.monotonic() + seconds_max
            while len(took_us) < SYNCS_MAX and time.monotonic() < end_s:
                begun_ns = time.monotonic_ns()
                os.pwrite(number, page, len(took_us) % FILE_PAGES * SYNC_BYTES)
                os.fdatasync(number)
                took_us.append((time.monotonic_ns() - begun_ns) / 1000)
    except OSError as error:
        reason = str(error.strerror).lower()
        reader.nothing("sync", f"{folder}: cannot be written: {reason}")
        return None
    took_us.sort()
    return SyncTimes(
        count=len(took_us),
        bytes=SYNC_BYTES,
        p50_us=round(took_us[len(took_us) // 2], 1),
        p99_us=round(took_us[ceil(len(took_us) * 0.99) - 1], 1),
        max_us=round(took_us[-1], 1),
    )
