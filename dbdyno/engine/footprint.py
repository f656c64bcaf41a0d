"""How large a server's own cache and its logs may become, by its settings."""

from __future__ import annotations

from dbdyno.engine import Server
from dbdyno.engine.mysql.settings import amount
from dbdyno.engine.preset import arm_config
from dbdyno.model import FAMILIES

SHARED_BUFFERS_DEFAULT = 128 << 20
"""PostgreSQL's own shared_buffers."""
PAGE_BYTES = 8 << 10
"""What a size of PostgreSQL's without a unit counts in."""
BUFFER_POOL_DEFAULT = 128 << 20
"""InnoDB's own innodb_buffer_pool_size, in all versions."""
WAL_BYTES_DEFAULT = 1 << 30
"""PostgreSQL's own max_wal_size."""
REDO_BYTES_DEFAULT = 100 << 20
"""InnoDB's own redo log: 96 MB or 100 MB, by version."""


def cache_bytes(server: Server) -> int:
    """The server's own cache: shared_buffers, or InnoDB's buffer pool."""
    if FAMILIES[server.engine] == "mysql":
        pool = server.setting("innodb_buffer_pool_size")
        return BUFFER_POOL_DEFAULT if pool is None else amount(pool)
    text = server.setting("shared_buffers")
    if text is None:
        return SHARED_BUFFERS_DEFAULT
    return int(text) * PAGE_BYTES if text.strip().isdigit() else arm_config.bytes_of(text)


def cache_name(server: Server) -> str:
    """The setting that says how large the server's own cache is."""
    mysql = FAMILIES[server.engine] == "mysql"
    return "innodb_buffer_pool_size" if mysql else "shared_buffers"


def wal_bytes(server: Server, tables_bytes: int) -> int:
    """How large the server's logs may become with tables of so many bytes.

    InnoDB's redo log is as large as it may be from the start. A binary log holds every row that was
    written, until it is purged: as much as the tables, as an estimate.
    """
    if FAMILIES[server.engine] != "mysql":
        text = server.setting("max_wal_size")
        return WAL_BYTES_DEFAULT if text is None else arm_config.bytes_of(text)
    capacity = server.setting("innodb_redo_log_capacity")
    file = server.setting("innodb_log_file_size")
    redo = REDO_BYTES_DEFAULT
    if capacity is not None:
        redo = amount(capacity)
    elif file is not None:
        redo = amount(file) * amount(server.setting("innodb_log_files_in_group") or "1")
    return redo + (tables_bytes if server.setting("log_bin") == "on" else 0)
