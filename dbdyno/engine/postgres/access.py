"""How a PostgreSQL of the lab lets in load over TCP (engine.access).

The load comes as the lab's own superuser, with a password: so its tables have one owner, whether
the lab or the load made them. Who may come in stands in a file outside the data directory, which a
golden copy therefore has as `initdb` made it.
"""

import ipaddress
from pathlib import Path
from typing import LiteralString

from dbdyno.builds import Build
from dbdyno.engine.access import REMEDY, Entrance
from dbdyno.engine.postgres import connection, initdb, settings
from dbdyno.engine.settings import to_read
from dbdyno.host.account import Account
from dbdyno.host.place import RemoteAccess
from dbdyno.model import Address, Arm
from dbdyno.model.error import PlanError, ServerError

RULES = "load_hba.conf"
LIMIT_S = 60.0
BY_SOCKET = "local all all trust\nlocal replication all trust\n"
"""The lab and its standbys, as initdb lets them in; the socket's folder is theirs alone."""
SCRAM_FROM = 10
NO_TLS = "SSL is not supported"
UNSEEN: tuple[LiteralString, ...] = (
    "SET log_statement = 'none'",
    "SET log_min_duration_statement = -1",
    "SET log_min_error_statement = 'panic'",
    "SET pg_stat_statements.track_utility = off",
)
"""Keeps the statements of a session out of the server's log and statistics, whatever the plan's
settings are: to know the proof of a password by MD5 is to know the password."""


def settings_of(entrance: Entrance | None) -> dict[str, str]:
    """The settings by which a server listens on the entrance's address; on none without it."""
    if entrance is None:
        return {"listen_addresses": ""}
    found = {"listen_addresses": entrance.access.address, "hba_file": str(entrance.folder / RULES)}
    return found | tls_settings(entrance)


def tls_settings(entrance: Entrance) -> dict[str, str]:
    """Those of TLS; none without it. No client shows a certificate of its own."""
    if not entrance.access.tls:
        return {}
    return {
        "ssl": "on",
        "ssl_cert_file": str(entrance.certificate_file),
        "ssl_key_file": str(entrance.key_file),
        "ssl_ca_file": "",
        "ssl_crl_file": "",
    }


def write(entrance: Entrance, major: int) -> None:
    """Writes the entrance's files into the server's folder."""
    entrance.write()
    text = rules(entrance.access, major)
    entrance.account.give(entrance.folder / RULES, text, mode=0o600)


def rules(access: RemoteAccess, major: int) -> str:
    """Who may come in, as the server reads it (pg_hba.conf): over TCP the clients, and no other."""
    kind = "hostssl" if access.tls else "host"
    lines = [
        f'{kind} all "{initdb.SUPERUSER}" {ipaddress.ip_network(client)} {method(major)}\n'
        for client in access.clients
    ]
    return BY_SOCKET + "".join(lines)


def method(major: int) -> str:
    """How a client proves its password."""
    return "scram-sha-256" if major >= SCRAM_FROM else "md5"


def let_in(address: Address, access: RemoteAccess, major: int) -> None:
    """Gives the user of the server at `address` its password, by what proves it.

    Raises ServerError.
    """
    import psycopg
    from psycopg import sql

    change = sql.SQL("ALTER ROLE {} PASSWORD {}")
    user = initdb.SUPERUSER
    try:
        with connection.connected(address, LIMIT_S) as session:
            for statement in UNSEEN:
                session.execute(statement)
            proof = session.pgconn.encrypt_password(
                access.password.encode(), user.encode(), method(major).encode()
            ).decode()
            session.execute(change.format(sql.Identifier(user), sql.Literal(proof)))
    except psycopg.Error as error:
        said = " ".join(str(error).split())
        raise ServerError(f"load over TCP cannot be let in: {said}") from error


def withdrawn() -> str:
    """The statement that takes the password away again."""
    return f'ALTER ROLE "{initdb.SUPERUSER}" PASSWORD NULL'


def refuse_without_tls(arm: Arm, build: Build, account: Account, folder: Path) -> None:
    """Raises PlanError where the build has no TLS; `folder`: for a file that is gone afterwards."""
    with to_read("postgresql.conf", settings.text_of({"ssl": "on"}), folder) as file:
        said = settings.ask(build, account, ["-D", file.parent, "-C", "ssl"])
    if said is not None and NO_TLS in said:
        raise PlanError(
            f"arms.{arm.name}: `{build.program}` was compiled without TLS, by which load from "
            f"other hosts comes: take a build with OpenSSL, or {REMEDY}"
        )
