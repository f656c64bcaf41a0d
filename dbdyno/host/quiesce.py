"""Lets a machine come to rest between two arms: what one wrote must not disturb the next."""

import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from dbdyno.model.error import HostError
from dbdyno.model.step_files import DeviceWait

UNWRITTEN_BYTES_MAX = 64 << 20
"""Dirty + Writeback of a machine at rest is below this."""
BUSY_SHARE_MAX = 0.05
"""A device at rest has requests in flight for less than this share of the time."""
WAIT_S_MAX = 120.0
LOOK_EVERY_S = 0.25
QUIET_LOOKS = 2
"""How often in a row the machine has to look quiet."""
IN_FLIGHT, IO_MS = 8, 9
"""Positions after a device's name in /proc/diskstats (admin-guide/iostats: fields 9, 10)."""


def room(path: Path) -> int:
    """The bytes that an ordinary user can still write on the file system of `path`.

    `path` need not exist yet. Raises HostError where the file system cannot be asked.
    """
    try:
        found = os.statvfs(existing(path))
    except OSError as error:
        raise HostError(f"`{path}`: free room cannot be read: {error.strerror}") from error
    return found.f_bavail * found.f_frsize


def existing(path: Path) -> Path:
    """The nearest folder on the way to `path` that exists."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path


def quiet(paths: Iterable[Path], limit_s: float = WAIT_S_MAX) -> DeviceWait:
    """Syncs all file systems, then waits until little is unwritten and the devices of `paths` rest.

    Never takes longer than about `limit_s` seconds.
    """
    begun_s = time.monotonic()
    # A sync cannot be broken off: it runs beside us, so that the limit holds.
    syncing = threading.Thread(target=os.sync, daemon=True)
    syncing.start()
    syncing.join(limit_s)
    sync_s = time.monotonic() - begun_s
    if syncing.is_alive():
        return DeviceWait(sync_s=sync_s, quiet_s=0.0, reason=f"sync took over {limit_s:.0f} s")
    reason = wait_for_rest(devices_of(paths), begun_s + limit_s)
    return DeviceWait(sync_s=sync_s, quiet_s=time.monotonic() - begun_s - sync_s, reason=reason)


def wait_for_rest(devices: frozenset[str], end_s: float) -> str | None:
    """Looks until the machine rests or the time `end_s` has come; returns what is amiss."""
    looks = 0
    before, before_s = io_ms(devices), time.monotonic()
    while True:
        time.sleep(LOOK_EVERY_S)
        now, now_s = io_ms(devices), time.monotonic()
        amiss = disturbance(before, now, (now_s - before_s) * 1000)
        looks = 0 if amiss else looks + 1
        if looks == QUIET_LOOKS:
            return None
        if now_s >= end_s:
            return amiss or "no time was left to see whether the machine rests"
        before, before_s = now, now_s


def disturbance(
    before: dict[str, tuple[int, int]], now: dict[str, tuple[int, int]], ms: float
) -> str | None:
    """What keeps the machine from rest, in words; None where it rests."""
    unwritten = unwritten_bytes(Path("/proc/meminfo").read_text())
    if unwritten > UNWRITTEN_BYTES_MAX:
        return f"{unwritten >> 20} MB were still unwritten"
    for device, (in_flight, busy_ms) in now.items():
        busy = (busy_ms - before[device][1]) / ms if device in before else 0.0
        if in_flight or busy > BUSY_SHARE_MAX:
            return f"device {device} was still busy for {busy:.0%} of the time"
    return None


def unwritten_bytes(meminfo: str) -> int:
    """Dirty + Writeback of /proc/meminfo."""
    lines = dict(line.split(":", 1) for line in meminfo.splitlines() if ":" in line)
    return sum(int(lines[key].split()[0]) * 1024 for key in ("Dirty", "Writeback") if key in lines)


def devices_of(paths: Iterable[Path]) -> frozenset[str]:
    """The block devices of the paths' file systems as `major:minor`.

    Overlays and tmpfs have none, and are judged by what is unwritten only.
    """
    numbers = [existing(Path(path)).stat().st_dev for path in paths]
    return frozenset(f"{os.major(number)}:{os.minor(number)}" for number in numbers)


def io_ms(devices: frozenset[str]) -> dict[str, tuple[int, int]]:
    """Requests in flight and the time with any, in ms since boot, of each device, by its name."""
    found = {}
    for line in Path("/proc/diskstats").read_text().splitlines():
        major, minor, name, *counters = line.split()
        if f"{major}:{minor}" in devices:
            found[name] = (int(counters[IN_FLIGHT]), int(counters[IO_MS]))
    return found
