"""Where a server answers, and where the password for it is to be found."""

from dataclasses import dataclass

from msgspec import Struct

from dbdyno.model.json import always
from dbdyno.model.plan import Password

PREFERRED = "prefer"
"""TLS where the server has it: what the clients of all engines do where nobody says anything."""


class Tls(Struct, frozen=True, omit_defaults=True):
    """How a connection is encrypted, as dyno-loadgen takes it (contract/README.md)."""

    mode: str  # libpq's sslmode: "prefer", "require", "verify-ca" or "verify-full"
    root_certificate: str | None = always(None)  # a PEM file; None: the system's
    certificate: str | None = None  # the client's own, a PEM file
    key: str | None = None  # of the client's certificate, a PEM file without a passphrase
    direct: bool = False  # whether the first byte is TLS's, as PostgreSQL takes it from 17 on
    channel_binding: str = PREFERRED  # libpq's: "disable", "prefer" or "require"


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where a server answers.

    `host` that begins with `/` is a unix socket: its folder with PostgreSQL, its file with MySQL.
    """

    host: str
    port: int
    user: str
    database: str
    password: Password | None = None
    tls: Tls | None = None  # None: the connection is not encrypted
    ip: str | None = None  # what the host's name stands for; None: it is looked up each time
    options: str | None = None  # libpq's: settings of each session from its start on
    session: str = "any"  # libpq's target_session_attrs: what the server has to be
    places: tuple[tuple[str, int], ...] = ()  # hosts and ports of which one is meant; empty: this
