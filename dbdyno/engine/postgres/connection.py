"""SQL over a connection of our own: to see whether a server answers, and to set things up.

Nothing of this runs while a window is open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dbdyno.engine.cutoff import cut_off
from dbdyno.engine.postgres.client import CONNECT_S_MAX, connect, encrypted
from dbdyno.model import Address
from dbdyno.model.error import ServerError

if TYPE_CHECKING:
    import psycopg

LIMIT_S = 600.0
"""How long statements may take together, unless the caller says otherwise."""
GRACE_S = 5.0
"""The server is to cancel at the limit; a connection that is silent this long after is cut."""


@dataclass(frozen=True)
class Target:
    """A server and the database to use, whatever the address says."""

    address: Address
    database: str


def answers(target: Target) -> bool:
    """Whether the server takes a connection and answers a query."""
    import psycopg

    try:
        with connected(target, CONNECT_S_MAX) as connection:
            connection.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True


def execute(target: Target, statements: Sequence[str], limit_s: float) -> list[tuple[Any, ...]]:
    """Runs statements one after the other outside a transaction; returns the rows of the last one.

    Raises ServerError, with the statement's beginning, where one fails or all take longer than
    `limit_s`.
    """
    import psycopg

    statement = "connect"
    rows: list[tuple[Any, ...]] = []
    try:
        with connected(target, limit_s) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
                rows = cursor.fetchall() if cursor.description else []
    except psycopg.Error as error:
        said = " ".join(str(error).split())
        raise ServerError(f"`{statement[:100]}`: {said}") from error
    return rows


def encryption(target: Target) -> str | None:
    """How a connection is encrypted (`connection.postgres.encrypted`). Raises ServerError."""
    import psycopg

    try:
        with connected(target, CONNECT_S_MAX) as connection:
            return encrypted(connection)
    except psycopg.Error as error:
        raise ServerError(f"`connect`: {' '.join(str(error).split())}") from error


@contextmanager
def connected(target: Target, limit_s: float) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A connection that commits each statement and that nothing can hold longer than `limit_s`."""
    address = replace(target.address, database=target.database)
    limit = f"-c statement_timeout={int(limit_s * 1000)}"
    connection = connect(address, "dyno", limit, prepare_threshold=None)
    with connection, cut_off(connection, limit_s + GRACE_S):
        yield connection
