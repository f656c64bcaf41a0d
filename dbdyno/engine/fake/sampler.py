"""The sampler of an arm with engine "fake": readings with planted, exactly known costs.

Its clock is that of the generator's events (virtual, jumping), its costs are what the arm's `fake`
plants for each operation. So what is derived from a result has an answer known beforehand.
"""

import time
from collections.abc import Mapping
from typing import Any

import msgspec

from dbdyno.host.observe.owned_processes import GENERATOR, LAB, OTHER_BACKEND
from dbdyno.host.observe.owners import EXITED, nothing_spent
from dbdyno.host.observe.sampler import OUTSIDE_WINDOW, WINDOW_ENDS, ReadingSink
from dbdyno.model import host_reading
from dbdyno.model.events import AnyEvent, ConnectedEvent, HelloEvent, Tick, TickPart

PLANTED = {
    "server_cpu_us": ("cpu_ns", 1000),
    "server_switches": ("voluntary", 1),
    "server_read_bytes": ("read_bytes", 1),
    "server_write_bytes": ("write_bytes", 1),
}
"""Keys of an arm's `fake` that are the sampler's, not the generator's: each is a cost per
operation by the operation's name, such as `server_cpu_us = { market = 40.0 }`; the column of an
owner that it fills, and the factor to that column's unit."""

KEYS = frozenset({*PLANTED, "cores", "foreign_share"})
"""All keys of an arm's `fake` that the generator must not see in its job."""

CORES = 2
SIZE_BYTES = 16 << 30
MEMORY = host_reading.MemoryBytes(
    total=SIZE_BYTES, free=SIZE_BYTES, available=SIZE_BYTES, cached=0, dirty=0, writeback=0
)


class FakeSampler:
    """Writes lines as the real sampler does (host.observe.sampler.Sampler has the same methods)."""

    def __init__(self, kept: ReadingSink, fake: Mapping[str, Any]) -> None:
        self.cpu_us = 0.0  # this sampler observes nothing real, so it costs nothing
        self._planted = {key: fake.get(key, {}) for key in PLANTED}
        self._cores = int(fake.get("cores", CORES))
        self._foreign_share = float(fake.get("foreign_share", 0.0))
        self._foreign_since_ns: int | None = None  # as the real one counts from its first look
        self._owners = {owner: nothing_spent() for owner in (LAB, GENERATOR)}
        self._named = True  # whether the load says which sessions are whose, and what it costs
        self._start_ns = self._mono_ns = time.monotonic_ns()
        self._tick_ns: int | None = None  # of the ticks that have no line yet
        self._tick: int | None = None  # their number
        self._kept = kept

    def start(self) -> None:
        """Does nothing: the seconds come from the generator's ticks."""

    def stop(self) -> None:
        """Writes the last second and makes the readings durable."""
        self._end_second()
        self._kept.close()

    def add_role(self, pid: int, role: str) -> None:
        """An owner that is there from its connection on, as with a real server."""
        owner = self._owners.setdefault(f"role:{role}", nothing_spent())
        owner.processes = (owner.processes or 0) + 1

    def set_lab_session(self, pid: int, owner: str) -> None:
        """Does nothing: a fake server has no process that could be asked."""

    def owner(self, member: int) -> str:
        """A fake server has no process."""
        return EXITED

    def observe(self, event: AnyEvent) -> None:
        """Counts what the operations of a tick cost; its line is written when the next begins."""
        if isinstance(event, HelloEvent) and event.pid is None:
            self._named = event.profile is not None  # a generator on another host names them
            del self._owners[GENERATOR]
        if isinstance(event, ConnectedEvent):
            self.add_role(event.server_pid, event.role)
        if not isinstance(event, Tick):
            return
        if event.tick != self._tick:
            self._end_second()
            self._tick = event.tick
            if GENERATOR in self._owners:
                generator = self._owners[GENERATOR]
                generator.cpu_ns = (generator.cpu_ns or 0) + (event.cpu_us or 0) * 1000
        self._tick_ns = self._mono_ns = event.mono_ns
        self._spend(event.role, event.operations)

    def read(self, moment: str, event_mono_ns: int | None = None) -> None:
        """Writes a reading at the event's own time: it is never late."""
        self._end_second()
        if event_mono_ns is not None:
            self._mono_ns = event_mono_ns
        delay_ns = None if event_mono_ns is None else 0
        self._write(moment, self._mono_ns, delay_ns)

    def _spend(self, role: str, operations: Mapping[str, TickPart]) -> None:
        owner = f"role:{role}" if self._named else OTHER_BACKEND
        total = self._owners.setdefault(owner, nothing_spent())
        for name, operation in operations.items():
            for key, (column, factor) in PLANTED.items():
                cost = round(self._planted[key].get(name, 0) * factor * operation.count)
                setattr(total, column, getattr(total, column) + cost)

    def _end_second(self) -> None:
        if self._tick_ns is not None:
            self._write("second", self._tick_ns, None)
            self._tick_ns = None

    def _write(self, moment: str, mono_ns: int, delay_ns: int | None) -> None:
        reading = host_reading.HostReading(
            moment=moment,
            mono_ns=mono_ns,
            read_ns=0,
            delay_ns=delay_ns,
            host=self._host(mono_ns),
            disk=self._disk(),
            owners={
                **dict(sorted(self._owners.items())),
                EXITED: host_reading.OwnerCounters(cpu_ns=0),
            },
            rss_bytes=0,
            cpu_source="planted",
            led=True,
            foreign=self._foreign(mono_ns) if moment in WINDOW_ENDS else None,
            pss_bytes=0 if moment in OUTSIDE_WINDOW else None,
        )
        self._kept.write_raw(msgspec.json.encode(reading))

    def _foreign(self, mono_ns: int) -> host_reading.ForeignLoad:
        """The foreign load that the plan plants, by one process that is not there."""
        if self._foreign_since_ns is None:
            self._foreign_since_ns = mono_ns
        since_us = self._all_us(mono_ns) - self._all_us(self._foreign_since_ns)
        cpu_us = round(self._foreign_share * since_us)
        planted = host_reading.ForeignProcess(pid=1, name="planted", cpu_us=cpu_us)
        return host_reading.ForeignLoad(cpu_us=cpu_us, processes=(planted,) if cpu_us else ())

    def _all_us(self, mono_ns: int) -> int:
        """The time of all cores since the beginning."""
        return self._cores * (mono_ns - self._start_ns) // 1000

    def _host(self, mono_ns: int) -> host_reading.HostCounters:
        """The host as if nothing else ran on it: its busy time is the owners' and the planted."""
        owners = self._owners.values()
        busy_us = sum(owner.cpu_ns or 0 for owner in owners) // 1000
        all_us = self._all_us(mono_ns)
        busy_us += round(self._foreign_share * all_us)
        states = dict.fromkeys(("nice", "system", "iowait", "irq", "softirq", "steal"), 0)
        return host_reading.HostCounters(
            cpu_us={"user": busy_us, "idle": max(0, all_us - busy_us), **states},
            context_switches=sum(owner.voluntary or 0 for owner in owners),
            running=0,
            memory_bytes=MEMORY,
            swap_pages=host_reading.SwapPages(0, 0),
            slept_ns=0,
        )

    def _disk(self) -> host_reading.DeviceCounters:
        """A device that takes each byte at once; how many requests that were is not planted."""
        counts = ("reads", "read_ms", "writes", "write_ms", "in_flight", "io_ms", "weighted_ms")
        return host_reading.DeviceCounters(
            device="fake",
            read_bytes=sum(owner.read_bytes or 0 for owner in self._owners.values()),
            write_bytes=sum(owner.write_bytes or 0 for owner in self._owners.values()),
            **dict.fromkeys((*counts, "flushes"), 0),
        )
