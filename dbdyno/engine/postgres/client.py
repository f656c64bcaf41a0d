"""How a PostgreSQL is asked, wherever it runs (engine.interface.Client)."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from dbdyno.engine import interface
from dbdyno.engine.inquiry import Inquirer
from dbdyno.engine.postgres import (
    cache_warming,
    connection,
    facts,
    follower,
    inquiry,
    probe,
    rights,
    status,
)
from dbdyno.engine.postgres.limits import LIMITS, PostgresLimits
from dbdyno.engine.postgres.wait_connection import PostgresWaitConnection
from dbdyno.engine.rights import Need, UnmetNeed, needed
from dbdyno.engine.snapshot import SnapshotSubject
from dbdyno.engine.status import Status
from dbdyno.engine.wait_sampler import SessionSampler
from dbdyno.model import Address, Observation
from dbdyno.model.engine import Capability
from dbdyno.model.job import Job
from dbdyno.model.server_facts import ServerFacts
from dbdyno.model.server_status import IndexStatistics
from dbdyno.model.snapshot import Snapshot
from dbdyno.model.step_files import CacheWarming

SQL = interface.TableSql(
    rows="SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass('{table}')",
    comments="SELECT name, obj_description(to_regclass(name), 'pg_class') "
    "FROM unnest(ARRAY[{names}]) AS name WHERE to_regclass(name) IS NOT NULL",
    set_comment="COMMENT ON TABLE {table} IS {comment}",
)


@dataclass(frozen=True)
class PostgresClient:
    """SQL, version and facts of servers of one engine of this family."""

    engine: str
    threads: bool = False
    settle_s: float = probe.SETTLE_S
    sql: interface.TableSql = SQL
    limits: PostgresLimits = LIMITS

    def execute(
        self, address: Address, statements: Sequence[str], limit_s: float
    ) -> list[tuple[Any, ...]]:
        """Runs statements, each in a transaction of its own; the rows of the last one."""
        return connection.execute(address, statements, limit_s)

    def told(self, execute: interface.Executor) -> tuple[str, int, str]:
        """Its version; who speaks its protocol is taken for what the plan says that it is."""
        ((text,),) = execute("SHOW server_version_num")
        return self.engine, int(text), text

    def facts(self, execute: interface.Executor) -> ServerFacts:
        """The part of server.json that the server itself knows. Raises ServerError."""
        return facts.ask(execute, self.engine)

    def encryption(self, address: Address) -> str | None:
        """How a connection is encrypted; None: not at all. Raises ServerError."""
        return connection.encryption(address)

    def has(self, what: Capability, execute: interface.Executor) -> bool:
        """Whether the server offers the extension that something needs. Raises ServerError."""
        if what != "prewarm":
            return True
        extension = cache_warming.EXTENSION
        return bool(execute(f"SELECT 1 FROM pg_available_extensions WHERE name = '{extension}'"))

    def warm_up(self, how: str | Sequence[str], execute: interface.Executor) -> CacheWarming:
        """Reads all tables and indexes, or these; `warm` of done.json. Raises ServerError."""
        return cache_warming.warm(how, execute)

    def checkpoint(self, execute: interface.Executor) -> None:
        """Writes what is dirty in shared_buffers to the files. Raises ServerError."""
        execute("CHECKPOINT", limit_s=interface.CHECKPOINT_S_MAX)

    def snapshot(self, when: interface.Moment, subject: SnapshotSubject) -> Snapshot:
        """before.json or after.json. Raises ServerError only where it cannot connect."""
        return probe.before(subject) if when == "before" else probe.after(subject)

    def needed(self, sql: str) -> Need | None:
        """The right that a statement needs; None: every user may run it."""
        return needed(sql, rights.NEEDED)

    def lack(self, need: Need, execute: interface.Executor) -> UnmetNeed | None:
        """The right that the user lacks for a need; None: the user has it. Raises ServerError."""
        return rights.lack(need, execute)

    def no_waits(self, execute: interface.Executor) -> str | None:
        """None: every server tells what its sessions wait for."""
        return None

    def unsuited(self, address: Address) -> str | None:
        """Why the server at an address is not the one that is meant. Raises ServerError."""

        def ask(*statements: str, limit_s: float = 600.0) -> list[tuple[Any, ...]]:
            return self.execute(address, statements, limit_s)

        return follower.unsuited(address.session, ask)

    def unfit(self, primary: interface.Executor, endpoint: interface.Executor) -> str | None:
        """Why the server at an endpoint does not follow the primary; None where it does."""
        return follower.unfit(primary, endpoint)

    def log_end(self, execute: interface.Executor) -> str | None:
        """Where its write-ahead log ends now. Raises ServerError."""
        return follower.log_end(execute, self.told(execute)[1])

    def follower(self, address: Address, name: str) -> interface.Follower | None:
        """The standby at an endpoint, connected. Raises ServerError."""
        return follower.PostgresFollower(address, name)

    def waits(
        self, address: Address, job: Job, observe: Observation, write: interface.Write
    ) -> SessionSampler:
        """A sampler of waits, connected. Raises ServerError where it cannot connect."""
        asked = PostgresWaitConnection(address, each=observe.waits_sessions)
        return SessionSampler(asked, job, observe, write)

    def status(self, address: Address) -> Status:
        """The questions for the server's own state, connected. Raises ServerError."""
        return status.connected(address)

    def inquiry(self, address: Address) -> AbstractContextManager[Inquirer]:
        """A session that asks an application's queries. Raises ServerError."""
        return inquiry.connected(address)

    def indexes(self, execute: interface.Executor, tables: Sequence[str]) -> IndexStatistics:
        """pgstatindex of each B-tree of these tables. Raises ServerError."""
        return status.indexes(execute, tables)
