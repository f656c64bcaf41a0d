"""Connections to MySQL and MariaDB, by PyMySQL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dbdyno.connection import password
from dbdyno.model import Address

if TYPE_CHECKING:
    import pymysql

CONNECT_S_MAX = 10
VERSION = re.compile(r"(?:5\.5\.5-)?(\d+)\.(\d+)\.(\d+)")
"""MariaDB before 11 puts 5.5.5- before its version for old replicas."""
PLAIN = (None, "disable")
"""Values of `Address.tls` for which nothing is encrypted, as between a lab and its own server."""


def connect(address: Address, application: str, **more: Any) -> pymysql.Connection[Any]:
    """A connection that commits each statement by itself; `application` is its `program_name`.

    Texts arrive as the server has them in utf8mb4. `more`: what else PyMySQL takes. Raises
    pymysql.MySQLError, and ServerError without a password.
    """
    # PyMySQL takes a twentieth of a second to import; commands that reach no server do without.
    import pymysql

    where: dict[str, Any] = {"host": address.host, "port": address.port}
    if address.host.startswith("/"):
        where = {"unix_socket": address.host}
    return pymysql.connect(
        **where,
        user=address.user,
        # As bytes, because PyMySQL would write a text in latin1.
        password=(password.of(address) or "").encode(),
        database=address.database or None,
        autocommit=True,
        connect_timeout=CONNECT_S_MAX,
        charset="utf8mb4",
        program_name=application,
        **tls(address),
        **more,
    )


def tls(address: Address) -> dict[str, Any]:
    """PyMySQL's arguments for libpq's `sslmode` (Address.tls)."""
    if address.tls in PLAIN:
        return {"ssl_disabled": True}
    verified = address.tls in ("verify-ca", "verify-full")
    return {
        "ssl_ca": str(address.tls_root) if address.tls_root else None,
        "ssl_verify_cert": verified,
        "ssl_verify_identity": address.tls == "verify-full",
    }


def told(version: str) -> tuple[str, int] | None:
    """Engine and number of what version() says: `10.11.14-MariaDB` is ("mariadb", 101114).

    None where there is no version in it.
    """
    found = VERSION.match(version)
    if found is None:
        return None
    major, minor, patch = (int(number) for number in found.groups())
    engine = "mariadb" if "mariadb" in version.lower() else "mysql"
    return engine, major * 10000 + minor * 100 + patch


class Wire:
    """The socket under a connection, for `cutoff.cut_off`."""

    def __init__(self, connection: pymysql.Connection[Any]) -> None:
        """Takes a connection that is open."""
        self._connection = connection

    def fileno(self) -> int:
        """The socket's descriptor."""
        # PyMySQL has no public way to it.
        return int(self._connection._sock.fileno())  # type: ignore[attr-defined]
