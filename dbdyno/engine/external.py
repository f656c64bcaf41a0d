"""A server that runs elsewhere: a managed service, another host. The lab neither starts nor stops
it.

Facts that only its host could tell (processes, files, logs) are marked as unavailable; everything
that SQL tells is there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from msgspec import structs

from dbdyno.engine import connection, dsn
from dbdyno.engine.interface import BY_SOCKET, OPEN, Client, Executor, Follower, HostSampler
from dbdyno.host.observe.sampler import ReadingSink, Sampler
from dbdyno.model import Address, Arm, Json, can, engine, version
from dbdyno.model.engine import Capability
from dbdyno.model.error import PlanError, ServerError
from dbdyno.model.host_facts import Storage
from dbdyno.model.server_facts import ServerFacts
from dbdyno.model.standby_lag import StandbyLag


class ExternalServer:
    """The server of an arm with a DSN. Its methods raise ServerError, which names the arm."""

    remote = True
    made = None
    keeper = None
    entrance = None
    plants = None

    def __init__(self, arm: Arm, client: Client) -> None:
        """Describes the server; nothing is asked yet. Raises PlanError for a bad DSN."""
        self.name = arm.name
        self.engine = arm.engine
        self.client = client
        self.drops_any = arm.allow_drop
        self._arm = arm
        try:
            self._written = dsn.address(arm)
        except PlanError as error:
            raise PlanError(f"arms.{arm.name}.dsn: {error}") from error
        self._reached: Address | None = None
        self.standbys = Endpoints(arm, client, self.execute) if arm.endpoints else None

    @property
    def _address(self) -> Address:
        """Its address with the one IP that all connect to. Raises ServerError."""
        if self._reached is None:
            with named(self._arm, "dsn"):
                self._reached = connection.reached(self._written, self.client.unsuited)
        return self._reached

    def setting(self, name: str) -> str | None:
        """None: the lab sets nothing there."""
        return None

    def check(self) -> None:
        """Looks whether it and its endpoints answer, and are what the arm says. Raises ServerError.

        An endpoint is a standby of it, as far as the engine tells.
        """
        self.version_num()
        if self.standbys is not None:
            self.standbys.check()

    def version_num(self) -> int:
        """The server's version, as Build.version_num has it. Raises ServerError."""
        name, number, text = self.client.told(self.execute)
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
        return can(self._arm, what) and self.client.has(what, self.execute)

    def start(self) -> None:
        """Looks whether the server, which runs already, still answers. Raises ServerError."""
        self.check()

    def facts(self) -> ServerFacts:
        """server.json: what SQL tells."""
        return structs.replace(
            self.client.facts(self.execute),
            preset={},
            external=f"{self._address.host}:{self._address.port}",
            encryption=self.encryption(),
        )

    def encryption(self) -> str:
        """How connections are encrypted, and where they are not, why. Raises ServerError."""
        with named(self._arm, "dsn"):
            found = self.client.encryption(self._address)
        if found is not None:
            return found
        if self._address.host.startswith("/"):
            return BY_SOCKET
        by_dsn = self._address.tls is None
        return OPEN + (", as the DSN says" if by_dsn else ": the server has no TLS")

    def address(self) -> Address | None:
        """Its address, as the DSN says; once somebody has asked it something, with its IP."""
        return self.load_address

    @property
    def load_address(self) -> Address:
        """The same: a DSN says how it is reached."""
        return self._reached or self._written

    def stop(self, crash: bool = False) -> None:
        """Ends dyno's own connections; the server is not the lab's to end."""
        if self.standbys is not None:
            self.standbys.close()

    def failure(self) -> str | None:
        """None: what goes wrong with it shows as errors of the step."""
        return None

    def execute(
        self, *statements: str, database: str | None = None, limit_s: float = 600.0
    ) -> list[tuple[Any, ...]]:
        """Runs statements, each in a transaction of its own; the rows of the last one."""
        address = replace(self._address, database=database or self._address.database)
        with named(self._arm, "dsn"):
            return self.client.execute(address, statements, limit_s)

    def create_database(self, name: str) -> None:
        """The tables are made in the DSN's own database, in place of those of the same names."""

    def use_database(self, name: str) -> None:
        """The DSN's own database is used."""

    def sampler(self, kept: ReadingSink, *, device: Storage | None, foreign: bool) -> HostSampler:
        """The sampler that reads /proc into `path`; the server's own device is elsewhere."""
        return Sampler(kept, device=None, server=None, foreign=foreign)


class Endpoints:
    """The places of the arm's further DSNs (engine.interface.Standbys). They run already."""

    pids: tuple[int, ...] = ()

    def __init__(self, arm: Arm, client: Client, primary: Executor) -> None:
        """Describes them; nothing is asked yet. `primary` asks the server that they follow."""
        self._arm, self._client, self._primary = arm, client, primary
        self._followers: dict[str, Follower] = {}
        self._reached: dict[str, Address] = {}

    def check(self) -> None:
        """Raises ServerError where one does not follow the server, as far as the engine tells."""
        for name, written in self.addresses().items():
            with named(self._arm, f"endpoints.{name}"):
                address = connection.reached(written, self._client.unsuited)
                self._reached[name] = address

                def ask(
                    *statements: str, limit_s: float = 600.0, address: Address = address
                ) -> list[tuple[Any, ...]]:
                    return self._client.execute(address, statements, limit_s)

                why = self._client.unfit(self._primary, ask)
                if why is not None:
                    raise ServerError(f"{why}, or remove the key")

    def join(self) -> list[Json]:
        """None is to be made."""
        return []

    def addresses(self) -> dict[str, Address]:
        """The addresses of all, by name."""
        written = {name: dsn.address(replace(self._arm, dsn=text))
                   for name, text in self._arm.endpoints.items()}  # fmt: skip
        return written | self._reached

    def log_end(self) -> str | None:
        """Where the server's log ends now. Raises ServerError."""
        return self._client.log_end(self._primary)

    def lag(self, end: str | None = None) -> list[StandbyLag]:
        """How far they are behind it, as far as the engine tells. Raises ServerError."""
        lags = []
        for name, address in self.addresses().items():
            with named(self._arm, f"endpoints.{name}"):
                try:
                    if name not in self._followers:
                        follower = self._client.follower(address, name)
                        if follower is None:
                            continue
                        self._followers[name] = follower
                    lags.append(self._followers[name].lag(end))
                except ServerError:
                    if name in self._followers:  # the next look connects anew
                        self._followers.pop(name).close()
                    raise
        return lags

    def close(self) -> None:
        """Ends the connections to them."""
        while self._followers:
            self._followers.popitem()[1].close()


@contextmanager
def named(arm: Arm, key: str) -> Iterator[None]:
    """Lets errors name the arm's key."""
    try:
        yield
    except ServerError as error:
        raise ServerError(f"arms.{arm.name}.{key}: {error}") from error
