"""A connection that asks the database about itself; what cannot be had is kept with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import psycopg
from psycopg.rows import dict_row

from dbdyno.engine.connection import cut_off
from dbdyno.engine.postgres.connection import connect
from dbdyno.engine.postgres.pinned import is_pooled
from dbdyno.engine.snapshot import Found, Row, UnavailableError, one_line, part, plain
from dbdyno.model import Address, Json
from dbdyno.model.error import ServerError

STATEMENT_MS_MAX = 2000
SNAPSHOT_S_MAX = 30.0
"""A server that answers nothing for this long is cut off: its own time limit does not help then."""


class PostgresProbe:
    """A connection, the server's version, and what could not be read so far."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self.version_num = connection.info.server_version
        self.unavailable: dict[str, str] = {}
        self.is_pooled = is_pooled(connection)
        self._connection = connection

    @property
    def product(self) -> str:
        """The server's name with its major version: `PostgreSQL 15`, `PostgreSQL 9.6`."""
        major, minor = divmod(self.version_num, 10000)
        return f"PostgreSQL {major}" if major >= 10 else f"PostgreSQL {major}.{minor // 100}"

    def rows(self, sql: str, parameters: Sequence[object] | None = None) -> list[Row]:
        """The rows of a query, as JSON has values; raises psycopg.Error."""
        cursor = self._connection.execute(sql.encode(), parameters)
        if cursor.description is None:
            return []
        return [{name: plain(value) for name, value in row.items()} for row in cursor]

    def row(self, sql: str, parameters: Sequence[object] | None = None) -> Row:
        """The only row of a query; raises UnavailableError where there is none."""
        found = self.rows(sql, parameters)
        if not found:
            raise UnavailableError("the server gave no row")
        return found[0]

    def part(self, name: str, read: Callable[[PostgresProbe], Found]) -> Found | None:
        """The result of `read`; None, with the reason kept under `name`, where it cannot be had."""
        return part(self.unavailable, name, lambda: read(self), (psycopg.Error, OSError))

    def need(self, version_num: int, what: str) -> None:
        """Raises UnavailableError where the server is older than what has `what`."""
        if self.version_num < version_num:
            raise UnavailableError(f"{self.product} has no {what}")

    def extend(self, extension: str) -> None:
        """Makes the extension in the database; raises UnavailableError where the build lacks it."""
        if self.rows("SELECT 1 FROM pg_extension WHERE extname = %s", [extension]):
            return
        # This view reads all extensions' files.
        if not self.rows("SELECT 1 FROM pg_available_extensions WHERE name = %s", [extension]):
            raise UnavailableError(f"this server comes without the extension {extension}")
        self.rows(f"CREATE EXTENSION IF NOT EXISTS {extension}")

    def lack(self, part: str, keys: Sequence[str], reason: str) -> Json:
        """Keys of a part that this version does not have: all None, the reason kept for each."""
        self.unavailable |= {f"{part}.{key}": f"{self.product} {reason}" for key in keys}
        return dict.fromkeys(keys)


@contextmanager
def connected(address: Address) -> Iterator[PostgresProbe]:
    """A reader of the database at `address`; raises ServerError where it cannot connect.

    Not in a transaction, each statement limited to STATEMENT_MS_MAX, the whole to SNAPSHOT_S_MAX.
    """
    limits = dict.fromkeys(("statement_timeout", "lock_timeout"), str(STATEMENT_MS_MAX))
    try:
        connection: psycopg.Connection[Row] = connect(
            address, "dyno probe", limits, prepare_threshold=None, row_factory=dict_row
        )
    except psycopg.Error as error:
        raise ServerError(
            f"database `{address.database}` at {address.host}:{address.port}: {one_line(error)}"
        ) from error
    with cut_off(connection, SNAPSHOT_S_MAX), connection:
        yield PostgresProbe(connection)


def relations(reader: PostgresProbe, tables: Sequence[str]) -> list[str]:
    """The tables' names, each partitioned one by those of its partitions in its place.

    A partitioned table has no rows, no size and no dead rows of its own. A name that is no table is
    left out and named in `unavailable`.
    """
    rows = reader.rows(
        """
        WITH RECURSIVE part (place, asked, name, relid, kind) AS (
            SELECT wanted.place, wanted.name, wanted.name, class.oid, class.relkind
            FROM unnest(%s::text[]) WITH ORDINALITY AS wanted (name, place)
            JOIN pg_class AS class ON class.oid = to_regclass(wanted.name)
          UNION ALL
            SELECT part.place, part.asked, child.oid::regclass::text, child.oid, child.relkind
            FROM part JOIN pg_inherits ON inhparent = part.relid AND part.kind = 'p'
            JOIN pg_class AS child ON child.oid = inhrelid
        )
        SELECT asked, name, kind <> 'p' AS stores FROM part ORDER BY place, relid
        """,
        [list(tables)],
    )
    asked = {row["asked"] for row in rows}
    for name in tables:
        if name not in asked:
            reader.unavailable[f"tables.{name}"] = "there is no such table"
    return [row["name"] for row in rows if row["stores"]]
