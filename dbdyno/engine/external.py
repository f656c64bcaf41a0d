"""A server that runs elsewhere: a managed service, another host. It is not started or stopped.

What only its host could tell (processes, files, logs) is not available, and is said to be so;
everything that SQL tells is there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dbdyno.builds import release_of
from dbdyno.engine import dsn
from dbdyno.engine.mysql import connection
from dbdyno.engine.mysql import facts as mysql_facts
from dbdyno.engine.postgres import connection as sql
from dbdyno.engine.postgres import facts
from dbdyno.engine.unmanaged import Unseen
from dbdyno.model import FAMILIES, PRODUCTS, Address, Arm, Json
from dbdyno.model.error import PlanError, ServerError

LOCAL_ONLY = ("data_dir", "user", "initdb_s", "copy_s", "start_s", "base_dir", "flags")
"""Keys of server.json that a server elsewhere does not have."""


class ExternalServer(Unseen):
    """The server of an arm with a DSN. Its methods raise ServerError, which names the arm."""

    job_fake: Json | None = None
    remote = True
    drops_any: bool

    def __init__(self, arm: Arm) -> None:
        """Describes the server; nothing is asked yet. Raises PlanError for a bad DSN."""
        self.name = arm.name
        self.engine = arm.engine
        self.threads = FAMILIES[arm.engine] == "mysql"
        self.drops_any = arm.allow_drop
        try:
            self._address = dsn.address(arm)
        except PlanError as error:
            raise PlanError(f"arms.{arm.name}.dsn: {error}") from error

    def setting(self, name: str) -> str | None:
        """None: the lab sets nothing there."""
        return None

    def check(self) -> None:
        """Looks whether it answers, and is of the arm's engine. Raises ServerError."""
        self.version_num()

    def version_num(self) -> int:
        """The server's version, as Build.version_num has it. Raises ServerError."""
        if self.engine == "postgres":
            ((text,),) = self.execute("SHOW server_version_num")
            return int(text)
        ((text,),) = self.execute("SELECT version()")
        engine, number = mysql_facts.told(text)
        if engine != self.engine:
            raise ServerError(
                f"arms.{self.name}.dsn: the server is {PRODUCTS[engine]} {text}: write "
                f'engine = "{engine}"'
            )
        return number

    def release(self) -> tuple[int, ...]:
        """The series that features come with, as Build.release has it. Raises ServerError."""
        return release_of(self.engine, self.version_num())

    def has_extension(self, name: str) -> bool:
        """Whether the server offers an extension of PostgreSQL. Raises ServerError."""
        if self.engine != "postgres":
            return False
        quoted = name.replace("'", "''")
        found = self.execute(f"SELECT 1 FROM pg_available_extensions WHERE name = '{quoted}'")
        return bool(found)

    def start(self) -> None:
        """It runs; looks whether it still answers. Raises ServerError."""
        self.check()

    def facts(self) -> Json:
        """server.json: what SQL tells."""
        told = mysql_facts.ask(self.execute, self.engine) if self.threads else None
        return (
            (told or facts.ask(self.execute))
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
        try:
            if self.threads:
                found = connection.encryption(self._address)
            else:
                found = sql.encryption(sql.Target(self._address, self._address.database))
        except ServerError as error:
            raise ServerError(f"arms.{self.name}.dsn: {error}") from error
        if found is not None:
            return found
        if self._address.host.startswith("/"):
            return facts.BY_SOCKET
        by_dsn = self._address.tls is None
        return facts.OPEN + (", as the DSN says" if by_dsn else ": the server has no TLS")

    def address(self, *, tcp: bool = False) -> Address | None:
        """Where it answers, as the DSN says."""
        return self._address

    def execute(
        self, *statements: str, database: str | None = None, limit_s: float = sql.LIMIT_S
    ) -> list[tuple[Any, ...]]:
        """Runs statements, each in a transaction of its own; the rows of the last one."""
        address = replace(self._address, database=database or self._address.database)
        try:
            if self.threads:
                return connection.execute(address, statements, limit_s)
            return sql.execute(sql.Target(address, address.database), statements, limit_s)
        except ServerError as error:
            raise ServerError(f"arms.{self.name}.dsn: {error}") from error

    def create_database(self, name: str) -> None:
        """The tables are made in the DSN's own database, in place of those of the same names."""

    def use_database(self, name: str) -> None:
        """The DSN's own database is used."""
