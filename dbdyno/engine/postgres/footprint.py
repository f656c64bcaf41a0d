"""How large a PostgreSQL's own cache and its write-ahead log may become, by its settings."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.engine.interface import Setting
from dbdyno.model.size import buffer_bytes, bytes_of

CACHE = "shared_buffers"
CACHE_DEFAULT = "128MB"
"""PostgreSQL's own shared_buffers."""
WAL_DEFAULT = "1GB"
"""PostgreSQL's own max_wal_size."""


@dataclass(frozen=True)
class Footprint:
    """The footprint of a PostgreSQL with these settings (engine.interface)."""

    setting: Setting
    cache_setting: str = CACHE
    huge_locked: bool = False

    @property
    def cache_bytes(self) -> int:
        """Its shared_buffers."""
        return buffer_bytes(self.setting(CACHE) or CACHE_DEFAULT)

    @property
    def huge_bytes(self) -> int:
        """Its shared_buffers, unless it is told not to try."""
        return 0 if self.setting("huge_pages") == "off" else self.cache_bytes

    def log_bytes(self, tables_bytes: int) -> int:
        """The write-ahead log between two checkpoints, however large the tables are."""
        return bytes_of(self.setting("max_wal_size") or WAL_DEFAULT)
