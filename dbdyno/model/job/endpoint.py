"""A job's `server`: where it answers, as dyno-loadgen takes it (contract/README.md)."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from dbdyno.model.address import Address, Tls
from dbdyno.model.json import always
from dbdyno.model.plan import Password


class PasswordPlace(Struct, frozen=True, omit_defaults=True):
    """The place of a password: an environment variable, or a file in libpq's format."""

    env: str | None = None
    passfile: str | None = None
    insecure: bool = False  # whether it may be sent so that others on the way can learn it


class Endpoint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a server answers."""

    host: str
    ip: str | None = None
    port: int
    user: str
    database: str
    options: str | None = None
    password: PasswordPlace | None = always(None)
    tls: Tls | None = always(None)

    @classmethod
    def of(cls, address: Address) -> Endpoint:
        """The server at an address."""
        password = address.password
        return cls(
            host=address.host,
            ip=address.ip,
            port=address.port,
            user=address.user,
            database=address.database,
            options=address.options,
            password=None
            if password is None
            else PasswordPlace(
                env=password.env,
                passfile=None if password.passfile is None else str(password.passfile),
                insecure=password.insecure,
            ),
            tls=address.tls,
        )

    @property
    def address(self) -> Address:
        """The address of which `of` made the server."""
        password = self.password
        return Address(
            host=self.host,
            ip=self.ip,
            port=self.port,
            user=self.user,
            database=self.database,
            options=self.options,
            password=None
            if password is None
            else Password(
                env=password.env,
                passfile=None if password.passfile is None else Path(password.passfile),
                insecure=password.insecure,
            ),
            tls=self.tls,
        )
