"""before.json and after.json: a database's counters and state around a step (docs/results.md).

Figures stand under the names that a server's version gives them. A part that the version or the
build does not have is missing, and named in `unavailable`.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

Figure = int | float | str | bool | None
Figures = Mapping[str, Figure]
"""What a server tells of a part, by the server's names."""
FiguresOf = Mapping[str, Figures]
"""The same of each table or index, by its name."""


class Binlog(Struct, frozen=True, kw_only=True):
    """The binary log of MySQL or MariaDB."""

    enabled: bool
    file: str | None  # that is written to
    position_bytes: int | None  # in that file, where the next event goes
    files: Mapping[str, int]  # all there are, with their sizes


class Autovacuum(Struct, frozen=True, kw_only=True):
    """A run of autovacuum at this moment."""

    name: str = field(name="kind")  # "automatic vacuum" or "automatic analyze"
    table: str
    since_unix_ms: float


class StatementPlan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The plans of a statement, as text."""

    custom: str | None = None  # for sample values
    generic: str | None = None  # for any values
    tree: str | None = None  # MySQL's own


class Snapshot(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A database at one moment."""

    mono_ns: int = 0
    unix_ns: int = 0
    engine: str | None = None
    version_num: int = 0
    wal: Figures | None = None
    checkpoints: Figures | None = None
    background_writer: Figures | None = None
    database: Figures | None = None
    io: Sequence[Figures] | None = None
    autovacuum_runs: int | None = None
    status: Figures | None = None  # of MySQL and MariaDB
    innodb_metrics: Figures | None = None
    purge: Figures | None = None
    binlog: Binlog | None = None
    tables: FiguresOf | None = None
    indexes: FiguresOf | None = None
    sizes: Figures | None = None
    buffers: Figures | None = None
    vacuum: FiguresOf | None = None
    running: Sequence[Autovacuum] | None = None
    horizon: Mapping[str, Figure | Sequence[Figures]] | None = None
    visibility: FiguresOf | None = None
    bloat: FiguresOf | None = None
    leaves: FiguresOf | None = None
    explain: Mapping[str, StatementPlan] | None = None
    unavailable: Mapping[str, str] = {}  # the reasons, by part
    took_us: int = 0


def number(figures: Figures | None, name: str) -> float | None:
    """A figure that is a number; None where it is missing or something else."""
    figure = None if figures is None else figures.get(name)
    return float(figure) if isinstance(figure, (int, float)) else None
