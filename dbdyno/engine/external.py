"""A server that runs elsewhere: a managed service, another host. The lab neither starts nor stops
it.

Facts that only its host could tell (processes, files, logs) are marked as unavailable; everything
that SQL tells is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dbdyno.engine import dsn
from dbdyno.engine.by_sql import BySql
from dbdyno.engine.interface import (
    BY_SOCKET,
    OPEN,
    Client,
    Follower,
    HostSampler,
)
from dbdyno.engine.unmanaged import Unseen
from dbdyno.host.observe.device import Device
from dbdyno.host.observe.sampler import Sampler
from dbdyno.model import Address, Arm, Json, can, engine, version
from dbdyno.model.engine import Capability
from dbdyno.model.error import PlanError, ServerError
from dbdyno.model.standby_lag import StandbyLag

LOCAL_ONLY = ("data_dir", "user", "initdb_s", "copy_s", "start_s", "base_dir", "flags")
"""Keys of server.json that a server elsewhere does not have."""


class ExternalServer(BySql, Unseen):
    """The server of an arm with a DSN. Its methods raise ServerError, which names the arm."""

    remote = True

    def __init__(self, arm: Arm, client: Client) -> None:
        """Describes the server; nothing is asked yet. Raises PlanError for a bad DSN."""
        super().__init__(arm, client)
        self._followers: dict[str, Follower] = {}
        self.drops_any = arm.allow_drop
        try:
            self._address = dsn.address(arm)
        except PlanError as error:
            raise PlanError(f"arms.{arm.name}.dsn: {error}") from error

    def setting(self, name: str) -> str | None:
        """None: the lab sets nothing there."""
        return None

    def check(self) -> None:
        """Looks whether it and its endpoints answer, and are what the arm says. Raises ServerError.

        An endpoint is a standby of it, as far as the engine tells.
        """
        self.version_num()
        for name, address in self.endpoints().items():
            with self._named(f"endpoints.{name}"):
                ask = partial(self._ask, address)
                why = self._client.unfit(partial(self._ask, self._address), ask)
                if why is not None:
                    raise ServerError(f"{why}, or remove the key")

    def version_num(self) -> int:
        """The server's version, as Build.version_num has it. Raises ServerError."""
        name, number, text = self._client.told(self.execute)
        if name not in (self.engine, engine.of(self.engine).job):
            raise ServerError(
                f"arms.{self.name}.dsn: the server is {engine.of(name).product} {text}: write "
                f'engine = "{name}"'
            )
        return number

    def release(self) -> version.Version:
        """The series that features come with, as Build.release has it. Raises ServerError."""
        return version.release_of(self.engine, self.version_num())

    def can(self, what: Capability) -> bool:
        """As `can` of its arm, less what the server lacks. Raises ServerError."""
        return can(self._arm, what) and self._client.has(what, self.execute)

    def start(self) -> None:
        """Looks whether the server, which runs already, still answers. Raises ServerError."""
        self.check()

    def facts(self) -> Json:
        """server.json: what SQL tells."""
        return (
            self._client.facts(self.execute)
            | dict.fromkeys(LOCAL_ONLY)
            | {
                "config": None,
                "preset": {},
                "departures": [],
                "external": f"{self._address.host}:{self._address.port}",
                "encryption": self.encryption(),
            }
        )

    def encryption(self) -> str:
        """How connections are encrypted, and where they are not, why. Raises ServerError."""
        with self._named():
            found = self._client.encryption(self._address)
        if found is not None:
            return found
        if self._address.host.startswith("/"):
            return BY_SOCKET
        by_dsn = self._address.tls is None
        return OPEN + (", as the DSN says" if by_dsn else ": the server has no TLS")

    def address(self) -> Address | None:
        """Its address, as the DSN says."""
        return self._address

    @property
    def load_address(self) -> Address:
        """The same: a DSN says how it is reached."""
        return self._address

    def endpoints(self) -> dict[str, Address]:
        """The places of the arm's further DSNs, by name."""
        return {name: dsn.address(replace(self._arm, dsn=text))
                for name, text in self._arm.endpoints.items()}  # fmt: skip

    def log_end(self) -> str | None:
        """Where its log ends now, if an endpoint tells how far it is behind. Raises ServerError."""
        return self._client.log_end(self.execute) if self._arm.endpoints else None

    def lag(self, end: str | None = None) -> list[StandbyLag]:
        """How far the endpoints are behind it, as far as the engine tells. Raises ServerError."""
        lags = []
        for name, address in self.endpoints().items():
            with self._named(f"endpoints.{name}"):
                try:
                    if name not in self._followers:
                        follower = self._client.follower(address, name)
                        if follower is None:
                            continue
                        self._followers[name] = follower
                    lags.append(self._followers[name].lag(end))
                except ServerError:
                    self._forget(name)
                    raise
        return lags

    def _forget(self, name: str) -> None:
        """Ends the connection to an endpoint, if there is one; the next look makes it anew."""
        follower = self._followers.pop(name, None)
        if follower is not None:
            follower.close()

    def stop(self, crash: bool = False) -> None:
        """Ends dyno's own connections; the server is not the lab's to end."""
        for name in list(self._followers):
            self._forget(name)

    def execute(
        self, *statements: str, database: str | None = None, limit_s: float = 600.0
    ) -> list[tuple[Any, ...]]:
        """Runs statements, each in a transaction of its own; the rows of the last one."""
        address = replace(self._address, database=database or self._address.database)
        with self._named():
            return self._ask(address, *statements, limit_s=limit_s)

    def _ask(
        self, address: Address, *statements: str, limit_s: float = 600.0
    ) -> list[tuple[Any, ...]]:
        """Runs statements somewhere of the arm's (engine.interface.Execute)."""
        return self._client.execute(address, statements, limit_s)

    def create_database(self, name: str) -> None:
        """The tables are made in the DSN's own database, in place of those of the same names."""

    def use_database(self, name: str) -> None:
        """The DSN's own database is used."""

    def sampler(self, path: Path, *, device: Device | None, foreign: bool) -> HostSampler:
        """The sampler that reads /proc into `path`; the server's own device is elsewhere."""
        return Sampler(path, device=None, server=self, foreign=foreign)

    @contextmanager
    def _named(self, key: str = "dsn") -> Iterator[None]:
        """Lets errors name the arm's key."""
        try:
            yield
        except ServerError as error:
            raise ServerError(f"arms.{self.name}.{key}: {error}") from error
