"""The database's state before and after a step: its size, and the debt that it carries.

Each value is a row of STATES with its unit and how it is computed; the table in docs/metrics.md is
made from them. A value that a version, a build or an older result does not tell is None.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dbdyno.analysis.step.raw_files import number, per, scaled
from dbdyno.model import Json

PERCENT = 100.0


@dataclass(frozen=True, kw_only=True)
class State:
    """A named quantity of a database at rest."""

    name: str
    unit: str
    title: str
    how: str
    debt: bool  # work that is still to be done, which a later step may have to pay for


def _row(name: str, unit: str, texts: str, *, debt: bool = False) -> State:
    """A row from "title | how"; line breaks within the texts do not count."""
    title, how = " ".join(texts.split()).split(" | ")
    return State(name=name, unit=unit, title=title, how=how, debt=debt)


STATES: tuple[State, ...] = (
    _row(
        "database_bytes", "bytes",
        """database | pg_database_size of the workload's database; of MySQL and MariaDB the lengths
        of its tables' files""",
    ),
    _row(
        "data_dir_bytes", "bytes",
        """data directory | lengths of all files of the data directory, the WAL's included, also
        where that lies elsewhere""",
    ),
    _row(
        "wal_dir_bytes", "bytes",
        """WAL on disk | lengths of all files of the WAL's folder; of InnoDB the redo log's""",
    ),
    _row(
        "binlog_bytes", "bytes",
        """binary logs on disk | sizes of all binary logs (MySQL, MariaDB); 0 where they are off""",
    ),
    _row(
        "table_bytes", "bytes",
        """tables | the workload's tables without their indexes, with TOAST and maps;
        of InnoDB the clustered indexes, which hold the rows: its estimate in whole pages""",
    ),
    _row(
        "index_bytes", "bytes",
        """indexes | all indexes of the workload's tables; of InnoDB the secondary ones, its
        estimate""",
    ),
    _row(
        "live_rows", "rows",
        """live rows | n_live_tup of the workload's tables: the statistics' estimate; of InnoDB
        TABLE_ROWS, its estimate from a sample of pages""",
    ),
    _row(
        "dead_rows", "rows",
        """dead rows | n_dead_tup of the workload's tables: rows that no vacuum has removed yet, as
        the statistics estimate them""", debt=True,
    ),
    _row(
        "dead_share", "%",
        """dead rows by all rows | dead rows as a share of live and dead ones""", debt=True,
    ),
    _row(
        "free_share", "%",
        """free space in tables | free space in the tables' own pages as a share of them
        (pgstattuple_approx); NA without the extension, and where more than a little would have to
        be read: of tables that have no vacuum behind them""",
    ),
    _row(
        "dirty_bytes", "bytes",
        """unwritten buffers | pages in shared_buffers that are changed and not written yet
        (pg_buffercache); before 16 NA where shared_buffers are over 8 GiB. Of InnoDB the buffer
        pool's""", debt=True,
    ),
    _row(
        "dirty_share", "%",
        """unwritten buffers by all | pages that are changed and not written yet as a share of
        shared_buffers, or of the buffer pool""", debt=True,
    ),
    _row(
        "wal_since_checkpoint_bytes", "bytes",
        """WAL since the last checkpoint | from where recovery would begin (the redo position of the
        last complete checkpoint) to where the next record goes; of InnoDB the checkpoint's age""",
        debt=True,
    ),
    _row(
        "history", "transactions",
        """transactions to purge | the length of InnoDB's history list: undo logs of committed
        transactions that purge has not come to; NA of PostgreSQL""", debt=True,
    ),
    _row(
        "vacuum_due_tables", "tables",
        """tables due for vacuum | tables whose dead rows, or from 13 on rows inserted since the
        last vacuum, are beyond autovacuum's threshold for them, also where it is switched off""",
        debt=True,
    ),
    _row(
        "vacuum_backlog_rows", "rows",
        """rows beyond the threshold | dead and inserted rows of these tables, less what the
        thresholds allow""", debt=True,
    ),
    _row(
        "all_visible_share", "%",
        """pages that all can see | pages of the tables that the visibility map has as all-visible
        at this moment (pg_visibility), as a share: what index-only scans need not fetch""",
    ),
)  # fmt: skip

_BY_NAME = {row.name: row for row in STATES}


def by_name(name: str) -> State:
    """The row of this name. Raises KeyError where there is none."""
    return _BY_NAME[name]


def document() -> str:
    """The section of docs/metrics.md."""
    lines = [
        "## State",
        "",
        "What the database is before and after a step, while nothing runs. Debt is work that is",
        "still to be done. Made from `dbdyno/analysis/step/state.py`.",
        "",
        "| name | unit | debt | what | how |",
        "|" + "---|" * 5,
        *(
            f"| `{row.name}` | {row.unit} | {'yes' if row.debt else ''} | {row.title} | {row.how} |"
            for row in STATES
        ),
    ]
    return "\n".join(lines) + "\n"


# --- From a snapshot -------------------------------------------------------------------------


def state(snapshot: Json | None) -> dict[str, float | None]:
    """All values by name of a before.json or after.json; empty where there is none."""
    if snapshot is None:
        return {}
    tables = _objects(snapshot, "tables")
    live = _sum(_live(table) for table in tables.values())
    dead = _sum(number(table, "n_dead_tup") for table in tables.values())
    index_bytes = _sum(number(table, "index_bytes") for table in tables.values())
    total_bytes = _sum(number(table, "total_bytes") for table in tables.values())
    return {
        "database_bytes": number(snapshot, "sizes", "database_bytes"),
        "data_dir_bytes": number(snapshot, "sizes", "data_dir_bytes"),
        "wal_dir_bytes": number(snapshot, "sizes", "wal_dir_bytes"),
        "binlog_bytes": _binlog_bytes(snapshot),
        "table_bytes": _less(total_bytes, index_bytes),
        "index_bytes": index_bytes,
        "live_rows": live,
        "dead_rows": dead,
        "dead_share": _percent(dead, _sum([live, dead])),
        "free_share": _share(_objects(snapshot, "bloat"), "free_bytes", "bytes"),
        "dirty_bytes": number(snapshot, "buffers", "dirty_bytes"),
        "dirty_share": _percent(number(snapshot, "buffers", "dirty"), _buffers(snapshot)),
        "wal_since_checkpoint_bytes": number(snapshot, "wal", "since_checkpoint_bytes"),
        "history": number(snapshot, "purge", "history"),
        **_vacuum(tables, _objects(snapshot, "vacuum")),
        "all_visible_share": _share(_objects(snapshot, "visibility"), "all_visible_pages", "pages"),
    }


def _live(table: Json) -> float | None:
    """Live rows by PostgreSQL's statistics, or by InnoDB's."""
    rows = number(table, "n_live_tup")
    return number(table, "live_rows") if rows is None else rows


def _buffers(snapshot: Json) -> float | None:
    """All pages of the buffers; PostgreSQL tells those in use and the others."""
    total = number(snapshot, "buffers", "total")
    parts = (number(snapshot, "buffers", key) for key in ("used", "unused"))
    return _sum(parts) if total is None else total


def _binlog_bytes(snapshot: Json) -> float | None:
    """Sizes of all binary logs; None of a server that has no such thing."""
    files = _objects(snapshot, "binlog").get("files")
    return float(sum(files.values())) if isinstance(files, dict) else None


def _vacuum(tables: dict[str, Json], thresholds: dict[str, Json]) -> dict[str, float | None]:
    """How many tables autovacuum should come to, and by how many rows they are beyond."""
    beyond = [_beyond(tables.get(name, {}), its) for name, its in thresholds.items()]
    due = [None if rows is None else float(rows > 0) for rows in beyond]
    return {"vacuum_due_tables": _sum(due), "vacuum_backlog_rows": _sum(beyond)}


def _beyond(table: Json, thresholds: Json) -> float | None:
    """Rows over the thresholds; one that a version does not have, or that is off, allows all."""
    found = 0.0
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
        found += max(rows - rows_max, 0.0)
    return found


def _objects(snapshot: Json, part: str) -> dict[str, Json]:
    """A part's objects by name; empty where the part is missing or was unavailable."""
    found = snapshot.get(part)
    return found if isinstance(found, dict) else {}


def _share(objects: dict[str, Json], amount: str, whole: str) -> float | None:
    """One key's sum by another's, of all tables, in percent."""
    return _percent(
        _sum(number(its, amount) for its in objects.values()),
        _sum(number(its, whole) for its in objects.values()),
    )


def _less(whole: float | None, part: float | None) -> float | None:
    return None if whole is None or part is None else whole - part


def _percent(amount: float | None, whole: float | None) -> float | None:
    return scaled(per(amount, whole), PERCENT)


def _sum(amounts: Iterable[float | None]) -> float | None:
    """The sum of all; None where there is none or one is missing: a part is not the whole."""
    found = list(amounts)
    known = [amount for amount in found if amount is not None]
    return sum(known) if known and len(known) == len(found) else None
