"""SQL over a connection of our own to MySQL: to see whether it answers, and to set things up.

Nothing of this runs while a window is open.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from dbdyno.engine.cutoff import cut_off
from dbdyno.engine.mysql.client import CONNECT_S_MAX, Wire, connect, encrypted
from dbdyno.model import Address
from dbdyno.model.error import ServerError

if TYPE_CHECKING:
    import pymysql

LIMIT_S = 600.0
"""How long statements may take together, unless the caller says otherwise."""


def answers(address: Address) -> bool:
    """Whether the server takes a connection and answers a query."""
    import pymysql

    try:
        with connected(address, CONNECT_S_MAX) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except pymysql.MySQLError:
        return False
    return True


def execute(address: Address, statements: Sequence[str], limit_s: float) -> list[tuple[Any, ...]]:
    """Runs statements one after the other outside a transaction; returns the rows of the last one.

    Raises ServerError, with the statement's beginning, where one fails or all take longer than
    `limit_s`; the server then ends the one that still runs.
    """
    import pymysql

    begun_s = time.monotonic()
    statement = "connect"
    rows: list[tuple[Any, ...]] = []
    connection = None
    try:
        with connected(address, limit_s) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                rows = list(cursor.fetchall()) if cursor.description else []
    except pymysql.MySQLError as error:
        said = " ".join(str(part) for part in error.args[1:]) or str(error)
        if connection is not None and time.monotonic() - begun_s >= limit_s:
            session = connection.thread_id()  # type: ignore[no-untyped-call]
            kill(address, session)
            said = f"it took longer than {limit_s:g} s"
        raise ServerError(f"`{statement[:100]}`: {' '.join(said.split())}") from error
    return rows


def encryption(address: Address) -> str | None:
    """How a connection is encrypted (`connection.mysql.encrypted`). Raises ServerError."""
    import pymysql

    try:
        with connected(address, CONNECT_S_MAX) as connection:
            return encrypted(connection)
    except pymysql.MySQLError as error:
        raise ServerError(f"`connect`: {' '.join(str(error).split())}") from error


def kill(address: Address, session: int) -> None:
    """Ends a session whose statement goes on though nobody waits for it any more.

    MySQL looks at a session's socket only between statements, and only SELECTs have a time limit
    of their own there.
    """
    import pymysql

    with (
        suppress(pymysql.MySQLError),  # it has ended by itself, or the server has
        connected(address, CONNECT_S_MAX) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(f"KILL {session}")


@contextmanager
def connected(address: Address, limit_s: float) -> Iterator[pymysql.Connection[Any]]:
    """A connection that nothing can hold longer than `limit_s`."""
    connection = connect(address, "dyno")
    try:
        with cut_off(Wire(connection), limit_s):
            yield connection
    finally:
        with suppress(Exception):  # whatever a broken connection says at its end
            connection.close()
