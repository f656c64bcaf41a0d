"""The connection over which a PostgreSQL's sessions are sampled (engine.wait_sampler)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dbdyno.engine.activity import Session
from dbdyno.engine.postgres.activity import BLOCKS, session, sql
from dbdyno.engine.postgres.connection import connect, limited
from dbdyno.engine.wait_sampler import APPLICATION, STATEMENT_S_MAX, said
from dbdyno.model import Address
from dbdyno.model.error import ServerError

if TYPE_CHECKING:
    import psycopg


class PostgresWaitConnection:
    """Asks pg_stat_activity (engine.wait_sampler.WaitConnection)."""

    def __init__(self, address: Address, *, each: bool) -> None:
        """Connects. Raises ServerError."""
        import psycopg

        self.broken: tuple[type[Exception], ...] = (psycopg.Error,)
        self._connection = connected(address)
        self._cursor = self._connection.cursor()
        self._sql = sql(self.version_num, each=each).encode()

    @property
    def pid(self) -> int:
        """The server's process that is asked."""
        return self._connection.info.backend_pid

    @property
    def version_num(self) -> int:
        """The server's version."""
        return self._connection.info.server_version

    def sessions(self) -> Iterable[Session]:
        """The activity of all processes but this one and those that only wait for work."""
        self._cursor.execute(self._sql, prepare=True)
        return map(session, self._cursor.fetchall())

    def blocks(self) -> tuple[int, int]:
        """Pages of the database that were read from outside of shared_buffers, and found there."""
        self._cursor.execute(BLOCKS, prepare=True)
        ((read, hit),) = self._cursor.fetchall()
        return read, hit

    def fileno(self) -> int:
        """The socket's descriptor."""
        return self._connection.fileno()

    def close(self) -> None:
        """Ends it; nothing was changed."""
        self._connection.close()


def connected(address: Address) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection for samples. Raises ServerError."""
    import psycopg

    try:
        return connect(address, APPLICATION, limited(STATEMENT_S_MAX))
    except psycopg.Error as error:
        raise ServerError(f"database `{address.database}`: {said(error)}") from error
