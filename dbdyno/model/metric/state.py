"""The table of states: the state of a database before and after a step, while nothing runs.

Each value is a row of STATES with its unit and its computation, from which the table in
docs/metrics.md is made. `dbdyno.findings.state.step` computes them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from dbdyno.model.facts import Facts, says


@dataclass(frozen=True, kw_only=True)
class StateMetric:
    """A named quantity of a database at rest."""

    name: str
    unit: str
    title: str
    how: str
    debt: bool  # work that is still to be done, which a later step may have to pay for


def _row(name: str, unit: str, texts: str, *, debt: bool = False) -> StateMetric:
    """A row from "title | how"; line breaks within the texts do not count."""
    title, how = " ".join(texts.split()).split(" | ")
    return StateMetric(name=name, unit=unit, title=title, how=how, debt=debt)


STATES: tuple[StateMetric, ...] = (
    _row(
        "database_bytes", "bytes",
        """database | pg_database_size of the workload's database; on MySQL and MariaDB the lengths
        of its tables' files""",
    ),
    _row(
        "data_dir_bytes", "bytes",
        """data directory | lengths of all files of the data directory, including the WAL's even if
        it lies elsewhere""",
    ),
    _row(
        "wal_dir_bytes", "bytes",
        """WAL on disk | lengths of all files of the WAL's folder; on InnoDB the redo log's""",
    ),
    _row(
        "binlog_bytes", "bytes",
        """binary logs on disk | sizes of all binary logs (MySQL, MariaDB); 0 if they are off""",
    ),
    _row(
        "table_bytes", "bytes",
        """tables | workload's tables without their indexes, with TOAST and maps; on InnoDB the
        clustered indexes, which hold the rows: InnoDB's estimate in whole pages""",
    ),
    _row(
        "index_bytes", "bytes",
        """indexes | all indexes of the workload's tables; on InnoDB the secondary ones, by its
        estimate""",
    ),
    _row(
        "live_rows", "rows",
        """live rows | n_live_tup of the workload's tables, the statistics' estimate; on InnoDB
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
        (pgstattuple_approx); NA without the extension, and if the estimate would have to read more
        than a little: for tables that were never vacuumed""",
    ),
    _row(
        "dirty_bytes", "bytes",
        """unwritten buffers | pages in shared_buffers that are changed and not yet written
        (pg_buffercache); before 16 NA if shared_buffers exceed 8 GiB. On InnoDB the buffer
        pool's""", debt=True,
    ),
    _row(
        "dirty_share", "%",
        """unwritten buffers by all | pages changed and not yet written as a share of
        shared_buffers, or of the buffer pool""", debt=True,
    ),
    _row(
        "wal_since_checkpoint_bytes", "bytes",
        """WAL since the last checkpoint | from where recovery would begin (the redo position of the
        last complete checkpoint) to where the next record goes; on InnoDB the checkpoint's age""",
        debt=True,
    ),
    _row(
        "history", "transactions",
        """transactions to purge | length of InnoDB's history list: undo logs of committed
        transactions that purge has not reached; NA on PostgreSQL""", debt=True,
    ),
    _row(
        "vacuum_due_tables", "tables",
        """tables due for vacuum | tables whose dead rows, or from 13 on rows inserted since the
        last vacuum, exceed autovacuum's threshold for them, even if autovacuum is off""",
        debt=True,
    ),
    _row(
        "vacuum_backlog_rows", "rows",
        """rows beyond the threshold | dead and inserted rows of these tables beyond the
        thresholds""", debt=True,
    ),
    _row(
        "all_visible_share", "%",
        """pages that all can see | pages of the tables that the visibility map marks all-visible at
        this moment (pg_visibility), as a share: index-only scans need not fetch them""",
    ),
)  # fmt: skip

_BY_NAME = {row.name: row for row in STATES}


def by_name(name: str) -> StateMetric:
    """The row of this name. Raises KeyError where there is none."""
    return _BY_NAME[name]


@dataclass(frozen=True, kw_only=True)
class StateValue:
    """A quantity of the database before or after a step, of those that it tells."""

    moment: Annotated[Literal["before", "after"], says("before or after")]
    name: Annotated[str, says("the quantity")]
    unit: Annotated[str, says("its unit")]
    value: Annotated[float, says("its value", "by name")]


@dataclass(frozen=True, kw_only=True)
class StateFacts(Facts):
    """The database's state before and after a step; judges read it, too."""

    states: Annotated[
        tuple[StateValue, ...],
        says("a quantity of the database's state before or after a step (docs/metrics.md)"),
    ] = ()
    # Of a server elsewhere: parts of its state and counters that it did not tell, with the reason.
    unread: Mapping[str, str] = field(default_factory=dict)

    def at(self, moment: str) -> Mapping[str, float]:
        """The values by name before, or after, the step."""
        return {state.name: state.value for state in self.states if state.moment == moment}


def document() -> str:
    """The section of docs/metrics.md."""
    lines = [
        "## State",
        "",
        "The state of the database before and after a step, while nothing runs. Debt is work still",
        "to be done. Generated from `dbdyno/model/metric/state.py`.",
        "",
        "| name | unit | debt | what | how |",
        "|" + "---|" * 5,
        *(
            f"| `{row.name}` | {row.unit} | {'yes' if row.debt else ''} | {row.title} | {row.how} |"
            for row in STATES
        ),
    ]
    return "\n".join(lines) + "\n"
