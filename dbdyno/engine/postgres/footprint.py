"""How large a PostgreSQL's own cache and its write-ahead log may become, by its settings."""

from dataclasses import dataclass

from dbdyno.engine.interface import Setting
from dbdyno.model.size import buffer_bytes, bytes_of

CACHE = "shared_buffers"
CACHE_DEFAULT = "128MB"
"""PostgreSQL's own shared_buffers."""
WAL_DEFAULT = "1GB"
"""PostgreSQL's own max_wal_size."""
WAL_BY_TABLES = 4
"""A load writes its rows, its indexes, and pages of both whole."""
WAL_LEAST = 256 << 20
"""What a new cluster writes, and the segments that lie ready."""


@dataclass(frozen=True)
class PostgresFootprint:
    """The footprint of a PostgreSQL with these settings (engine.interface)."""

    setting: Setting
    cache_setting: str = CACHE
    huge_locked: bool = False
    log_setting: str = "max_wal_size"

    @property
    def cache_bytes(self) -> int:
        """Its shared_buffers."""
        return buffer_bytes(self.setting(CACHE) or CACHE_DEFAULT)

    @property
    def huge_bytes(self) -> int:
        """Its shared_buffers, unless it is told not to try."""
        return 0 if self.setting("huge_pages") == "off" else self.cache_bytes

    def log_bytes(self, tables_bytes: int, *, writes: bool) -> int:
        """The write-ahead log between two checkpoints, and no more than the load writes if no
        step `writes`.
        """
        most = bytes_of(self.setting(self.log_setting) or WAL_DEFAULT)
        return most if writes else min(most, WAL_LEAST + WAL_BY_TABLES * tables_bytes)
