"""Reads the host's counters each second and at a window's and its turns' ends, into host.jsonl.

Each line is cumulative counters of the host, the device and every owner (docs/results.md). The
readings are of /proc only: nothing is asked of the server.
"""

import os
import threading
import time
from collections.abc import MutableMapping
from typing import Protocol

import msgspec

from dbdyno.host.observe import files, procfs
from dbdyno.host.observe.foreign_load import ForeignObserver
from dbdyno.host.observe.owned_processes import Processes, ServerProcesses
from dbdyno.host.observe.owners import EXITED
from dbdyno.host.observe.usage import TICKS_PER_S
from dbdyno.model import host_reading
from dbdyno.model.error import DiskError, LabDied
from dbdyno.model.events import AnyEvent, ConnectedEvent, HelloEvent
from dbdyno.model.host_facts import Storage

OUTSIDE_WINDOW = ("start", "end")
WINDOW_ENDS = ("open", "close")
SLEPT_LOOKS = 5


class ReadingSink(Protocol):
    """Where readings go, a line each."""

    def write_raw(self, line: bytes) -> None:
        """Adds a line. Raises DiskError."""

    def close(self) -> None:
        """Makes them durable; further calls do nothing. Raises DiskError."""


class Sampler:
    """Appends readings to `kept`: `start` and `stop` for each second, `read` for one at once.

    `roles` says which role a server's process, or thread, works for; it may be filled while
    readings go on. Readings are made under a lock, so `read` may be called from any thread. One
    that cannot be made raises LabDied, one that cannot be kept DiskError: at once, or of those of
    each second in `stop`.
    `server`: None where its processes cannot be seen. `wal_device`: under the server's log, where
    that is another than the data's.
    `foreign`: whether to look what processes spend that are neither the lab's nor an arm's.
    """

    def __init__(  # noqa: PLR0913 (what is observed, each by its name)
        self,
        kept: ReadingSink,
        *,
        device: Storage | None,
        server: ServerProcesses | None,
        wal_device: Storage | None = None,
        interval_s: float = 1.0,
        foreign: bool = True,
    ) -> None:
        self.roles: MutableMapping[int, str] = {}
        self.cpu_us = 0.0  # CPU time of all readings so far, with their writing
        self._device = device.device if device else None
        self._wal_device = wal_device.device if wal_device else None
        self._processes = Processes(server, self.roles, os.getpid())
        self._foreign = ForeignObserver(os.getpid()) if foreign else None
        self._interval_s = interval_s
        self._kept = kept
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._each_second, name="sampler", daemon=True)
        self._failure: LabDied | DiskError | None = None

    def start(self) -> None:
        """Begins the readings of each second; the first is made one interval from now."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the readings and makes them durable; raises LabDied, DiskError where one failed."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()
        with self._lock:
            self._kept.close()
        if self._failure is not None:
            raise self._failure

    def read(self, moment: str, event_mono_ns: int | None = None) -> None:
        """Makes a reading at once; `moment` is a `kind` of docs/results.md, host.jsonl.

        `event_mono_ns`: when that happened of which the reading tells; how much later it was
        made is in the line.
        """
        self._read(moment, event_mono_ns)

    def add_role(self, pid: int, role: str) -> None:
        """Tells that the server process, or thread, `pid` works for `role`."""
        self.roles[pid] = role

    def set_lab_session(self, pid: int, owner: str) -> None:
        """Tells which server process, or thread, the lab itself asks: not the server's cost."""
        self._processes.lab_sessions[pid] = owner

    def owner(self, member: int) -> str:
        """The owner of a server process, or thread, as readings last had it; else `exited`."""
        return self._processes.owners.get(member, EXITED)

    def set_generator(self, pid: int) -> None:
        """Tells which process the load generator is."""
        self._processes.generator_pid = pid

    def observe(self, event: AnyEvent) -> None:
        """Takes note of who is who in an event of the generator; of ticks takes no note."""
        if isinstance(event, ConnectedEvent) and (member := getattr(event, self._processes.key)):
            self.add_role(member, event.role)
        elif isinstance(event, HelloEvent) and event.pid is not None:
            self.set_generator(event.pid)

    def _each_second(self) -> None:
        due_s = time.monotonic() + self._interval_s
        try:
            while not self._ending.wait(max(0.0, due_s - time.monotonic())):
                self._read("second", None)
                while due_s <= time.monotonic():
                    due_s += self._interval_s
        except (LabDied, DiskError) as error:
            self._failure = error

    def _read(self, moment: str, event_mono_ns: int | None) -> None:
        with self._lock:
            cpu_start_ns = time.thread_time_ns()
            try:
                self._kept.write_raw(msgspec.json.encode(self._reading(moment, event_mono_ns)))
            except DiskError:
                raise
            except Exception as error:
                # Whatever it is: a slip in some file of /proc is not to cost a plan of days.
                raise LabDied(f"the sampler of the host failed: {error!r}") from error
            self.cpu_us += (time.thread_time_ns() - cpu_start_ns) / 1000

    def _reading(self, moment: str, event_mono_ns: int | None) -> host_reading.HostReading:
        mono_ns = time.monotonic_ns()
        owners, rss_bytes = self._processes.read()
        host, disk = host_counters(), disk_counters(self._device)
        apart = self._wal_device not in (None, self._device)
        wal_disk = disk_counters(self._wal_device) if apart else None
        read_ns = time.monotonic_ns() - mono_ns
        # Last, as these take longest and need not be of this very moment.
        foreign = self._foreign if moment in WINDOW_ENDS else None
        return host_reading.HostReading(
            moment=moment,
            mono_ns=mono_ns,
            read_ns=read_ns,
            delay_ns=None if event_mono_ns is None else mono_ns - event_mono_ns,
            host=host,
            disk=disk,
            wal_disk=wal_disk,
            owners=owners,
            rss_bytes=rss_bytes,
            cpu_source=self._processes.cpu_source,
            led=True,
            foreign=None if foreign is None else foreign.read(),
            pss_bytes=self._processes.pss_bytes() if moment in OUTSIDE_WINDOW else None,
        )


def host_counters() -> host_reading.HostCounters:
    """The whole host's counters; Linux always has these files."""
    stat = procfs.stat(files.text("/proc/stat") or "", TICKS_PER_S)
    memory = procfs.meminfo(files.text("/proc/meminfo") or "")
    return host_reading.HostCounters(
        cpu_us=stat.cpu_us,
        context_switches=stat.context_switches,
        running=stat.running,
        memory_bytes=host_reading.MemoryBytes(
            total=memory["MemTotal"],
            free=memory["MemFree"],
            available=memory["MemAvailable"],
            cached=memory["Cached"],
            dirty=memory["Dirty"],
            writeback=memory["Writeback"],
        ),
        swap_pages=host_reading.SwapPages(*procfs.swap_pages(files.text("/proc/vmstat") or "")),
        slept_ns=slept_ns(),
    )


def slept_ns() -> int:
    """For how long the machine has been suspended since it booted.

    A preemption between the two readings makes the difference too small: the largest one counts.
    """
    return max(
        time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns() for _ in range(SLEPT_LOOKS)
    )


def disk_counters(device: str | None) -> host_reading.DeviceCounters | None:
    """The device's counters; None where the device under the data is not known."""
    text = None if device is None else files.record(f"/sys/class/block/{device}/stat")
    return procfs.disk_stat(text, device) if device and text else None
