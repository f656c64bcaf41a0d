"""The readings of the host, a line of host.jsonl each (docs/results.md).

Counters only grow, since the host's start or an owner's; None: not known, as what older results do
not have. Times are in the unit that a counter's name says.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar, cast

from msgspec import Struct, field

from dbdyno.model.json import Natural

Counter = float | None
Device = Literal["disk", "wal_disk"]
"""The device of the data, and that of the log if it is another: their keys in a reading."""
GAUGES = frozenset(
    {"moment", "read_ns", "delay_ns", "running", "memory_bytes", "device", "in_flight"}
    | {"processes", "rss_bytes", "pss_bytes", "cpu_source", "led"}
)
"""The fields of a reading that are not counters."""

Value = TypeVar("Value")


class MemoryBytes(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """The host's memory, by /proc/meminfo."""

    total: Counter = None
    free: Counter = None
    available: Counter = None
    cached: Counter = None
    dirty: Counter = None
    writeback: Counter = None


class SwapPages(Struct, frozen=True, omit_defaults=True):
    """Pages that were swapped."""

    into: Counter = field(default=None, name="in")
    out: Counter = None


class HostCounters(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """The whole host."""

    cpu_us: Mapping[str, Counter] = {}  # by CPU_STATES, all cores together
    context_switches: Counter = None
    running: Counter = None  # tasks that run or could run
    memory_bytes: MemoryBytes = MemoryBytes()
    swap_pages: SwapPages = SwapPages()
    slept_ns: Counter = None  # while the machine was suspended, which its clocks of time leave out


class DeviceCounters(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A block device, by the kernel's Documentation/admin-guide/iostats.rst."""

    device: str = ""  # its name
    reads: Counter = None
    read_merges: Counter = None
    read_bytes: Counter = None
    read_ms: Counter = None
    writes: Counter = None
    write_merges: Counter = None
    write_bytes: Counter = None
    write_ms: Counter = None
    in_flight: Counter = None
    io_ms: Counter = None
    weighted_ms: Counter = None
    discards: Counter = None  # from Linux 4.18 on, as all of discards
    discard_merges: Counter = None
    discard_bytes: Counter = None
    discard_ms: Counter = None
    flushes: Counter = None  # from Linux 5.5 on
    flush_ms: Counter = None


class OwnerCounters(Struct, kw_only=True, omit_defaults=True):
    """What the processes of an owner have spent, and how many of them there are."""

    cpu_ns: Counter = None
    user_us: Counter = None
    system_us: Counter = None
    voluntary: Counter = None
    involuntary: Counter = None
    read_bytes: Counter = None
    write_bytes: Counter = None
    run_delay_ns: Counter = None  # ready and without a core
    processes: Counter = None


class ForeignProcess(Struct, frozen=True):
    """A process that is neither the lab's nor an arm's."""

    pid: int
    name: str
    cpu_us: float


class ForeignLoad(Struct, kw_only=True, frozen=True):
    """What processes spent that are neither the lab's nor an arm's, since the first reading."""

    cpu_us: float
    kernel_us: float = 0  # of the kernel's own threads
    processes: tuple[ForeignProcess, ...] = ()  # those that spent most


class HostReading(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """All counters at one moment."""

    moment: str = field(name="kind")  # start, open, second, pause, resume, settled, close or end
    mono_ns: Natural
    read_ns: Counter = None  # how long the reading took
    delay_ns: Natural | None = None  # how long after the event that it tells of
    host: HostCounters = HostCounters()
    disk: DeviceCounters | None = None
    wal_disk: DeviceCounters | None = None
    owners: Mapping[str, OwnerCounters] = {}
    rss_bytes: Counter = None  # of the server's processes
    pss_bytes: Counter = None
    cpu_source: str | None = None  # "schedstat", "stat" or "planted"
    led: bool = False  # whether parallel workers are with the role that leads them
    foreign: ForeignLoad | None = None

    def of(self, device: Device) -> DeviceCounters:
        """The counters of a device; all None of one that was not read."""
        return (self.disk if device == "disk" else self.wal_disk) or UNREAD


UNREAD = DeviceCounters()


def growth(before: Value | None, now: Value) -> Value:
    """By how much each counter of a reading, or of a part of it, grew; gauges as they are now.

    What was not there before has grown from 0.
    """
    grown: Any = now
    if isinstance(now, Struct):
        fields = {name: getattr(now, name) for name in now.__struct_fields__}
        grown = type(now)(
            **{
                name: value if name in GAUGES else growth(getattr(before, name, None), value)
                for name, value in fields.items()
            }
        )
    elif isinstance(now, Mapping):
        earlier = before if isinstance(before, Mapping) else {}
        grown = {key: growth(earlier.get(key), value) for key, value in now.items()}
    elif isinstance(now, int | float):
        grown = now - (before if isinstance(before, int | float) else 0)
    return cast("Value", grown)
