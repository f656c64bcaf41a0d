"""The facts of a machine, as host.json and hosts/NAME.json have them (docs/results.md).

None is a fact that could not be read; `unread` says why. A part that an older version did not read
has no facts.
"""

from collections.abc import Mapping

from msgspec import UNSET, Struct, UnsetType

from dbdyno.model.host_reading import SwapPages
from dbdyno.model.step import StepName

Limit = int | float | str | None
"""A number, or `unlimited`."""


class Cpu(Struct, frozen=True, kw_only=True):
    """The processor, by which a machine is known: `cores` are physical, `cpus` logical."""

    model: str | None = None
    cores: int | None = None
    cpus: int | None = None
    sockets: int | None = None
    threads_per_core: int | None = None
    mhz_max: int | float | None = None
    governor: str | None = None  # of all cores, each once
    smt: bool | None = None
    flags_short: tuple[str, ...] | None = None
    numa_nodes: int | None = None


class Memory(Struct, frozen=True, kw_only=True):
    """What of the memory is free, and what the kernel has promised of it."""

    free_bytes: int | None = None
    available_bytes: int | None = None
    commit_limit_bytes: int | None = None
    committed_bytes: int | None = None


class TransparentHugePages(Struct, frozen=True, kw_only=True):
    """The kernel's settings of transparent huge pages."""

    enabled: str | None = None
    defrag: str | None = None
    shmem_enabled: str | None = None


class HugePagePool(Struct, frozen=True, kw_only=True):
    """The huge pages that are set aside, in pages of `size_bytes`."""

    total: int | None = None
    free: int | None = None
    reserved: int | None = None
    surplus: int | None = None
    size_bytes: int | None = None


class Frequency(Struct, frozen=True, kw_only=True):
    """How fast the cores may run and do; how often heat has slowed them since the boot."""

    driver: str | None = None
    turbo: bool | None = None
    turbo_file: str | None = None  # that says so
    mhz_now: tuple[int, ...] | None = None  # the slowest core's and the fastest one's
    throttled: int | None = None


class Processors(Struct, frozen=True, kw_only=True):
    """The logical CPUs by lists such as `0-3`."""

    online: str | None = None
    offline: str = ""
    isolated: str = ""  # kept free by the kernel
    allowed: str | None = None  # for dyno
    smt_control: str | None = None
    siblings: tuple[str, ...] = ()  # each those that share a core


class ProcessLimits(Struct, frozen=True, kw_only=True):
    """The limits of a process, each the soft and the hard one."""

    open_files: tuple[Limit, ...] | None = None
    locked_memory_bytes: tuple[Limit, ...] | None = None
    processes: tuple[Limit, ...] | None = None


class ControlGroup(Struct, frozen=True, kw_only=True):
    """The tightest limits of the control groups that dyno is in; None: there are none."""

    version: int | None = None
    cpu_max: Limit = None  # CPUs' time
    memory_max: Limit = None  # bytes
    pids_max: Limit = None


class LoginService(Struct, frozen=True, kw_only=True):
    """systemd-logind, and its setting RemoveIPC."""

    running: bool | None = None
    remove_ipc: str | None = None


class Queue(Struct, frozen=True, kw_only=True):
    """A block device's queue."""

    device: str
    scheduler: str | None = None
    schedulers: tuple[str, ...] | None = None  # that it could have
    read_ahead_bytes: int | None = None
    rotational: bool | None = None
    write_cache: str | None = None
    requests: int | None = None


class Storage(Struct, frozen=True, kw_only=True):
    """The file system under a folder, and the devices below it."""

    path: str | None = None
    file_system: str | None = None
    mount_point: str | None = None
    mount_options: str | None = None
    device: str | None = None  # the deepest one that has all of the folder's traffic
    devices: tuple[str, ...] = ()  # the physical ones
    model: str | None = None
    rotational: bool | None = None
    scheduler: str | None = None
    size_bytes: int | None = None
    free_bytes: int | None = None
    total_bytes: int | None = None
    unsure: str | None = None  # why `device` may be another one
    layers: tuple[Queue, ...] = ()  # the mounted device first, the disks last


class SyncTimes(Struct, frozen=True, kw_only=True):
    """How long it takes until a page that is overwritten is on the device."""

    count: int
    bytes: int
    p50_us: float
    p99_us: float
    max_us: float


class BusyProcess(Struct, frozen=True, kw_only=True):
    """A process that used a CPU during a look, as a share of one CPU's time."""

    pid: int
    name: str
    cpu_share: float


class ServerProcess(Struct, frozen=True, kw_only=True):
    """A database server that ran during a look, by its first process."""

    pid: int
    name: str


class IdleSample(Struct, frozen=True, kw_only=True):
    """What the host did in some seconds while dyno was idle; shares are of all CPUs' time."""

    seconds: float
    busy_share: float | None = None
    steal_share: float | None = None
    iowait_share: float | None = None
    context_switches: int | None = None
    swap_pages: SwapPages = SwapPages()
    load_average: tuple[float, ...] | None = None
    processes: tuple[BusyProcess, ...] = ()  # the busiest ones
    servers: tuple[ServerProcess, ...] = ()


class ClockSources(Struct, frozen=True, kw_only=True):
    """The clock sources that the kernel could use, and the time of a reading."""

    available: tuple[str, ...] | None = None
    read_ns: float | None = None


class FillScatter(Struct, frozen=True, kw_only=True):
    """How far the counts of a step are apart between fills of one build: of a log count."""

    deviation: float
    freedom: int
    newest_unix_ns: int = 0  # when the last of these fills was made: older ones are in it already


class CountScatter(Struct, frozen=True, kw_only=True):
    """How far counts of one build repeat, by `dyno calibrate --count`, pooled over steps.

    A deviation is that of a log ratio of two counts. Freedom 0: no such step was counted.
    """

    repeats: int = 0  # 0: the host is not calibrated
    pairs: int = 0  # of all steps
    beyond: int = 0  # pairs whose change is beyond their step's margin
    deviation: float = 0.0  # of steps that read
    freedom: int = 0
    deviation_of_writes: float = 0.0
    freedom_of_writes: int = 0
    # By `fills_key`: what passes of several fills have seen.
    fills: Mapping[str, FillScatter] = {}


def fills_key(version: str, step: StepName) -> str:
    """The key of a step by servers of a version: 18.6 sysbench/point-query."""
    return f"{version} {'/'.join(step)}"


class Machine(Struct, frozen=True, kw_only=True):
    """The facts that make it the same machine: with another of them blocks are not pooled."""

    kernel: str | None = None
    cpu: Cpu = Cpu()
    memory_bytes: int | None = None


class HostFacts(Struct, frozen=True, kw_only=True):
    """The facts of a machine, and of the storage under its servers' data."""

    since_unix_ns: int | None = None  # the first run that found the lasting facts so
    cpu: Cpu = Cpu()
    memory_bytes: int | None = None
    memory: Memory = Memory()
    swap_bytes: int | None = None
    swap_used_bytes: int | None = None
    thp: TransparentHugePages = TransparentHugePages()
    huge_pages: int | None = None
    huge_page_pool: HugePagePool = HugePagePool()
    kernel: str | None = None
    os: str | None = None
    boot_id: str | None = None
    hostname_hash: str | None = None
    user_id: int | None = None
    virtual: str | None = None  # the hypervisor
    container: bool | None = None
    read_only: tuple[str, ...] = ()  # of /sys and /proc/sys what nobody can change here
    frequency: Frequency = Frequency()
    processors: Processors = Processors()
    mitigations: Mapping[str, str | None] | None = None  # the kernel's word on each weakness
    limits: ProcessLimits = ProcessLimits()
    control_group: ControlGroup = ControlGroup()
    login_service: LoginService = LoginService()
    data: Storage = Storage()
    wal: Storage | UnsetType | None = UNSET  # None: logs lie with the data; UNSET: nobody looked
    sysctl: Mapping[str, int | str | None] = {}
    sync: SyncTimes | None = None
    look: IdleSample | None = None
    clock_source: str | None = None
    clock: ClockSources = ClockSources()
    unread: Mapping[str, str] = {}  # by fact why it is None
    counts: CountScatter | UnsetType | None = UNSET  # UNSET: nothing is counted

    @property
    def machine(self) -> Machine:
        """The facts that identify the machine."""
        return Machine(kernel=self.kernel, cpu=self.cpu, memory_bytes=self.memory_bytes)

    @property
    def one_device(self) -> bool:
        """Whether the log is known to lie on the data's device; old versions looked nowhere."""
        if self.wal:
            return bool(self.wal.device) and self.wal.device == self.data.device
        return self.wal is None
