"""What a server says of itself during a window and at a run's end (docs/results.md).

status.jsonl has a line for each answer; indexes.json the indexes at the end of a run.
"""

from collections.abc import Mapping

from msgspec import Struct


class WalFiles(Struct, kw_only=True, frozen=True):
    """PostgreSQL's files of write-ahead log."""

    files: int
    bytes: int


class IndexState(Struct, kw_only=True, frozen=True):
    """A B-tree as pgstatindex has it."""

    tree_level: int
    index_size: int  # in bytes
    internal_pages: int
    leaf_pages: int
    empty_pages: int
    deleted_pages: int
    avg_leaf_density: float | None  # in percent; None: it has no leaf page
    leaf_fragmentation: float | None


class StatusLook(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """The answer to one question, or why there is none; that question is not asked again."""

    mono_ns: int
    part: str  # "wal", "activity", "processlist", "innodb", "rocksdb"
    took_us: int
    wal: WalFiles | None = None  # of part "wal"
    text: str | None = None  # of any other: the columns, then a line for each row
    failed: str | None = None


class IndexStatistics(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """pgstatindex of each B-tree, by its name."""

    indexes: Mapping[str, IndexState] = {}
    took_s: float = 0.0
    unavailable: str | None = None  # why there are none
