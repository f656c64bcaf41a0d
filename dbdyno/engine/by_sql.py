"""The common part of servers that are asked by SQL, here or elsewhere: their client does it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from dbdyno.engine.interface import Client, Moment, WaitSampler, Write, part_of
from dbdyno.engine.rights import Lack, Need
from dbdyno.engine.snapshot import Subject
from dbdyno.model import Address, Arm, Json, Observe
from dbdyno.model.error import ServerError
from dbdyno.model.job import server_json


class BySql(ABC):
    """A server of an arm that has a client; where it answers, and SQL for set-up, it says itself.

    Methods raise ServerError.
    """

    planted: tuple[tuple[str, str], ...] = ()

    def __init__(self, arm: Arm, client: Client) -> None:
        self.name = arm.name
        self.engine = arm.engine
        self.threads, self.settle_s, self.sql = client.threads, client.settle_s, client.sql
        self._arm = arm
        self._client = client

    @abstractmethod
    def address(self) -> Address | None:
        """Its address (engine.interface.Server)."""

    @property
    @abstractmethod
    def load_address(self) -> Address | None:
        """Where the load connects (engine.interface.Server)."""

    @abstractmethod
    def execute(
        self, *statements: str, database: str | None = None, limit_s: float = 600.0
    ) -> list[tuple[Any, ...]]:
        """Runs SQL for set-up (engine.interface.Server)."""

    def job_part(self, job: Json) -> Json:
        """The `engine`, `server` and `endpoints` of a step's job (contract/README.md)."""
        part, there = part_of(self.engine, self.load_address), self.endpoints()
        wanted = {role["endpoint"]: role["name"] for role in job["roles"] if "endpoint" in role}
        for name, role in wanted.items():
            if name not in there:
                raise ServerError(
                    f"arm {self.name}: role `{role}` connects to `{name}`, which has not joined yet"
                )
        if not wanted:
            return part
        return part | {"endpoints": {name: server_json(there[name]) for name in wanted}}

    @abstractmethod
    def endpoints(self) -> dict[str, Address]:
        """Where roles can connect beside `address` (engine.interface.Server)."""

    def warm_up(self, how: str | Sequence[str]) -> Json:
        """Reads all tables and indexes, or these; `warm` of done.json."""
        return self._client.warm_up(how, self.execute)

    def checkpoint(self) -> None:
        """Writes what is dirty in the server's cache to its files."""
        self._client.checkpoint(self.execute)

    def snapshot(self, when: Moment, subject: Subject) -> Json | None:
        """before.json or after.json; fails only where it cannot connect."""
        return self._client.snapshot(when, subject)

    def needed(self, sql: str) -> Need | None:
        """The right that a statement needs; None: every user may run it."""
        return self._client.needed(sql)

    def lack(self, need: Need) -> Lack | None:
        """The right that the user lacks for a need; None: the user has it."""
        return self._client.lack(need, self.execute)

    def no_waits(self) -> str | None:
        """Why its sessions do not tell what they wait for; it has to answer."""
        return self._client.no_waits(self.execute)

    def waits(self, job: Json, observe: Observe, write: Write) -> WaitSampler | None:
        """A sampler of waits, connected; fails where it cannot connect."""
        address = self.address()
        assert address is not None
        return self._client.waits(address, job, observe, write)
