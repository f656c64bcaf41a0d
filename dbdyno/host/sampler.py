"""Reads the host's counters each second and at a window's and its turns' ends, into host.jsonl.

Each line is cumulative counters of the host, the device and every owner (docs/results.md). The
readings are of /proc only: nothing is asked of the server.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Protocol

from dbdyno.host import files, procfs
from dbdyno.host.device import Device
from dbdyno.host.owners import EXITED, Ledger, Process
from dbdyno.host.process import (
    TICK_US,
    TICKS_PER_S,
    ProcessReader,
    ProcessReading,
    counts_nanoseconds,
)
from dbdyno.model import Json

GENERATOR = "generator"
LAB = "lab"
LAB_WAITS = "lab:waits"
"""The server process that the lab asks what sessions wait for: its cost is not the server's."""
POSTMASTER = "background:postmaster"
BACKEND = "backend"
OTHER_BACKEND = "backend:other"
OUTSIDE_WINDOW = ("start", "end")


class ServerProcesses(Protocol):
    """What the sampler asks of a server (dbdyno.server.Server has it)."""

    @property
    def postmaster_pid(self) -> int | None:
        """The pid of the process whose children the server consists of; None: nothing runs."""

    def processes(self) -> Mapping[int, str]:
        """The live processes and their kinds: "backend", "checkpointer", "autovacuum worker" …"""


class Sampler:
    """Appends readings to `path`: `start` and `stop` for each second, `read` for one at once.

    `roles` says which role a server process works for; it may be filled while readings go on.
    Readings are made under a lock, so `read` may be called from any thread.
    """

    def __init__(  # noqa: PLR0913 (what is observed, each by its name)
        self,
        path: Path,
        *,
        device: Device | None,
        server: ServerProcesses,
        roles: MutableMapping[int, str] | None = None,
        generator_pid: int | None = None,
        lab_pid: int | None = None,
        interval_s: float = 1.0,
    ) -> None:
        self.roles: MutableMapping[int, str] = {} if roles is None else roles
        self.cpu_us = 0.0  # CPU time of all readings so far, with their writing
        self._device = device.name if device else None
        self._processes = Processes(server, self.roles, os.getpid() if lab_pid is None else lab_pid)
        self._processes.generator_pid = generator_pid
        self._interval_s = interval_s
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._each_second, name="sampler", daemon=True)
        self._failure: Exception | None = None

    def start(self) -> None:
        """Begins the readings of each second; the first is made one interval from now."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the readings, syncs the file and closes it; raises what a reading raised."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()
        with self._lock:
            if self._file >= 0:
                os.fsync(self._file)
                os.close(self._file)
                self._file = -1
        if self._failure is not None:
            raise self._failure

    def read(self, kind: str, event_mono_ns: int | None = None) -> None:
        """Makes a reading at once; `kind` is one of those in docs/results.md, host.jsonl.

        `event_mono_ns`: when that happened of which the reading tells; how much later it was
        made is in the line.
        """
        self._read(kind, event_mono_ns)

    def add_role(self, pid: int, role: str) -> None:
        """Tells that the server process `pid` works for `role`."""
        self.roles[pid] = role

    def set_waits(self, pid: int) -> None:
        """Tells which server process the lab asks what sessions wait for."""
        self._processes.waits_pid = pid

    def set_generator(self, pid: int) -> None:
        """Tells which process the load generator is."""
        self._processes.generator_pid = pid

    def observe(self, event: Json) -> None:
        """Takes note of who is who in an event of the generator; of ticks takes no note."""
        if event["event"] == "connected" and event.get("server_pid"):
            self.add_role(event["server_pid"], event["role"])
        elif event["event"] == "hello":
            self.set_generator(event["pid"])

    def _each_second(self) -> None:
        due_s = time.monotonic() + self._interval_s
        try:
            while not self._ending.wait(max(0.0, due_s - time.monotonic())):
                self._read("second", None)
                while due_s <= time.monotonic():
                    due_s += self._interval_s
        except Exception as error:
            self._failure = error

    def _read(self, kind: str, event_mono_ns: int | None) -> None:
        with self._lock:
            cpu_start_ns = time.thread_time_ns()
            line = self._line(kind, event_mono_ns)
            text = json.dumps(line, separators=(",", ":")) + "\n"
            os.write(self._file, text.encode())
            self.cpu_us += (time.thread_time_ns() - cpu_start_ns) / 1000

    def _line(self, kind: str, event_mono_ns: int | None) -> Json:
        mono_ns = time.monotonic_ns()
        processes = self._processes.read()
        line: Json = {
            "kind": kind,
            "mono_ns": mono_ns,
            "read_ns": 0,
            "delay_ns": None if event_mono_ns is None else mono_ns - event_mono_ns,
            "host": host(),
            "disk": disk(self._device),
            **processes,
        }
        line["read_ns"] = time.monotonic_ns() - mono_ns
        if kind in OUTSIDE_WINDOW:
            line["pss_bytes"] = self._processes.pss_bytes()
        return line


class Processes:
    """All processes with an owner: the server's, the generator and the lab."""

    def __init__(self, server: ServerProcesses, roles: Mapping[int, str], lab_pid: int) -> None:
        self.generator_pid: int | None = None
        self.waits_pid: int | None = None
        self._server = server
        self._roles = roles
        self._lab_pid = lab_pid
        self._nanoseconds = counts_nanoseconds()
        self._ledger = Ledger()
        self._readers: dict[int, ProcessReader] = {}
        self._kinds: dict[int, str] = {}  # of the server's processes that are read
        self._unsettled: set[int] = set()  # seen for the first time in the last reading
        self._postmaster: tuple[int, int] | None = None  # pid and start

    def read(self) -> Json:
        """Reads all of them: `owners`, `rss_bytes` and where the CPU time comes from."""
        self._find_server_processes()  # first, as it takes longest: what ends meanwhile is counted
        children_ns = self._children_ns()
        own = {self._lab_pid: LAB}
        if self.generator_pid is not None:
            own[self.generator_pid] = GENERATOR
        found: list[Process] = []
        server: list[ProcessReading] = []
        for pid in [*own, *self._kinds]:
            reading = self._read_one(pid)
            if reading is None:
                self._forget(pid)
                continue
            child = pid in self._kinds
            if child and self._readers[pid].first_seen_at_its_end:
                self._kinds[pid] = EXITED
            owner = own.get(pid) or self._owner(pid)
            start = reading.start_ticks
            found.append(Process(pid, start, owner, reading.usage, child and owner != POSTMASTER))
            if child:
                server.append(reading)
        self._ledger.update(found, children_ns)
        return {
            "owners": self._ledger.as_json(),
            "rss_bytes": resident_bytes(server),
            "cpu_source": "schedstat" if self._nanoseconds else "stat",
        }

    def pss_bytes(self) -> int | None:
        """The server's memory, shared pages counted once; None where it cannot be read."""
        sizes = [self._readers[pid].pss_bytes() for pid in self._kinds if pid in self._readers]
        known = [size for size in sizes if size is not None]
        return sum(known) if known and len(known) == len(sizes) else None

    def _children_ns(self) -> int | None:
        """CPU time of the postmaster's ended children; notices when it is another postmaster."""
        pid = self._server.postmaster_pid
        text = files.record(f"/proc/{pid}/stat") if pid is not None else None
        if pid is None or not text:
            return None
        stat = procfs.process_stat(text)
        postmaster = (pid, stat.start_ticks)
        if self._postmaster not in (None, postmaster):
            self._ledger.restart()
        self._postmaster = postmaster
        return stat.children_ticks * TICK_US * 1000

    def _find_server_processes(self) -> None:
        """Finds processes that came, and asks the server what they are.

        Asking reads each process's title, so it is done only when there are new ones, and once
        more at the reading after that: a process that was just forked has its parent's title.
        A process leaves when it can be read no more: the kernel's list of children may miss one.
        """
        pid = self._server.postmaster_pid
        if pid is None:
            return
        listed = files.text(f"/proc/{pid}/task/{pid}/children")
        new = None if listed is None else {pid, *procfs.children(listed)} - self._kinds.keys()
        if new or new is None or self._unsettled:
            kinds = dict(self._server.processes())
            kinds[pid] = "postmaster"
            self._unsettled = kinds.keys() - self._kinds.keys()
            self._kinds.update(kinds)

    def _owner(self, pid: int) -> str:
        if pid == self.waits_pid:
            return LAB_WAITS
        kind = self._kinds[pid]
        role = self._roles.get(pid)
        if role is not None:
            return f"role:{role}"
        if kind == EXITED:
            return EXITED
        return OTHER_BACKEND if kind == BACKEND else f"background:{kind}"

    def _read_one(self, pid: int) -> ProcessReading | None:
        if pid not in self._readers:
            self._readers[pid] = ProcessReader(pid=pid, nanoseconds=self._nanoseconds)
        return self._readers[pid].read()

    def _forget(self, pid: int) -> None:
        self._readers.pop(pid, None)
        self._kinds.pop(pid, None)
        self._unsettled.discard(pid)


def resident_bytes(readings: list[ProcessReading]) -> int | None:
    """Memory of the server with what is shared counted once, as far as it is resident."""
    if not readings:
        return None
    own = sum(reading.resident_bytes - reading.shared_bytes for reading in readings)
    return own + max(reading.shared_bytes for reading in readings)


def host() -> Json:
    """The whole host's counters; Linux always has these files."""
    stat = procfs.stat(files.text("/proc/stat") or "", TICKS_PER_S)
    memory = procfs.meminfo(files.text("/proc/meminfo") or "")
    swapped_in, swapped_out = procfs.swap_pages(files.text("/proc/vmstat") or "")
    return {
        "cpu_us": stat.cpu_us,
        "context_switches": stat.context_switches,
        "running": stat.running,
        "memory_bytes": {
            "total": memory["MemTotal"],
            "free": memory["MemFree"],
            "available": memory["MemAvailable"],
            "cached": memory["Cached"],
            "dirty": memory["Dirty"],
            "writeback": memory["Writeback"],
        },
        "swap_pages": {"in": swapped_in, "out": swapped_out},
    }


def disk(device: str | None) -> Json | None:
    """The device's counters; None where the device under the data is not known."""
    if device is None:
        return None
    text = files.record(f"/sys/class/block/{device}/stat")
    return {"device": device, **procfs.disk_stat(text)._asdict()} if text else None
