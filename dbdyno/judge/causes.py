"""The costs of an operation that can be why a step is faster or slower, and their words."""

from dataclasses import dataclass

from dbdyno.model.metric.primary import CONNECTIONS_CPU, CPU, SESSIONS_CPU

HELPERS = ("io_worker_cpu_per_op", "parallel_cpu_per_op")
"""Parts of the CPU of operations."""
PLAN = "plan"
WAITS = "waits"


@dataclass(frozen=True, kw_only=True)
class Reason:
    """A metric that says what an operation costs in one respect; more of it is slower."""

    metric: str
    group: str  # metrics that tell of one thing, under the name by which it "did not change"
    text: str  # with {more} for the change and {unit} for what the headline counts
    time: bool = False  # in microseconds, so that it can be set beside the change in all
    counted: bool = False  # things, of which there are fewer and not less
    least: float = 0.0  # of what is no time: an amount that does not matter
    of_cpu: bool = False  # can be why an operation takes more CPU


def _time(metric: str, group: str, text: str) -> Reason:
    return Reason(metric=metric, group=group, text=text, time=True)


def _count(metric: str, group: str, text: str, least: float, *, of_cpu: bool = False) -> Reason:
    return Reason(metric=metric, group=group, text=text, counted=True, least=least, of_cpu=of_cpu)


def _size(metric: str, group: str, text: str, least: float) -> Reason:
    return Reason(metric=metric, group=group, text=text, least=least)


REASONS: tuple[Reason, ...] = (
    _time(CPU, "CPU", "the server used {more} CPU per {unit}"),
    _time(SESSIONS_CPU, "CPU", "the sessions used {more} CPU per {unit}"),
    _time(CONNECTIONS_CPU, "CPU", "the connections used {more} CPU per {unit}"),
    _time("runnable_us_per_op", "run delay", "{more} time ready without a core per {unit}"),
    _time("wait_io_us_per_op", WAITS, "{more} time waiting for reads and writes per {unit}"),
    _time(
        "wait_lwlock_us_per_op", WAITS, "{more} time waiting for the server's own locks per {unit}"
    ),
    _time("wait_lock_us_per_op", WAITS, "{more} time waiting for locks per {unit}"),
    _time("wait_ipc_us_per_op", WAITS, "{more} time waiting for other server processes per {unit}"),
    _time("wait_other_us_per_op", WAITS, "{more} time in other waits per {unit}"),
    _time("client_us_per_op", "client time", "{more} time waiting for the client per {unit}"),
    _count(
        "cs_per_op", "context switches", "{more} context switches per {unit}", 0.01, of_cpu=True
    ),
    _count(
        "buffers_hit_per_op",
        "pages in memory",
        "{more} pages found in shared buffers per {unit}",
        0.01,
        of_cpu=True,
    ),
    _count(
        "buffers_read_per_op",
        "reads",
        "{more} pages not found in shared buffers per {unit}",
        0.01,
        of_cpu=True,
    ),
    _count(
        "pool_hit_per_op",
        "pages in memory",
        "{more} pages found in the buffer pool per {unit}",
        0.01,
        of_cpu=True,
    ),
    _count(
        "pool_read_per_op",
        "reads",
        "{more} pages not found in the buffer pool per {unit}",
        0.01,
        of_cpu=True,
    ),
    _count(
        "instructions_per_op", "instructions", "{more} instructions per {unit}", 1.0, of_cpu=True
    ),
    _count(
        "kernel_instructions_per_op",
        "instructions in the kernel",
        "{more} instructions in the kernel per {unit}",
        1.0,
        of_cpu=True,
    ),
    _count(
        "cache_misses_per_op",
        "cache misses",
        "{more} misses of the last cache per {unit}",
        0.01,
        of_cpu=True,
    ),
    _count(
        "dtlb_misses_per_op",
        "TLB misses",
        "{more} misses of the data TLB per {unit}",
        0.01,
        of_cpu=True,
    ),
    _count(
        "branch_misses_per_op",
        "branch misses",
        "{more} mispredicted branches per {unit}",
        0.01,
        of_cpu=True,
    ),
    _count("rows_read_per_op", "rows read", "{more} rows read per {unit}", 0.01, of_cpu=True),
    _count("rpq", "reads", "{more} device reads per {unit}", 0.01),
    _size("rkbpq", "reads", "{more} KiB read from the device per {unit}", 0.1),
    _size("role_read_kib_per_op", "reads", "{more} KiB read by its backends per {unit}", 0.1),
    _count("wpq", "writes", "{more} device writes per {unit}", 0.01),
    _size("wkbpq", "writes", "{more} KiB written to the device per {unit}", 0.1),
    _size("role_write_kib_per_op", "writes", "{more} KiB written by its backends per {unit}", 0.1),
    _count("wal_bytes_per_op", "WAL", "{more} bytes of WAL per {unit}", 1.0, of_cpu=True),
    _count("fpi_per_op", "WAL", "{more} full-page images per {unit}", 0.001, of_cpu=True),
    _count(
        "binlog_bytes_per_op",
        "binary log",
        "{more} bytes of binary log per {unit}",
        1.0,
        of_cpu=True,
    ),
    _count("fsyncs_per_op", "syncs", "{more} syncs of files per {unit}", 0.001),
    _count("log_fsyncs_per_op", "syncs", "{more} syncs of the redo log per {unit}", 0.001),
    _count("pages_written_per_op", "writes", "{more} pages written per {unit}", 0.001),
    _count(
        "doublewrite_pages_per_op",
        "writes",
        "{more} pages written to the doublewrite buffer per {unit}",
        0.001,
    ),
    _time("checkpointer_cpu_per_op", "background CPU", "{more} CPU of the checkpointer per {unit}"),
    _time("writer_cpu_per_op", "background CPU", "{more} CPU of the writers per {unit}"),
    _time("autovacuum_cpu_per_op", "background CPU", "{more} CPU of autovacuum per {unit}"),
    _time("io_worker_cpu_per_op", "background CPU", "{more} CPU of io workers per {unit}"),
    _time("parallel_cpu_per_op", "background CPU", "{more} CPU of parallel workers per {unit}"),
    _time("page_cleaner_cpu_per_op", "background CPU", "{more} CPU of page cleaners per {unit}"),
    _time("log_cpu_per_op", "background CPU", "{more} CPU of the redo log's threads per {unit}"),
    _time("purge_cpu_per_op", "background CPU", "{more} CPU of purge per {unit}"),
    _time("io_thread_cpu_per_op", "background CPU", "{more} CPU of I/O threads per {unit}"),
    _time("generator_cpu_per_op", "generator CPU", "{more} CPU of the load generator per {unit}"),
)
"""The causes that reports look for, the closest to the operation first."""
