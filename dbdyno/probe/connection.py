"""How the lab's own connections to a database are made."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dbdyno.model import Address

if TYPE_CHECKING:
    import psycopg

CONNECT_S_MAX = 5


def connect(
    address: Address, application: str, options: str, **more: Any
) -> psycopg.Connection[Any]:
    """A connection that is in no transaction, under an `application_name`, with server `options`.

    `more`: what else psycopg takes. Raises psycopg.Error.
    """
    # psycopg takes a third of a second to import; commands that reach no server do without.
    import psycopg

    password = os.environ.get(address.password_env) if address.password_env else None
    return psycopg.connect(
        host=address.host,
        port=address.port,
        user=address.user,
        dbname=address.database,
        password=password,
        autocommit=True,
        connect_timeout=CONNECT_S_MAX,
        application_name=application,
        options=options,
        **more,
    )
