"""Who comes into a MySQL or MariaDB of the lab: the lab over its socket, and load over TCP.

The load comes by an account of the lab's name for each client's address, with the lab's rights
(engine.access). Those that a data directory begins with, and those of an earlier run's load, are
removed at each start: they have no password, or an old one.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

from dbdyno.builds import Build
from dbdyno.engine.access import REMEDY, Entrance
from dbdyno.engine.mysql import connection, flavour
from dbdyno.engine.mysql.connection import CACHING
from dbdyno.engine.mysql.flavour import since
from dbdyno.engine.mysql.layout import accounts_of
from dbdyno.host.place import RemoteAccess
from dbdyno.model import Address
from dbdyno.model.error import ServerError

LIMIT_S = 60.0
NATIVE = "mysql_native_password"
UNSEEN = (
    "SET SESSION sql_log_bin = 0",
    "SET SESSION sql_log_off = 1",
    "SET SESSION long_query_time = 31536000",
)
"""Keeps the statements of a session out of the server's logs, whatever the plan's settings are."""
STRANGERS = """
    SELECT user, host FROM mysql.user
    WHERE user IN ('root', '') OR (user = %s AND host NOT IN ('localhost', ''))"""
"""The accounts of those who made the data directory, and of the lab over TCP; others are the plan's
own, or locked."""
CERTIFIED = ("SHOW VARIABLES LIKE 'have_ssl'", "SHOW STATUS LIKE 'Ssl_server_not_after'")
"""Whether a server has a certificate in use. The second is for versions of MySQL that have lost the
first; others answer it for the session alone."""
Rows = list[tuple[Any, ...]]


def settings_of(entrance: Entrance | None) -> dict[str, str]:
    """The options by which a server listens on the entrance's address; on none without it."""
    if entrance is None:
        return {"skip_networking": "ON"}
    return {"bind_address": entrance.access.address} | tls_settings(entrance)


def tls_settings(entrance: Entrance) -> dict[str, str]:
    """Those of TLS; none without it."""
    if not entrance.access.tls:
        return {}
    return {"ssl_cert": str(entrance.certificate_file), "ssl_key": str(entrance.key_file)}


def method(build: Build, *, tls: bool) -> str:
    """How a client proves its password.

    Without TLS caching_sha2_password sends it under a public key that the server sends first, so
    that who is on the way can learn it: the older method where a server still has it.
    """
    its = flavour.of(build.engine)
    old = its.native_until is None or build.version_num < its.native_until
    return CACHING if since(its.caching_from, build.version_num) and (tls or not old) else NATIVE


def let_in(address: Address, user: str, access: RemoteAccess | None, build: Build) -> None:
    """Makes the accounts of the clients over TCP, if there are some, in place of all strangers.

    `address`: the server's socket. Raises ServerError; also where TLS is asked for and the server
    has not taken the certificate.
    """
    run(address, removed(address, user))
    if access is None:
        return
    for client in access.clients:
        run(address, list(account(user, client, access, build)))
    if access.tls and not has_tls(address):
        raise ServerError(
            f"the server offers no TLS, by which load from other hosts comes: see its log, or "
            f"{REMEDY}"
        )


def has_tls(address: Address) -> bool:
    """Whether the server has taken a certificate. Raises ServerError."""
    for question in CERTIFIED:
        for _, said in run(address, [(question, ())]):
            return said not in ("", "NO", "DISABLED")
    return False


def withdraw(address: Address, user: str, build: Build) -> None:
    """Leaves the accounts as a server has them that nobody else reaches. Raises ServerError."""
    own = [(line, ()) for line in accounts_of(user, build).splitlines()]
    run(address, [*removed(address, user), *own])


def account(
    user: str, client: str, access: RemoteAccess, build: Build
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The statements that make the account of a client's address, with their values."""
    need = "REQUIRE SSL" if access.tls else "REQUIRE NONE"
    by = method(build, tls=access.tls)
    grant = "GRANT ALL PRIVILEGES ON *.* TO %s@%s"
    if not since(flavour.of(build.engine).caching_from, build.version_num):
        identified = f"IDENTIFIED BY PASSWORD %s {need} WITH GRANT OPTION"
        yield f"{grant} {identified}", (user, client, native(access.password))
        return
    proof = ("BY", access.password) if by == CACHING else ("AS", native(access.password))
    identified = f"IDENTIFIED WITH {by} {proof[0]} %s {need}"
    yield f"CREATE USER %s@%s {identified}", (user, client, proof[1])
    yield f"{grant} WITH GRANT OPTION", (user, client)


def native(password: str) -> str:
    """What mysql_native_password keeps of a password; nobody comes in by it alone."""
    once = hashlib.sha1(password.encode(), usedforsecurity=False).digest()
    return "*" + hashlib.sha1(once, usedforsecurity=False).hexdigest().upper()


def removed(address: Address, user: str) -> list[tuple[str, tuple[str, ...]]]:
    """The statements that remove the strangers."""
    strangers = run(address, [(STRANGERS, (user,))])
    return [("DROP USER %s@%s", (text(name), text(host))) for name, host in strangers]


def text(value: str | bytes) -> str:
    """A text of the grant tables, which some versions keep as bytes."""
    return value.decode() if isinstance(value, bytes) else value


def run(address: Address, statements: list[tuple[str, tuple[str, ...]]]) -> Rows:
    """Runs statements that no log shows; the rows of the last. Raises ServerError."""
    import pymysql

    rows: Rows = []
    try:
        with connection.connected(address, LIMIT_S) as session, session.cursor() as cursor:
            for statement in UNSEEN:
                cursor.execute(statement)
            for statement, values in statements:
                cursor.execute(statement, values)
                rows = list(cursor.fetchall()) if cursor.description else []
    except pymysql.MySQLError as error:
        # Not the server's words: they may quote the statement, which may have the password.
        raise ServerError(
            f"the server's accounts cannot be set: error {error.args[0]}: see the server's log"
        ) from None
    return rows
