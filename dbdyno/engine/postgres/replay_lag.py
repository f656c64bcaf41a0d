"""How far a PostgreSQL standby is behind, over a connection to it that stays open."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dbdyno.engine.postgres import connection
from dbdyno.model import Address
from dbdyno.model.error import ServerError
from dbdyno.model.standby_lag import StandbyLag

if TYPE_CHECKING:
    import psycopg

ASK_S_MAX = 5.0
APPLICATION = "dyno lag"
MODERN = 100000
"""From this version on functions say `wal` and `lsn`."""
STREAMED = "(SELECT latest_end_lsn FROM pg_stat_wal_receiver)"
"""Where the primary's log ended when it last sent; null: nothing is streamed, or not shown."""
LAG = """
    SELECT CASE WHEN replayed >= sent THEN 0
                ELSE extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float8 END,
           pg_{wal}_{lsn}_diff(sent, replayed)::bigint
    FROM (SELECT {sent} AS sent, pg_last_{wal}_replay_{lsn}() AS replayed) AS streamed
    WHERE sent IS NOT NULL AND replayed IS NOT NULL
"""
"""Seconds since the commit that was replayed last was made, and bytes still to be replayed, up to
`sent`; no row: it is not known."""


class ReplayLag:
    """A connection that tells it. Methods raise ServerError with what the server said."""

    def __init__(self, address: Address, sent: str) -> None:
        """Connects. `sent`: SQL of the place in the log that is to be reached, as STREAMED."""
        import psycopg

        limit = connection.limited(ASK_S_MAX)
        try:
            self._session: psycopg.Connection[Any] = connection.connect(address, APPLICATION, limit)
        except psycopg.Error as error:
            raise ServerError(_in_a_line(error)) from error
        modern = self._session.info.server_version >= MODERN
        words = {"wal": "wal", "lsn": "lsn"} if modern else {"wal": "xlog", "lsn": "location"}
        self._sql = LAG.format(sent=sent.format(**words), **words).encode()

    def read(self, name: str, *given: str | None) -> StandbyLag:
        """How far the standby of this name is behind; `given`: the parameters of `sent`."""
        import psycopg

        try:
            rows = self._session.execute(self._sql, given or None).fetchall()
        except psycopg.Error as error:
            raise ServerError(_in_a_line(error)) from error
        seconds, size = rows[0] if rows else (None, None)
        return StandbyLag(mono_ns=time.monotonic_ns(), standby=name, seconds=seconds, bytes=size)

    def close(self) -> None:
        """Ends the connection, which may be gone."""
        with suppress(Exception):
            self._session.close()


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split())
