"""What makes a running server ready for a step, by SQL: warm caches, a checkpoint."""

from __future__ import annotations

from dbdyno.engine import Server
from dbdyno.engine.mysql import buffer_pool
from dbdyno.engine.mysql import checkpoint as mysql_checkpoint
from dbdyno.engine.postgres import cache_warming
from dbdyno.model import Json

CHECKPOINT_S_MAX = 3600.0


def warm_up(server: Server, how: str) -> Json:
    """Reads all tables and indexes; returns `warm` of done.json. Raises ServerError."""
    if server.engine == "postgres":
        return cache_warming.warm(how, server.execute)
    return buffer_pool.warm(server.execute)


def checkpoint(server: Server) -> None:
    """Writes what is dirty in the server's cache to its files. Raises ServerError."""
    if server.engine == "postgres":
        server.execute("CHECKPOINT", limit_s=CHECKPOINT_S_MAX)
    else:
        mysql_checkpoint.write_all(server.execute, CHECKPOINT_S_MAX)
