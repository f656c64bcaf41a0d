"""How large a MySQL's or MariaDB's own cache and its logs may become, by its options."""

from dataclasses import dataclass

from dbdyno.engine.interface import Setting
from dbdyno.engine.mysql.options import ON
from dbdyno.engine.mysql.settings import POOL, amount

POOL_DEFAULT = 128 << 20
"""InnoDB's own innodb_buffer_pool_size, in all versions."""
REDO_DEFAULT = 100 << 20
"""InnoDB's own redo log: 96 MB or 100 MB, by version."""


REDO = ("innodb_redo_log_capacity", "innodb_log_file_size")


@dataclass(frozen=True)
class MysqlFootprint:
    """The footprint of a server with these options (engine.interface)."""

    setting: Setting
    cache_setting: str = POOL
    huge_locked: bool = True

    @property
    def cache_bytes(self) -> int:
        """InnoDB's buffer pool."""
        pool = self.setting(POOL)
        return POOL_DEFAULT if pool is None else amount(pool)

    @property
    def huge_bytes(self) -> int:
        """The buffer pool, where large pages are switched on."""
        return self.cache_bytes if str(self.setting("large_pages")).lower() in ON else 0

    @property
    def log_setting(self) -> str:
        """The option that says how large the redo log is."""
        return next(filter(self.setting, REDO), REDO[-1])

    def log_bytes(self, tables_bytes: int, *, writes: bool) -> int:
        """Redo log and binary log.

        InnoDB's redo log is as large as it may be from the start. A binary log holds every row
        that was written, until it is purged: as much as the tables, as an estimate.
        """
        capacity, file = map(self.setting, REDO)
        redo = REDO_DEFAULT
        if capacity is not None:
            redo = amount(capacity)
        elif file is not None:
            redo = amount(file) * amount(self.setting("innodb_log_files_in_group") or "1")
        return redo + (tables_bytes if self.setting("log_bin") == "on" else 0)
