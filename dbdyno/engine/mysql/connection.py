"""SQL over a connection of our own to MySQL: to see whether it answers, and to set things up.

Nothing of this runs while a window is open.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dbdyno.engine.connection import (
    CONNECT_S_MAX,
    connect_s_max,
    cut_off,
    exposed,
    may_be_exposed,
    password,
    refuse_key,
)
from dbdyno.engine.mysql import flavour
from dbdyno.model import Address, Tls
from dbdyno.model.address import PREFERRED
from dbdyno.model.error import ServerError

if TYPE_CHECKING:
    import pymysql

VERSION = re.compile(r"(?:5\.5\.5-)?(\d+)\.(\d+)\.(\d+)")
"""MariaDB before 11 puts 5.5.5- before its version for old replicas."""
PINS = (
    "/* dyno */ SET SESSION sql_mode = '', time_zone = '+00:00', lc_messages = 'en_US', "
    "wait_timeout = 28800, sql_select_limit = 18446744073709551615, "
    "max_join_size = 18446744073709551615, sql_big_selects = 1, sql_safe_updates = 0, "
    "sql_auto_is_null = 0, completion_type = 0"
    "/*!50720 , max_execution_time = 0, transaction_read_only = 0 */"
    "/*M!100101 , max_statement_time = 0, tx_read_only = 0 */"
)
"""What dyno's own sessions read by, whatever the server's settings and its `init_connect` say; by
its comment a capture of the server's log tells these sessions from the application's."""
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

    PINS hold. Texts arrive as the server has them in utf8mb4. `more`: what else PyMySQL takes.
    Raises pymysql.MySQLError, and ServerError without a password or where it would be exposed.
    """
    # PyMySQL takes a twentieth of a second to import; commands that reach no server do without.
    import pymysql

    refuse_key(address)
    own = None if address.tls is None else context(address.tls)
    required = address.tls is not None and address.tls.mode != PREFERRED
    where: dict[str, Any] = {"host": address.host, "port": address.port}
    if address.host.startswith("/"):
        where = {"unix_socket": address.host}
    connection: pymysql.Connection[Any] = pymysql.connect(
        **where,
        user=address.user,
        # As bytes, because PyMySQL would write a text in latin1.
        password=(password(address) or "").encode(),
        database=address.database or None,
        autocommit=True,
        connect_timeout=connect_s_max(address),
        charset="utf8mb4",
        program_name=application,
        auth_plugin_map=guards(address),
        init_command=PINS,
        ssl=own if required else None,
        ssl_disabled=own is None,
        defer_connect=True,
        **more,
    )
    if own is not None and not required:
        connection.ctx = own  # type: ignore[attr-defined]  # in place of PyMySQL's own
    connection.connect(None if address.ip is None else stream(address))
    return connection


def stream(address: Address) -> socket.socket:
    """A socket to the one server that the host's name stands for. Raises pymysql.MySQLError."""
    import pymysql

    try:
        made = socket.create_connection((address.ip, address.port), CONNECT_S_MAX)
    except OSError as error:
        reason = f"Can't connect to MySQL server on '{address.host}' ({error})"
        raise pymysql.err.OperationalError(2003, reason) from error
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def context(tls: Tls) -> ssl.SSLContext:
    """How Python is to encrypt; of its own PyMySQL looks at no host's name with the system's roots.

    Raises ServerError for a client's certificate that cannot be used.
    """
    made = ssl.create_default_context(cafile=tls.root_certificate)
    # The certificates that MySQL makes for itself are not as strict as newer Pythons want them.
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    made.check_hostname = tls.mode == "verify-full"
    if tls.mode in (PREFERRED, "require"):
        made.verify_mode = ssl.CERT_NONE
    if tls.certificate is not None:
        try:
            made.load_cert_chain(tls.certificate, tls.key)
        except ssl.SSLError as error:
            raise ServerError(
                f"the certificate `{tls.certificate}` and the key `{tls.key}` cannot be used "
                f"({error.reason}): give PEM files that belong together"
            ) from error
    return made


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


class ConnectionSocket:
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
HOLD_S_MAX = 900.0
"""A counted step is over before, whose snapshot is held."""


def silence(address: Address) -> str | None:
    """Why the server takes no connection or answers no query; None where it does."""
    import pymysql

    try:
        with connected(address, CONNECT_S_MAX) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except pymysql.MySQLError as error:
        why = said(error)
        # PyMySQL's error and its frames hold each other, and a socket: a server that takes long to
        # start would use up the files that a process may open.
        for held in (error, error.__context__):
            traceback.clear_frames(None if held is None else held.__traceback__)
        return why
    return None


def said(error: Exception) -> str:
    """What the server or the driver said, in a line and without its number."""
    return " ".join((" ".join(map(str, error.args[1:])) or str(error)).split())


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
        why = said(error)
        if connection is not None and time.monotonic() - begun_s >= limit_s:
            session = connection.thread_id()  # type: ignore[no-untyped-call]
            kill(address, session)
            why = f"it took longer than {limit_s:g} s"
        raise ServerError(f"`{statement[:100]}`: {why}") from error
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
def snapshot_held(address: Address) -> Iterator[None]:
    """Holds a snapshot that purge cannot pass, as it runs in real time. Raises ServerError."""
    with connected(address, HOLD_S_MAX) as connection, connection.cursor() as cursor:
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        yield


@contextmanager
def connected(address: Address, limit_s: float) -> Iterator[pymysql.Connection[Any]]:
    """A connection that nothing can hold longer than `limit_s`."""
    connection = connect(address, "dyno")
    try:
        with cut_off(ConnectionSocket(connection), limit_s):
            yield connection
    finally:
        with suppress(Exception):  # whatever a broken connection says at its end
            connection.close()
