"""SQL over a connection of our own: to see whether a server answers, and to set things up.

Nothing of this runs while a window is open.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec import structs

from dbdyno.engine.connection import (
    CONNECT_S_MAX,
    connect_s_max,
    cut_off,
    exposed,
    may_be_exposed,
    password,
    refuse_key,
)
from dbdyno.model import Address, Tls
from dbdyno.model.address import PREFERRED
from dbdyno.model.error import ServerError

if TYPE_CHECKING:
    import psycopg

SSL_REQUEST = bytes((0, 0, 0, 8, 4, 210, 22, 47))
"""Asks whether the server has TLS (PostgreSQL documentation, "Message Formats")."""
NO_ROOT = "/nonexistent"
"""Keeps libpq from a root certificate that lies about, by which it would take `require` further."""
NO_GSSAPI, NO_CLEAR_TEXT = "!gss,!sspi", "!password"
"""libpq's `require_auth`: what dyno does not speak, and what no open connection may carry."""
NO_HASH = "could not find digest"
"""libpq's error for a server's certificate without a hash to bind a password to, as of Ed25519."""
NOT_PASSED = "unsupported startup parameter"
"""How a pooler such as PgBouncer begins its refusal of what it does not pass on to the server."""
NOT_DIRECT = ("unexpected eof", "reset by peer", "without ALPN")
"""libpq's errors of a server that takes the first bytes of TLS for something else."""

NOT_TRUSTED = re.compile(r"SSL error: .*alert .*(certificate|unknown ca)")
"""OpenSSL's words for a server's alert about a client's certificate."""


def connect(
    address: Address, application: str, settings: Mapping[str, str], **more: Any
) -> psycopg.Connection[Any]:
    """A connection that is in no transaction, under an `application_name`, pinned (pinned.py).

    `settings`: those of this session beside the pins; `more`: what else psycopg takes. Raises
    psycopg.Error, and ServerError without a password or where it would be exposed.
    """
    # psycopg takes a third of a second to import; commands that reach no server do without.
    from dbdyno.engine.postgres import pinned

    connection = opened(address, application, **more)
    pinned.pin(connection, settings)
    return connection


def opened(address: Address, application: str, **more: Any) -> psycopg.Connection[Any]:
    """A connection as the server gives it; raises as `connect`."""
    import psycopg

    from dbdyno.engine.postgres import pinned

    refuse_key(address)
    pinned.hide_environment()
    try:
        return psycopg.connect(
            host=address.host,
            hostaddr=address.ip or "",
            options=address.options or "",
            port=address.port,
            user=address.user,
            dbname=address.database,
            password=password(address),
            autocommit=True,
            connect_timeout=connect_s_max(address),
            application_name=application,
            **pinned.REACHED,
            **encryption_words(address),
            **more,
        )
    except psycopg.OperationalError as error:
        tls = weaker(address, str(error))
        if tls != address.tls:
            return opened(replace(address, tls=tls), application, **more)
        line = refusal(address, str(error))
        if line is not None:
            raise ServerError(line) from None
        raise


def encryption_words(address: Address) -> dict[str, Any]:
    """How the connection is encrypted, in libpq's own words.

    As the load generator's is: not at all where the address does not say so, nor by a certificate
    that only lies about. libpq's own `prefer` goes on without TLS after any failure; here only a
    server that has none is a reason.
    """
    tls = address.tls
    always = {"gssencmode": "disable", "require_auth": NO_GSSAPI}
    if tls is None:
        if not address.host.startswith("/") and not may_be_exposed(address):
            always["require_auth"] += f",{NO_CLEAR_TEXT}"
        return always | {"sslmode": "disable"}
    words = always | {
        "sslmode": tls.mode,
        "sslrootcert": tls.root_certificate or "system",
        "channel_binding": tls.channel_binding,
    }
    if tls.mode in (PREFERRED, "require"):
        words |= {"sslmode": "require", "sslrootcert": NO_ROOT}
    if tls.direct:
        words["sslnegotiation"] = "direct"
    if tls.certificate is None or tls.key is None:
        return words | {"sslcertmode": "disable"}
    return words | {"sslcert": tls.certificate, "sslkey": tls.key}


def weaker(address: Address, error: str) -> Tls | None:
    """The address's TLS without what is only preferred and the server cannot, after an error."""
    tls = address.tls
    if tls is None or tls.channel_binding == "require":
        return tls
    if tls.mode == PREFERRED and has_no_tls(address):
        return None
    return structs.replace(tls, channel_binding="disable") if NO_HASH in error else tls


def refusal(address: Address, error: str) -> str | None:
    """The line on a server that asks for what dyno does not do; None after another error."""
    if address.tls is not None and address.tls.direct and any(map(error.__contains__, NOT_DIRECT)):
        return (
            f"the server at `{address.host}:{address.port}` takes no TLS from the first byte on: "
            "PostgreSQL does from 17 on, with `ssl = on`; for others leave out "
            "`sslnegotiation=direct`"
        )
    if NOT_TRUSTED.search(error):
        return (
            "the server does not accept the client's certificate: name one that its authority has "
            "signed and that is valid now"
        )
    if NO_HASH in error:
        return (
            "the server's certificate is signed in a way that has no hash to bind a password to, "
            "as Ed25519: give it one of RSA or ECDSA, or leave out `channel_binding=require`"
        )
    if "server requested GSSAPI" in error or "server requested SSPI" in error:
        return (
            f"the server asks user `{address.user}` for GSSAPI or SSPI, which dyno does not speak: "
            "in pg_hba.conf, let this user in by scram-sha-256 or cert"
        )
    if NO_CLEAR_TEXT in error:
        return exposed(address, "in clear text", "sslmode=require")
    if NOT_PASSED in error:
        return (
            f"{' '.join(error.split())}: remove `options` from the DSN, or name it in PgBouncer's "
            "`ignore_startup_parameters`"
        )
    return None


def has_no_tls(address: Address) -> bool:
    """Whether the server says that it has no TLS; not where it says nothing."""
    try:
        place = socket.create_connection((address.ip or address.host, address.port), CONNECT_S_MAX)
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


def silence(address: Address) -> str | None:
    """Why the server takes no connection or answers no query; None where it does."""
    import psycopg

    try:
        with connected(address, CONNECT_S_MAX) as connection:
            connection.execute("SELECT 1")
    except psycopg.Error as error:
        return " ".join(str(error).split())
    return None


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


def limited(statement_s: float) -> dict[str, str]:
    """The setting by which the server cancels a statement after so many seconds."""
    return {"statement_timeout": str(int(statement_s * 1000))}


@contextmanager
def connected(address: Address, limit_s: float) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A connection that commits each statement and that nothing can hold longer than `limit_s`."""
    connection = connect(address, "dyno", limited(limit_s), prepare_threshold=None)
    with connection, cut_off(connection, limit_s + GRACE_S):
        yield connection
