"""A connection that asks MySQL or MariaDB about itself; what cannot be had has its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pymysql
from pymysql.cursors import DictCursor

from dbdyno.engine.connection import cut_off
from dbdyno.engine.mysql.connection import ConnectionSocket, connect
from dbdyno.engine.mysql.connection import told as version_told
from dbdyno.engine.snapshot import Found, Row, UnavailableError, one_line, part, plain
from dbdyno.model import Address, engine
from dbdyno.model.error import ServerError

STATEMENT_S_MAX = 2
SNAPSHOT_S_MAX = 30.0
"""A server that answers nothing for this long is cut off: its own time limit does not help then."""


class MysqlProbe:
    """A connection, the server's engine and version, and what could not be read so far."""

    def __init__(self, connection: pymysql.Connection[DictCursor]) -> None:
        """Asks for the version; raises pymysql.MySQLError."""
        self._connection = connection
        self.unavailable: dict[str, str] = {}
        text = str(self.row("SELECT version() AS version")["version"])
        self.engine, self.version_num = version(text)

    @property
    def product(self) -> str:
        """The server's name with its series: `MySQL 8.4`, `MariaDB 10.11`."""
        major, rest = divmod(self.version_num, 10000)
        return f"{engine.of(self.engine).product} {major}.{rest // 100}"

    @property
    def is_mariadb(self) -> bool:
        """Whether it is MariaDB, whose catalogues have other names."""
        return self.engine == "mariadb"

    def rows(self, sql: str, parameters: Sequence[object] | None = None) -> list[Row]:
        """The rows of a query, as JSON has values, by lower-case names.

        MySQL writes the columns of its catalogues in capitals. Raises pymysql.MySQLError.
        """
        with self._connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return [
                {name.lower(): text(value) for name, value in row.items()}
                for row in cursor.fetchall()
            ]

    def row(self, sql: str, parameters: Sequence[object] | None = None) -> Row:
        """The first row of a query; raises UnavailableError where there is none."""
        found = self.rows(sql, parameters)
        if not found:
            raise UnavailableError("the server gave no row")
        return found[0]

    def part(self, name: str, read: Callable[[], Found]) -> Found | None:
        """The result of `read`; None, with the reason kept under `name`, where it cannot be had."""
        return part(self.unavailable, name, lambda: told(read), (OSError,))


@contextmanager
def connected(address: Address) -> Iterator[MysqlProbe]:
    """A reader of the database at `address`; raises ServerError where it cannot connect.

    Each query is limited to STATEMENT_S_MAX, the whole to SNAPSHOT_S_MAX.
    """
    try:
        connection = connect(address, "dyno probe", cursorclass=DictCursor)
    except pymysql.MySQLError as error:
        raise ServerError(f"{where(address)}: {said(error)}") from error
    with cut_off(ConnectionSocket(connection), SNAPSHOT_S_MAX), connection:
        try:
            reader = MysqlProbe(connection)
            limit(reader)
        except pymysql.MySQLError as error:
            raise ServerError(f"{where(address)}: {said(error)}") from error
        yield reader


def told(read: Callable[[], Found]) -> Found:
    """The result of `read`; raises UnavailableError in the server's words where it refuses."""
    try:
        return read()
    except pymysql.MySQLError as error:
        raise UnavailableError(said(error)) from error


def said(error: pymysql.MySQLError) -> str:
    """`error 1064: You have an error in your SQL syntax …`: the driver has number and text."""
    if len(error.args) != 2:
        return one_line(error)
    number, words = error.args
    return f"error {number}: {' '.join(str(words).split())}"


def where(address: Address) -> str:
    """The database and its place, in words; `host` is the socket's file where it is a path."""
    place = address.host if address.host.startswith("/") else f"{address.host}:{address.port}"
    return f"database `{address.database}` at {place}"


def limit(reader: MysqlProbe) -> None:
    """Sets the session's limits, and has sizes of tables told as they are now.

    Facts that a version does not know are passed over: SNAPSHOT_S_MAX holds in any case.
    """
    wanted = [f"lock_wait_timeout = {STATEMENT_S_MAX}"]
    if reader.is_mariadb:
        wanted.append(f"max_statement_time = {STATEMENT_S_MAX}")
    elif reader.version_num >= 50708:
        wanted.append(f"max_execution_time = {STATEMENT_S_MAX * 1000}")
    if not reader.is_mariadb and reader.version_num >= 80000:
        # Else sizes are those of up to a day ago.
        wanted.append("information_schema_stats_expiry = 0")
    for one in wanted:
        reader.rows(f"SET SESSION {one}")


def version(text: str) -> tuple[str, int]:
    """Engine and number of what version() says; raises UnavailableError where it says none."""
    found = version_told(text)
    if found is None:
        raise UnavailableError(f"`{text}` is not a version")
    return found


def text(value: object) -> object:
    """A value as JSON has it; what the server keeps as bytes is text here."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else plain(value)
