"""The costs of an operation that can be why a step is faster or slower, and their words."""

from dataclasses import dataclass, replace

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
    text: str  # with {more} for the change
    time: bool = False  # in microseconds, so that it can be set beside the change in all
    counted: bool = False  # things, of which there are fewer and not less
    least: float = 0.0  # of what is no time: an amount that does not matter
    of_cpu: bool = False  # can be why an operation takes more CPU

    def words(self, more: str, unit: str) -> str:
        """What an operation has more or less of: 9.6 % more device reads per query."""
        return f"{self.text.format(more=more)} per {unit}"


def _size(metric: str, group: str, what: str, least: float = 0.0) -> Reason:
    text = what if "{more}" in what else f"{{more}} {what}"
    return Reason(metric=metric, group=group, text=text, least=least)


def _time(metric: str, group: str, what: str) -> Reason:
    return replace(_size(metric, group, what), time=True)


def _count(metric: str, group: str, what: str, least: float) -> Reason:
    return replace(_size(metric, group, what, least), counted=True)


def _work(metric: str, group: str, what: str, least: float) -> Reason:
    """Of what takes CPU."""
    return replace(_count(metric, group, what, least), of_cpu=True)


REASONS: tuple[Reason, ...] = (
    _time(CPU, "CPU", "the server used {more} CPU"),
    _time(SESSIONS_CPU, "CPU", "the sessions used {more} CPU"),
    _time(CONNECTIONS_CPU, "CPU", "the connections used {more} CPU"),
    _time("runnable_us_per_op", "run delay", "time ready without a core"),
    _time("wait_io_us_per_op", WAITS, "time waiting for reads and writes"),
    _time("wait_lwlock_us_per_op", WAITS, "time waiting for the server's own locks"),
    _time("wait_lock_us_per_op", WAITS, "time waiting for locks"),
    _time("wait_ipc_us_per_op", WAITS, "time waiting for other server processes"),
    _time("wait_other_us_per_op", WAITS, "time in other waits"),
    _time("client_us_per_op", "client time", "time waiting for the client"),
    _work("cs_per_op", "context switches", "context switches", 0.01),
    _work("buffers_hit_per_op", "pages in memory", "pages found in shared buffers", 0.01),
    _work("buffers_read_per_op", "reads", "pages not found in shared buffers", 0.01),
    _work("pool_hit_per_op", "pages in memory", "pages found in the buffer pool", 0.01),
    _work("pool_read_per_op", "reads", "pages not found in the buffer pool", 0.01),
    _work("instructions_per_op", "instructions", "instructions", 1.0),
    _work(
        "kernel_instructions_per_op",
        "instructions in the kernel",
        "instructions in the kernel",
        1.0,
    ),
    _work("cache_misses_per_op", "cache misses", "misses of the last cache", 0.01),
    _work("dtlb_misses_per_op", "TLB misses", "misses of the data TLB", 0.01),
    _work("branch_misses_per_op", "branch misses", "mispredicted branches", 0.01),
    _work("rows_read_per_op", "rows read", "rows read", 0.01),
    _count("rpq", "reads", "device reads", 0.01),
    _size("rkbpq", "reads", "KiB read from the device", 0.1),
    _size("role_read_kib_per_op", "reads", "KiB read by its backends", 0.1),
    _count("wpq", "writes", "device writes", 0.01),
    _size("wkbpq", "writes", "KiB written to the device", 0.1),
    _size("role_write_kib_per_op", "writes", "KiB written by its backends", 0.1),
    _work("wal_bytes_per_op", "WAL", "bytes of WAL", 1.0),
    _work("fpi_per_op", "WAL", "full-page images", 0.001),
    _work("binlog_bytes_per_op", "binary log", "bytes of binary log", 1.0),
    _count("fsyncs_per_op", "syncs", "syncs of files", 0.001),
    _count("log_fsyncs_per_op", "syncs", "syncs of the redo log", 0.001),
    _count("pages_written_per_op", "writes", "pages written", 0.001),
    _count("doublewrite_pages_per_op", "writes", "pages written to the doublewrite buffer", 0.001),
    _time("checkpointer_cpu_per_op", "background CPU", "CPU of the checkpointer"),
    _time("writer_cpu_per_op", "background CPU", "CPU of the writers"),
    _time("autovacuum_cpu_per_op", "background CPU", "CPU of autovacuum"),
    _time("io_worker_cpu_per_op", "background CPU", "CPU of io workers"),
    _time("parallel_cpu_per_op", "background CPU", "CPU of parallel workers"),
    _time("page_cleaner_cpu_per_op", "background CPU", "CPU of page cleaners"),
    _time("log_cpu_per_op", "background CPU", "CPU of the redo log's threads"),
    _time("purge_cpu_per_op", "background CPU", "CPU of purge"),
    _time("io_thread_cpu_per_op", "background CPU", "CPU of I/O threads"),
    _time("generator_cpu_per_op", "generator CPU", "CPU of the load generator"),
)
"""The causes that reports look for, the closest to the operation first."""
