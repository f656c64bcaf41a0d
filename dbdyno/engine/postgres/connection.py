"""SQL over a connection of our own: to see whether a server answers, and to set things up.

Nothing of this runs while a window is open.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dbdyno.engine.connection import cut_off, exposed, may_be_exposed, password
from dbdyno.engine.dsn_form import PREFERRED
from dbdyno.model import Address
from dbdyno.model.error import ServerError

if TYPE_CHECKING:
    import psycopg

CONNECT_S_MAX = 10
SSL_REQUEST = bytes((0, 0, 0, 8, 4, 210, 22, 47))
"""Asks whether the server has TLS (PostgreSQL documentation, "Message Formats")."""
NO_ROOT = "/nonexistent"
"""Keeps libpq from a root certificate that lies about, by which it would take `require` further."""
NO_CLEAR_TEXT = "!password"
"""libpq's `require_auth` for a connection over which no password may go as it is."""


def connect(
    address: Address, application: str, options: str, **more: Any
) -> psycopg.Connection[Any]:
    """A connection that is in no transaction, under an `application_name`, with server `options`.

    `more`: what else psycopg takes. Raises psycopg.Error, and ServerError without a password or
    where it would be exposed.
    """
    # psycopg takes a third of a second to import; commands that reach no server do without.
    import psycopg

    try:
        return psycopg.connect(
            host=address.host,
            port=address.port,
            user=address.user,
            dbname=address.database,
            password=password(address),
            autocommit=True,
            connect_timeout=CONNECT_S_MAX,
            application_name=application,
            options=options,
            **tls(address),
            **more,
        )
    except psycopg.OperationalError as error:
        if address.tls == PREFERRED and has_no_tls(address):
            return connect(replace(address, tls=None), application, options, **more)
        if NO_CLEAR_TEXT in str(error):
            line = exposed(address, "in clear text", "sslmode=require")
            raise ServerError(line) from None
        raise


def tls(address: Address) -> dict[str, Any]:
    """How the connection is encrypted, in libpq's own words.

    As the load generator's is: not at all where the address does not say so. libpq's own `prefer`
    goes on without TLS after any failure; here only a server that has none is a reason.
    """
    if address.tls is None:
        safe = address.host.startswith("/") or may_be_exposed(address)
        return {"sslmode": "disable"} | ({} if safe else {"require_auth": NO_CLEAR_TEXT})
    if address.tls in (PREFERRED, "require"):
        return {"sslmode": "require", "sslrootcert": NO_ROOT}
    return {"sslmode": address.tls, "sslrootcert": str(address.tls_root or "system")}


def has_no_tls(address: Address) -> bool:
    """Whether the server says that it has no TLS; not where it says nothing."""
    try:
        place = socket.create_connection((address.host, address.port), CONNECT_S_MAX)
        with closing(place) as stream:
            stream.sendall(SSL_REQUEST)
            return stream.recv(1) == b"N"
    except OSError:
        return False


def encrypted(connection: psycopg.Connection[Any]) -> str | None:
    """TLS's version and cipher; None where the connection is not encrypted.

    libpq knows whether it is; the rest is the server's word, which a proxy does not give.
    """
    if not connection.pgconn.ssl_in_use:
        return None
    query = "SELECT version, cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl"
    row = connection.execute(query).fetchone()
    return "TLS" if row is None else " ".join(row)


# --- SQL of our own ---------------------------------------------------------------------------

LIMIT_S = 600.0
"""How long statements may take together, unless the caller says otherwise."""
GRACE_S = 5.0
"""The server is to cancel at the limit; a connection that is silent this long after is cut."""


def answers(address: Address) -> bool:
    """Whether the server takes a connection and answers a query."""
    import psycopg

    try:
        with connected(address, CONNECT_S_MAX) as connection:
            connection.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True


def execute(address: Address, statements: Sequence[str], limit_s: float) -> list[tuple[Any, ...]]:
    """Runs statements one after the other outside a transaction; returns the rows of the last one.

    Raises ServerError, with the statement's beginning, where one fails or all take longer than
    `limit_s`.
    """
    import psycopg

    statement = "connect"
    rows: list[tuple[Any, ...]] = []
    try:
        with connected(address, limit_s) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
                rows = cursor.fetchall() if cursor.description else []
    except psycopg.Error as error:
        said = " ".join(str(error).split())
        raise ServerError(f"`{statement[:100]}`: {said}") from error
    return rows


def encryption(address: Address) -> str | None:
    """How a connection is encrypted (`encrypted`). Raises ServerError."""
    import psycopg

    try:
        with connected(address, CONNECT_S_MAX) as connection:
            return encrypted(connection)
    except psycopg.Error as error:
        raise ServerError(f"`connect`: {' '.join(str(error).split())}") from error


@contextmanager
def connected(address: Address, limit_s: float) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A connection that commits each statement and that nothing can hold longer than `limit_s`."""
    limit = f"-c statement_timeout={int(limit_s * 1000)}"
    connection = connect(address, "dyno", limit, prepare_threshold=None)
    with connection, cut_off(connection, limit_s + GRACE_S):
        yield connection
