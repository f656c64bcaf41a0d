"""Connections to PostgreSQL, by psycopg."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbdyno.connection import password
from dbdyno.model import Address

if TYPE_CHECKING:
    import psycopg

CONNECT_S_MAX = 10


def connect(
    address: Address, application: str, options: str, **more: Any
) -> psycopg.Connection[Any]:
    """A connection that is in no transaction, under an `application_name`, with server `options`.

    `more`: what else psycopg takes. Raises psycopg.Error, and ServerError without a password.
    """
    # psycopg takes a third of a second to import; commands that reach no server do without.
    import psycopg

    return psycopg.connect(
        host=address.host,
        port=address.port,
        user=address.user,
        dbname=address.database,
        password=password.of(address),
        autocommit=True,
        connect_timeout=CONNECT_S_MAX,
        application_name=application,
        options=options,
        **encryption(address),
        **more,
    )


def encryption(address: Address) -> dict[str, Any]:
    """How the connection is encrypted, in libpq's own words.

    As the load generator's is: not at all where the address does not say so.
    """
    found: dict[str, Any] = {"sslmode": address.tls or "disable"}
    if address.tls_root is not None:
        found["sslrootcert"] = str(address.tls_root)
    elif address.tls == "verify-full":
        found["sslrootcert"] = "system"
    return found
