"""A job's `server`: where it answers, as dyno-loadgen takes it (contract/README.md)."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from dbdyno.model.address import Address
from dbdyno.model.json import always
from dbdyno.model.plan import Password


class PasswordPlace(Struct, frozen=True, omit_defaults=True):
    """The place of a password: an environment variable, or a file in libpq's format."""

    env: str | None = None
    passfile: str | None = None
    insecure: bool = False  # whether it may be sent so that others on the way can learn it


class Tls(Struct, frozen=True):
    """How a connection is encrypted."""

    mode: str  # libpq's sslmode
    root_certificate: str | None = None  # a PEM file; None: the system's


class Endpoint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a server answers."""

    host: str
    port: int
    user: str
    database: str
    password: PasswordPlace | None = always(None)
    tls: Tls | None = always(None)

    @classmethod
    def of(cls, address: Address) -> Endpoint:
        """The server at an address."""
        password, root = address.password, address.tls_root
        return cls(
            host=address.host,
            port=address.port,
            user=address.user,
            database=address.database,
            password=None
            if password is None
            else PasswordPlace(
                env=password.env,
                passfile=None if password.passfile is None else str(password.passfile),
                insecure=password.insecure,
            ),
            tls=None
            if address.tls is None
            else Tls(mode=address.tls, root_certificate=None if root is None else str(root)),
        )

    @property
    def address(self) -> Address:
        """The address of which `of` made the server."""
        password, tls = self.password, self.tls
        root = None if tls is None else tls.root_certificate
        return Address(
            host=self.host,
            port=self.port,
            user=self.user,
            database=self.database,
            password=None
            if password is None
            else Password(
                env=password.env,
                passfile=None if password.passfile is None else Path(password.passfile),
                insecure=password.insecure,
            ),
            tls=None if tls is None else tls.mode,
            tls_root=None if root is None else Path(root),
        )
