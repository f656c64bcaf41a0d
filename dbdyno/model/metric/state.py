"""The table of states: what a database is before and after a step, while nothing runs.

Each value is a row of STATES with its unit and how it is computed; the table in docs/metrics.md is
made from them. `dbdyno.analysis.step.state` computes them.
"""

from __future__ import annotations

from dataclasses import dataclass


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
        "still to be done. Made from `dbdyno/model/metric/state.py`.",
        "",
        "| name | unit | debt | what | how |",
        "|" + "---|" * 5,
        *(
            f"| `{row.name}` | {row.unit} | {'yes' if row.debt else ''} | {row.title} | {row.how} |"
            for row in STATES
        ),
    ]
    return "\n".join(lines) + "\n"
