"""Where a server answers, and where the password for it is to be found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dbdyno.model.plan import Password


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
    # libpq's sslmode: "prefer", "require", "verify-ca", "verify-full"; None: no TLS.
    tls: str | None = None
    tls_root: Path | None = None  # the certificates that are trusted; None: the system's
