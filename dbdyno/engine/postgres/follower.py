"""A standby elsewhere that follows the server of a `dsn`: whether it does, how far it is behind.

An ordinary user may ask all of this. Where the primary's log ended when it last sent, only a member
of pg_read_all_stats sees; for others the end of what the standby has received stands for it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dbdyno.engine.interface import Execute
from dbdyno.engine.postgres import connection
from dbdyno.model import Address, Json
from dbdyno.model.error import ServerError

if TYPE_CHECKING:
    import psycopg

ASK_S_MAX = 5.0
APPLICATION = "dyno lag"
MODERN = 100000
"""From this version on functions say `wal` and `lsn`."""
STANDBY = "SELECT pg_is_in_recovery()"
CLUSTER = "SELECT system_identifier FROM pg_control_system()"
END = "SELECT {end}()::text"
LAG = """
    SELECT CASE WHEN replayed >= sent THEN 0
                ELSE extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float8 END,
           pg_{wal}_{lsn}_diff(sent, replayed)::bigint
    FROM (SELECT coalesce(%s::pg_lsn, (SELECT latest_end_lsn FROM pg_stat_wal_receiver),
                          pg_last_{wal}_receive_{lsn}()) AS sent,
                 pg_last_{wal}_replay_{lsn}() AS replayed) AS streamed
    WHERE sent IS NOT NULL AND replayed IS NOT NULL
"""
"""As of a standby of the lab's (standby.LAG), up to a given end of the primary's log."""


def unfit(primary: Execute, endpoint: Execute) -> str | None:
    """Why the server at an endpoint does not follow the `dsn`'s; None where it does.

    Raises ServerError where one does not answer.
    """
    ((standby,),) = endpoint(STANDBY)
    if not standby:
        return "the server is no standby: name one that follows the server of the `dsn`"
    try:
        same = primary(CLUSTER) == endpoint(CLUSTER)
    except ServerError:
        return None  # a service may keep it to itself; what it does not tell is no mistake
    if not same:
        return (
            "the server is a standby of another cluster: name one that follows the server of the "
            "`dsn`"
        )
    return None


def log_end(execute: Execute, version_num: int) -> str:
    """Where a primary's write-ahead log ends now. Raises ServerError."""
    modern = version_num >= MODERN
    ask = "pg_current_wal_lsn" if modern else "pg_current_xlog_location"
    ((end,),) = execute(END.format(end=ask))
    return str(end)


class Follower:
    """A connection to a standby that tells how far behind it is. Methods raise ServerError."""

    def __init__(self, address: Address, name: str) -> None:
        """Connects; `name`: the endpoint's."""
        import psycopg

        self._name = name
        limit = f"-c statement_timeout={1000 * ASK_S_MAX:g}"
        try:
            self._asked: psycopg.Connection[Any] = connection.connect(address, APPLICATION, limit)
        except psycopg.Error as error:
            raise ServerError(f"`connect`: {' '.join(str(error).split())}") from error
        modern = self._asked.info.server_version >= MODERN
        self._sql = LAG.format(wal="wal" if modern else "xlog", lsn="lsn" if modern else "location")

    def lag(self, end: str | None) -> Json:
        """How far it is behind `end`, or behind what it was sent (engine.interface.Server.lag)."""
        import psycopg

        try:
            rows = self._asked.execute(self._sql.encode(), [end]).fetchall()
        except psycopg.Error as error:
            raise ServerError(f"lag: {' '.join(str(error).split())}") from error
        seconds, behind = rows[0] if rows else (None, None)
        return {"standby": self._name, "seconds": seconds, "bytes": behind}

    def close(self) -> None:
        """Ends the connection, which may be gone."""
        with suppress(Exception):
            self._asked.close()
