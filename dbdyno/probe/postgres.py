"""Takes before.json and after.json of a PostgreSQL server, 9.6 to 18 (docs/results.md).

Asked while no window is open. A part that cannot be had is null, and named with its reason.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.model import Address, Json


def snapshot(
    address: Address,
    tables: Sequence[str],
    explain: Mapping[str, str],
    data_dir: Path | None = None,
    wal_dir: Path | None = None,
) -> Json:
    """The counters and the state of the database at `address`.

    `explain`: SQL with `$1` … by statement name. `wal_dir`: where the write-ahead log is, if not
    in `data_dir`. Raises ServerError only where it cannot connect.
    """
    # psycopg takes a third of a second to import; commands that reach no server do without.
    from dbdyno.probe import explain as planner
    from dbdyno.probe import sizes, statistics
    from dbdyno.probe.reader import connected

    begun_ns = time.monotonic_ns()
    with connected(address) as reader:
        # First what leaves traces in the statistics and in the log, then the counters.
        plans = planner.plans(reader, explain)
        buffers = reader.part("buffers", statistics.buffers) or {"dirty": None}
        reader.part("flush", statistics.flush)
        found = {
            "mono_ns": time.monotonic_ns(),
            "unix_ns": time.time_ns(),
            "version_num": reader.version_num,
            **statistics.counters(reader),
            "tables": reader.part("tables", lambda _: statistics.tables(reader, tables)),
            "indexes": reader.part("indexes", lambda _: statistics.indexes(reader, tables)),
            "sizes": sizes.sizes(reader, data_dir, wal_dir),
            "buffers": buffers,
            "explain": plans,
            "unavailable": reader.unavailable,
        }
    return found | {"took_us": (time.monotonic_ns() - begun_ns) // 1000}
