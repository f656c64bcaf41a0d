"""Takes before.json and after.json of a MySQL or MariaDB server (docs/results.md).

The parts have the names that they have of PostgreSQL, where there is a counterpart. Asked while no
window is open; nothing here reads a table's rows. A part that cannot be had is null, and named with
its reason.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dbdyno.engine.snapshot import SnapshotSubject
from dbdyno.model import Json
from dbdyno.model.snapshot import Snapshot

if TYPE_CHECKING:
    from dbdyno.engine.mysql.probe.reader import MysqlProbe

SETTLE_S = 0.0
"""Counters are sums over all threads at the moment of asking: nothing comes late."""

LACKING = {
    "checkpoints": "InnoDB moves its checkpoint on all the time and counts no single ones",
    "background_writer": "InnoDB's page cleaners are counted in `status`",
    "database": "InnoDB counts for the server as a whole, in `status`",
    "io": "what is read and written is in `status`",
    "autovacuum_runs": "InnoDB purges all the time; what is left to purge is in `purge`",
    "vacuum": "InnoDB has no vacuum",
    "visibility": "InnoDB has no visibility map",
    "bloat": "InnoDB has no count of dead rows",
    "leaves": "InnoDB tells no density of index pages",
}
"""Parts that PostgreSQL has, and why there is no counterpart."""


def before(subject: SnapshotSubject) -> Snapshot:
    """The state and the counters of the server, as a step is about to begin.

    The counters are asked for last, so that no step's difference has the traces of the rest.
    Statements have literals. Raises ServerError only where it cannot connect.
    """
    # PyMySQL takes a twentieth of a second to import; commands that reach no server do without.
    from dbdyno.engine.mysql.probe.reader import connected

    begun_ns = time.monotonic_ns()
    with connected(subject.address) as reader:
        state = _state(reader, subject)
        counters = _counters(reader)
        return _together(reader, counters, state, begun_ns)


def after(subject: SnapshotSubject) -> Snapshot:
    """The same when a step has ended: the counters first."""
    from dbdyno.engine.mysql.probe.reader import connected

    begun_ns = time.monotonic_ns()
    with connected(subject.address) as reader:
        counters = _counters(reader)
        state = _state(reader, subject)
        return _together(reader, counters, state, begun_ns)


def _together(reader: MysqlProbe, counters: Json, state: Json, begun_ns: int) -> Snapshot:
    """One snapshot of both parts, with what the server does not have and the time it took."""
    return Snapshot(
        **counters,
        **state,
        running=[],
        unavailable=LACKING | reader.unavailable,
        took_us=(time.monotonic_ns() - begun_ns) // 1000,
    )


def _counters(reader: MysqlProbe) -> Json:
    """The server's counters, and the moment of reading."""
    from dbdyno.engine.mysql.probe import counters

    found = counters.read(reader)
    return {
        "mono_ns": time.monotonic_ns(),
        "unix_ns": time.time_ns(),
        "engine": reader.engine,
        "version_num": reader.version_num,
        **found,
    }


def _state(reader: MysqlProbe, subject: SnapshotSubject) -> Json:
    """Sizes, what is left to do, and the plans."""
    from dbdyno.engine.mysql.probe import objects, query_plans

    names = reader.part("relations", lambda: objects.names(reader, subject.tables)) or []
    return {
        "tables": reader.part("tables", lambda: objects.tables(reader, names)),
        "indexes": reader.part("indexes", lambda: objects.indexes(reader, names)),
        "sizes": objects.sizes(reader, subject.data_dir, subject.wal_dir),
        "horizon": reader.part("horizon", lambda: objects.horizon(reader)),
        "explain": query_plans.plans(reader, subject.explain),
    }
