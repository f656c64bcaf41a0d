"""A job's `server`: where it answers, as dyno-loadgen takes it (contract/README.md)."""

from __future__ import annotations

from msgspec import Struct

from dbdyno.model.address import Address, Tls
from dbdyno.model.json import always, turned


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
        return turned(address, cls)

    @property
    def address(self) -> Address:
        """The address of which `of` made the server."""
        return turned(self, Address)
