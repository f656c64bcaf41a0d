"""The database's state before and after a step: its size, and the debt that it carries.

The names are the rows of `dbdyno.model.metric.state`. A value that a version, a build or an older
result does not tell is None.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.raw_files import per, scaled
from dbdyno.findings.finding import StepFinding
from dbdyno.model.metric.state import StateFacts, StateValue, by_name
from dbdyno.model.snapshot import Figures, FiguresOf, Snapshot, number

PERCENT = 100.0


def of_step(evidence: Evidence) -> StateFacts:
    """The state before and after; what a server elsewhere did not tell, with the reason of each."""
    last = evidence.after or evidence.before
    return StateFacts(
        states=(*_values("before", evidence.before), *_values("after", evidence.after)),
        unread=dict(last.unavailable) if evidence.remote and last is not None else {},
    )


FINDING = StepFinding(facts=StateFacts, of_step=of_step, of_failed=True)


def _values(moment: Literal["before", "after"], snapshot: Snapshot | None) -> Iterator[StateValue]:
    for name, value in state(snapshot).items():
        if value is not None:
            yield StateValue(moment=moment, name=name, unit=by_name(name).unit, value=value)


def state(snapshot: Snapshot | None) -> dict[str, float | None]:
    """All values by name of a before.json or after.json; empty where there is none."""
    if snapshot is None:
        return {}
    tables, binlog = snapshot.tables or {}, snapshot.binlog
    live = _sum(_live(table) for table in tables.values())
    dead = _sum(number(table, "n_dead_tup") for table in tables.values())
    index_bytes = _sum(number(table, "index_bytes") for table in tables.values())
    total_bytes = _sum(number(table, "total_bytes") for table in tables.values())
    return {
        "database_bytes": number(snapshot.sizes, "database_bytes"),
        "data_dir_bytes": number(snapshot.sizes, "data_dir_bytes"),
        "wal_dir_bytes": number(snapshot.sizes, "wal_dir_bytes"),
        "binlog_bytes": float(sum(binlog.files.values())) if binlog else None,
        "table_bytes": None
        if total_bytes is None or index_bytes is None
        else total_bytes - index_bytes,
        "index_bytes": index_bytes,
        "live_rows": live,
        "dead_rows": dead,
        "dead_share": _percent(dead, _sum([live, dead])),
        "free_share": _share(snapshot.bloat or {}, "free_bytes", "bytes"),
        "dirty_bytes": number(snapshot.buffers, "dirty_bytes"),
        "dirty_share": _percent(number(snapshot.buffers, "dirty"), _pages(snapshot.buffers)),
        "wal_since_checkpoint_bytes": number(snapshot.wal, "since_checkpoint_bytes"),
        "history": number(snapshot.purge, "history"),
        **_vacuum(tables, snapshot.vacuum or {}),
        "all_visible_share": _share(snapshot.visibility or {}, "all_visible_pages", "pages"),
    }


def _live(table: Figures) -> float | None:
    """Live rows by PostgreSQL's statistics, or by InnoDB's."""
    rows = number(table, "n_live_tup")
    return number(table, "live_rows") if rows is None else rows


def _pages(buffers: Figures | None) -> float | None:
    """All pages of the buffers; PostgreSQL tells those in use and the others."""
    total = number(buffers, "total")
    parts = (number(buffers, key) for key in ("used", "unused"))
    return _sum(parts) if total is None else total


def _vacuum(tables: FiguresOf, thresholds: FiguresOf) -> dict[str, float | None]:
    """How many tables autovacuum should come to, and by how many rows they are beyond."""
    beyond = [_beyond(tables.get(name, {}), limits) for name, limits in thresholds.items()]
    due = [None if rows is None else float(rows > 0) for rows in beyond]
    return {"vacuum_due_tables": _sum(due), "vacuum_backlog_rows": _sum(beyond)}


def _beyond(table: Figures, thresholds: Figures) -> float | None:
    """Rows over the thresholds; one that a version does not have, or that is off, allows all."""
    excess = 0.0
    for count, limit in (
        ("n_dead_tup", "dead_rows_max"),
        ("n_ins_since_vacuum", "inserted_rows_max"),
    ):
        rows_max = number(thresholds, limit)
        if rows_max is None:
            continue
        rows = number(table, count)
        if rows is None:
            return None
        excess += max(rows - rows_max, 0.0)
    return excess


def _share(objects: FiguresOf, amount: str, whole: str) -> float | None:
    """One key's sum by another's, of all tables, in percent."""
    return _percent(
        _sum(number(figures, amount) for figures in objects.values()),
        _sum(number(figures, whole) for figures in objects.values()),
    )


def _percent(amount: float | None, whole: float | None) -> float | None:
    return scaled(per(amount, whole), PERCENT)


def _sum(amounts: Iterable[float | None]) -> float | None:
    """The sum of all; None where there is none or one is missing: a part is not the whole."""
    parts = list(amounts)
    known = [amount for amount in parts if amount is not None]
    return sum(known) if known and len(known) == len(parts) else None
