"""Takes before.json and after.json of a PostgreSQL server, 9.6 to 19 (docs/results.md).

Asked while no window is open. A part that cannot be had is null, and named with its reason.
"""

import time
from collections.abc import Mapping
from functools import partial

from msgspec.structs import replace

from dbdyno.engine.snapshot import SnapshotSubject
from dbdyno.model.snapshot import FiguresOf, Snapshot, StatementPlan

Pages = Mapping[str, FiguresOf | None]
"""The parts `visibility`, `bloat` and `leaves`."""
SETTLE_S = 1.5
"""Backends flush their statistics late; after this long they are complete."""
SHARED_SINCE = 15
"""From this major version on statistics lie in shared memory: a session writes its own as it ends,
and processes of the background every 200 ms."""
SHARED_SETTLE_S = 0.3


def before(subject: SnapshotSubject) -> Snapshot:
    """The state and the counters of the database, as a step is about to begin.

    Statements have `$1` … in place of values. Raises ServerError only where it cannot connect.
    """
    # psycopg takes a third of a second to import; commands that reach no server do without.
    from dbdyno.engine.postgres.probe import pages

    begun_ns = time.monotonic_ns()
    seen, unavailable = pages.look(subject.address, subject.tables)
    return together(counted(subject), seen, unavailable, begun_ns)


def after(subject: SnapshotSubject) -> Snapshot:
    """The same when a step has ended: the counters first, as a look into pages changes them."""
    from dbdyno.engine.postgres.probe import pages

    begun_ns = time.monotonic_ns()
    counts = counted(subject)
    seen, unavailable = pages.look(subject.address, subject.tables)
    return together(counts, seen, unavailable, begun_ns)


def together(
    counted: Snapshot, seen: Pages, unavailable: Mapping[str, str], begun_ns: int
) -> Snapshot:
    """One snapshot of both parts, with the time that they took."""
    took_us = (time.monotonic_ns() - begun_ns) // 1000
    unavailable = {**unavailable, **counted.unavailable}
    return replace(counted, **seen, unavailable=unavailable, took_us=took_us)


def planned(subject: SnapshotSubject) -> tuple[dict[str, StatementPlan], dict[str, str]]:
    """The plans of a step's statements in a session such as its own; what is missing, and why."""
    from dbdyno.engine.postgres.probe import query_plans
    from dbdyno.engine.postgres.probe.reader import PostgresProbe, connected

    with connected(subject.address) as reader:
        for text in subject.session if subject.explain else ():
            reader.part("explain.session", partial(PostgresProbe.rows, sql=text))
        return query_plans.plans(reader, subject.explain), reader.unavailable


def counted(subject: SnapshotSubject) -> Snapshot:
    """The parts that need no look into the tables' pages."""
    from dbdyno.engine.postgres.probe import debt, sizes, statistics
    from dbdyno.engine.postgres.probe.reader import connected, relations

    with connected(subject.address) as reader:
        # First what leaves traces in the statistics and in the log, then the counters.
        plans, without = planned(subject)
        reader.unavailable |= without
        buffers = reader.part("buffers", statistics.buffers) or {"dirty": None, "dirty_bytes": None}
        reader.part("flush", statistics.flush)
        names = reader.part("relations", lambda _: relations(reader, subject.tables)) or []
        return Snapshot(
            mono_ns=time.monotonic_ns(),
            unix_ns=time.time_ns(),
            version_num=reader.version_num,
            **statistics.counters(reader),
            tables=reader.part("tables", lambda _: statistics.tables(reader, names)),
            indexes=reader.part("indexes", lambda _: statistics.indexes(reader, names)),
            sizes=sizes.sizes(reader, subject.data_dir, subject.wal_dir),
            buffers=buffers,
            vacuum=reader.part("vacuum", lambda _: debt.vacuum(reader, names)),
            running=reader.part("running", debt.running),
            horizon=reader.part("horizon", debt.horizon),
            explain=plans,
            unavailable=reader.unavailable,
        )
