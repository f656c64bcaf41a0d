"""SQL over a connection of our own to MySQL: to see whether it answers, and to set things up.

Nothing of this runs while a window is open.
"""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dbdyno.engine.connection import cut_off, exposed, may_be_exposed, password
from dbdyno.engine.dsn_form import PREFERRED
from dbdyno.engine.mysql import flavour
from dbdyno.model import Address
from dbdyno.model.error import ServerError

if TYPE_CHECKING:
    import pymysql

CONNECT_S_MAX = 10
VERSION = re.compile(r"(?:5\.5\.5-)?(\d+)\.(\d+)\.(\d+)")
"""MariaDB before 11 puts 5.5.5- before its version for old replicas."""
CACHING = "caching_sha2_password"
WANTS_PASSWORD = b"\x01\x04"
"""The server's demand by that method, if the proof of the password does not suffice."""
UNDER_A_KEY = "under a public key that nobody vouches for"
REVEALING = {
    "sha256_password": UNDER_A_KEY,
    "mysql_clear_password": "in clear text",
    "dialog": "in clear text",
    "mysql_old_password": "under a hash that is no secret",
}
"""Methods that without TLS tell others the password, and how the server asks for it by them."""


def connect(address: Address, application: str, **more: Any) -> pymysql.Connection[Any]:
    """A connection that commits each statement by itself; `application` is its `program_name`.

    Texts arrive as the server has them in utf8mb4. `more`: what else PyMySQL takes. Raises
    pymysql.MySQLError, and ServerError without a password or where it would be exposed.
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
        password=(password(address) or "").encode(),
        database=address.database or None,
        autocommit=True,
        connect_timeout=CONNECT_S_MAX,
        charset="utf8mb4",
        program_name=application,
        auth_plugin_map=guards(address),
        **tls(address),
        **more,
    )


def tls(address: Address) -> dict[str, Any]:
    """PyMySQL's arguments for libpq's `sslmode` (Address.tls).

    By a context of our own, as PyMySQL takes `require` for `prefer`, and with the system's
    certificates looks at no host's name.
    """
    if address.tls is None:
        return {"ssl_disabled": True}
    if address.tls == PREFERRED:
        return {}  # what PyMySQL does by itself
    context = ssl.create_default_context(cafile=address.tls_root)
    # The certificates that MySQL makes for itself are not as strict as newer Pythons want them.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.check_hostname = address.tls == "verify-full"
    if address.tls == "require":
        context.verify_mode = ssl.CERT_NONE
    return {"ssl": context}


def encrypted(connection: pymysql.Connection[Any]) -> str | None:
    """TLS's version and cipher; None where the connection is not encrypted."""
    stream = connection._sock  # type: ignore[attr-defined]
    if not isinstance(stream, ssl.SSLSocket):
        return None
    cipher = stream.cipher()
    return " ".join(filter(None, (stream.version(), cipher and cipher[0])))


def guards(address: Address) -> dict[str, Any]:
    """PyMySQL's handlers of methods that may expose the password; none where the plan allows it.

    By itself PyMySQL trusts whatever public key comes, and answers to a request for clear text.
    """
    if may_be_exposed(address):
        return {}
    return {method: partial(Guard, address, method) for method in (CACHING, *REVEALING)}


@dataclass(frozen=True)
class Guard:
    """PyMySQL's own handling of a method, where nobody else can read or there is no secret.

    Elsewhere only the proof by caching_sha2_password, which tells nobody anything.
    """

    address: Address
    method: str
    connection: Any

    def authenticate(self, packet: Any) -> Any:
        """The server's next message. Raises ServerError where the password would be exposed."""
        connection = self.connection
        whole = self.method != CACHING or packet.get_all_data()[:2] == WANTS_PASSWORD
        if connection._secure or not connection.password:
            return connection._process_auth(self.method.encode(), packet)
        if whole:
            asked = REVEALING.get(self.method, UNDER_A_KEY)
            raise ServerError(exposed(self.address, asked, "ssl-mode=REQUIRED"))
        if packet.is_auth_switch_request():
            return self._prove(packet)
        return connection._process_auth(self.method.encode(), packet)

    def _prove(self, packet: Any) -> Any:
        """Sends the proof alone; PyMySQL would go on with the password. The rest comes here."""
        from pymysql import _auth

        self.connection.salt = packet.read_all().removesuffix(b"\0")
        proof = _auth.scramble_caching_sha2(self.connection.password, self.connection.salt)
        self.connection.write_packet(proof)
        return self.connection._read_packet()


def told(version: str) -> tuple[str, int] | None:
    """Engine and number of what version() says: `10.11.14-MariaDB` is ("mariadb", 101114).

    None where there is no version in it.
    """
    found = VERSION.match(version)
    if found is None:
        return None
    major, minor, patch = (int(number) for number in found.groups())
    return flavour.told(version), major * 10000 + minor * 100 + patch


class Wire:
    """The socket under a connection, for `cutoff.cut_off`."""

    def __init__(self, connection: pymysql.Connection[Any]) -> None:
        """Takes a connection that is open."""
        self._connection = connection

    def fileno(self) -> int:
        """The socket's descriptor."""
        # PyMySQL has no public way to it.
        return int(self._connection._sock.fileno())  # type: ignore[attr-defined]


# --- SQL of our own ---------------------------------------------------------------------------

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
    """How a connection is encrypted (`encrypted`). Raises ServerError."""
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
