"""The connection over which a MySQL's or MariaDB's sessions are sampled (engine.wait_sampler)."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dbdyno.engine.activity import Session
from dbdyno.engine.connection import CONNECT_S_MAX
from dbdyno.engine.mysql import activity, instruments
from dbdyno.engine.mysql.connection import ConnectionSocket, connect, execute, told
from dbdyno.engine.mysql.flavour import Flavour
from dbdyno.engine.wait_sampler import APPLICATION, STATEMENT_S_MAX, said
from dbdyno.model import Address
from dbdyno.model.error import ServerError

if TYPE_CHECKING:
    import pymysql


class MysqlWaitConnection:
    """Asks performance_schema (engine.wait_sampler.WaitConnection)."""

    def __init__(self, address: Address, flavour: Flavour) -> None:
        """Connects, and switches on what samples need. Raises ServerError."""
        import pymysql

        self.broken: tuple[type[Exception], ...] = (pymysql.MySQLError, ServerError)
        self._address = address
        self._connection = connected(address)
        self._sql = activity.sql(flavour.threads)
        self._flavour = flavour
        self._blocked: dict[int, int | None] = {}  # who waited for a row lock, in which transaction
        self._blocked_s = -math.inf  # when that was asked
        self._switched: list[instruments.DisabledRows] = []
        try:
            self._find_out()
        except pymysql.MySQLError as error:
            self.close()
            raise ServerError(f"performance_schema: {said(error)}") from error

    def _find_out(self) -> None:
        """Learns who it is, and switches on what is off."""
        ((text, thread),) = self._ask(
            "SELECT version(), THREAD_OS_ID FROM performance_schema.threads "
            "WHERE PROCESSLIST_ID = CONNECTION_ID()"
        )
        found = told(text)
        assert found is not None, "the server was asked for its version before"
        self.pid, self.version_num = int(thread), found[1]
        for one in instruments.off(self._ask):
            self._ask(one.switched("YES"))
            self._switched.append(one)

    def _ask(self, statement: str) -> Sequence[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else ()

    def sessions(self) -> Iterable[Session]:
        """The activity of all threads but this one and those that only wait for work."""
        rows = self._ask(self._sql)
        now = activity.transactions(rows)
        if time.monotonic() - self._blocked_s >= self._flavour.row_locks_s:
            asked = self._ask(self._flavour.row_locks)
            self._blocked = {thread: now.get(thread) for (thread,) in asked}
            self._blocked_s = time.monotonic()
        still = {thread for thread, one in self._blocked.items() if now.get(thread) == one}
        return activity.sessions(rows, still)

    def blocks(self) -> tuple[int, int]:
        """Pages that InnoDB read from its files, and found in its buffer pool."""
        return activity.blocks(self._ask(activity.BLOCKS))

    def fileno(self) -> int:
        """The socket's descriptor."""
        return ConnectionSocket(self._connection).fileno()

    def close(self) -> None:
        """Ends it; what was switched on is off again, over a connection of its own.

        That of the samples may have been cut.
        """

        if self._connection.open:
            self._connection.close()
        if self._switched:
            back = [one.switched("NO") for one in reversed(self._switched)]
            self._switched = []
            execute(self._address, back, CONNECT_S_MAX)


def connected(address: Address) -> pymysql.Connection[Any]:
    """A connection for samples. Raises ServerError."""
    import pymysql

    try:
        return connect(
            address, APPLICATION, read_timeout=STATEMENT_S_MAX, write_timeout=STATEMENT_S_MAX
        )
    except pymysql.MySQLError as error:
        raise ServerError(f"database `{address.database}`: {said(error)}") from error
