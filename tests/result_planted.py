"""What is planted in an example result folder: constant rates and costs, from which every metric
follows by hand. All numbers are those of one step of one arm, all clients together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

SECOND_NS = 1_000_000_000
MONO_NS = 5_000 * SECOND_NS  # when the first window opens
UNIX_NS = 1_750_000_000 * SECOND_NS  # the same moment by the wall clock
CORES = 2
CLIENTS = 2


@dataclass(frozen=True, kw_only=True)
class Planted:
    """What one arm did in one step, constantly; rates are those of all clients together."""

    seconds: float = 20.0
    insert_rows_per_s: float = 200.0
    rows_per_insert: int = 50
    deletes: bool = True  # as many rows as are inserted
    delete_rows_share: float = 1.0  # rows that a delete really removes, of those it should
    queries_per_s: float = 5_000.0
    insert_us: int = 800
    delete_us: int = 900
    query_us: int = 200
    found: Mapping[str, float] = field(default_factory=dict)  # of executions; else it is not told
    slow: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # role -> (how many, us)
    ends_early_s: int = 0  # client 1 ends so much earlier than client 0
    role_cpu_us: Mapping[str, float] = field(  # of the role's backends, per row or query
        default_factory=lambda: {"insert": 20.0, "delete": 10.0, "query": 100.0}
    )
    role_switches: float = 2.0  # of each role's backends, per row or query
    background_cpu_us_per_s: Mapping[str, float] = field(
        default_factory=lambda: {"checkpointer": 4_000.0, "walwriter": 1_000.0}
    )
    parallel_cpu_us_per_s: Mapping[str, float] = field(default_factory=dict)  # by leading role
    exited_cpu_us_per_s: float = 500.0
    probe_cpu_us_per_s: float = 100.0
    generator_cpu_us_per_s: float = 40_000.0
    lab_cpu_us_per_s: float = 2_000.0
    rest_cpu_us_per_s: float = 10_000.0
    iowait_us_per_s: float = 50_000.0
    steal_us_per_s: float = 0.0
    switches_per_s: float = 30_000.0
    reads_per_s: float = 40.0
    bytes_per_read: int = 16_384
    writes_per_s: float = 100.0
    bytes_per_write: int = 32_768
    swap_pages_per_s: float = 0.0
    dirty_bytes: tuple[int, int] = (64 << 20, 96 << 20)  # at the window's two ends
    rss_bytes: int = 3 << 30
    wal_bytes_per_s: float = 500_000.0
    full_page_images_per_s: float = 20.0
    checkpoints: tuple[tuple[float, float], ...] = ((5.0, 9.0),)  # (start, end) in the window
    autovacuums: tuple[tuple[float, float], ...] = ((12.0, 13.5),)
    dead_rows: int = 1_234
    database_bytes: int = 2 << 30
    data_dir_bytes: int = 5 << 30
    late_us: int = 1_500
    backlog: int = 3
    lag_us: Mapping[str, int] = field(default_factory=lambda: {"insert": 40, "query": 3})
    queue_us: Mapping[str, int] = field(default_factory=lambda: {"insert": 2, "query": 3})
    errors: int = 0  # not tried again; of the first role, in the first second
    retries: int = 0
    generator_busy_share: float = 0.2
    canary: tuple[int, float, int] = (20_000, 90.0, 400)  # cpu_us, memory_ns, fsync_us_p50
    checks_ok: bool = True

    @property
    def roles(self) -> dict[str, float]:
        """Each role's counted units a second: rows, of queries operations."""
        rates = {"insert": self.insert_rows_per_s} if self.insert_rows_per_s else {}
        if self.deletes:
            rates["delete"] = self.insert_rows_per_s
        if self.queries_per_s:
            rates["query"] = self.queries_per_s
        return rates

    def rows_per_operation(self, role: str) -> float:
        """Rows that the server names for one operation of `role`."""
        if role == "query":
            return 10.0
        share = self.delete_rows_share if role == "delete" else 1.0
        return self.rows_per_insert * share

    def operations_per_s(self, role: str) -> float:
        """Operations of `role` a second, all clients."""
        rate = self.roles[role]
        return rate if role == "query" else rate / self.rows_per_insert

    def response_us(self, role: str) -> int:
        """The response time of every operation of `role` that is not planted as slow."""
        return {"insert": self.insert_us, "delete": self.delete_us, "query": self.query_us}[role]


def plant(step: str, *, faster: float = 1.0, **changes: Any) -> Planted:
    """Plausible numbers for `step`; `faster` multiplies what the step is about."""
    if step == "l.i0":
        planted = Planted(insert_rows_per_s=40_000 * faster, rows_per_insert=100, deletes=False)
        return replace(planted, queries_per_s=0.0, **changes)
    if step == "l.x":
        planted = Planted(seconds=10 / faster, rows_per_insert=100, deletes=False)
        cost = {"insert": 50_000.0}  # a whole core: its rows are few, its work is the indexes
        planted = replace(planted, insert_rows_per_s=20.0, role_cpu_us=cost, checkpoints=())
        return replace(planted, autovacuums=(), queries_per_s=0.0, **changes)
    if step in ("l.i1", "l.i2"):
        rows = {"l.i1": 50, "l.i2": 5}[step]
        planted = Planted(insert_rows_per_s=400 * rows * faster, rows_per_insert=rows)
        planted = replace(planted, generator_cpu_us_per_s=rows * 600.0)
        return replace(planted, queries_per_s=0.0, **changes)
    if step == "cleanup":
        planted = Planted(insert_rows_per_s=0.0, deletes=False, queries_per_s=0.0)
        return replace(planted, **changes)
    rate = float(step[2:])
    planted = Planted(insert_rows_per_s=rate * CLIENTS, queries_per_s=5_000 * faster)
    return replace(planted, **changes)
