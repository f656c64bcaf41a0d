"""How a MySQL or MariaDB is asked, wherever it runs (engine.interface.Client)."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from dbdyno.engine import interface
from dbdyno.engine.inquiry import Inquirer
from dbdyno.engine.mysql import (
    activity,
    buffer_pool,
    connection,
    facts,
    inquiry,
    instruments,
    probe,
    rights,
    status,
)
from dbdyno.engine.mysql.flavour import Flavour
from dbdyno.engine.mysql.limits import LIMITS, MysqlLimits
from dbdyno.engine.mysql.wait_connection import MysqlWaitConnection
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
    rows="SELECT table_rows FROM information_schema.tables "
    "WHERE table_schema = database() AND table_name = '{table}'",
    comments="SELECT table_name, table_comment FROM information_schema.tables "
    "WHERE table_schema = database() AND table_name IN ({names})",
    set_comment="ALTER TABLE {table} COMMENT = {comment}",
)


@dataclass(frozen=True)
class MysqlClient:
    """SQL, version and facts of servers of one engine of this family."""

    engine: str
    flavour: Flavour
    threads: bool = True
    settle_s: float = probe.SETTLE_S
    sql: interface.TableSql = SQL
    limits: MysqlLimits = LIMITS

    def execute(
        self, address: Address, statements: Sequence[str], limit_s: float
    ) -> list[tuple[Any, ...]]:
        """Runs statements, each in a transaction of its own; the rows of the last one."""
        return connection.execute(address, statements, limit_s)

    def told(self, execute: interface.Executor) -> tuple[str, int, str]:
        """Engine and version that a server says it is of. Raises ServerError."""
        ((text,),) = execute("SELECT version()")
        return *facts.told(text), text

    def facts(self, execute: interface.Executor) -> ServerFacts:
        """The part of server.json that the server itself knows. Raises ServerError."""
        return facts.ask(execute, self.engine, self.flavour)

    def encryption(self, address: Address) -> str | None:
        """How a connection is encrypted; None: not at all. Raises ServerError."""
        return connection.encryption(address)

    def has(self, what: Capability, execute: interface.Executor) -> bool:
        """The capabilities of the engine, which each of its servers has."""
        return True

    def warm_up(self, how: str | Sequence[str], execute: interface.Executor) -> CacheWarming:
        """Reads all indexes; `warm` of done.json. Raises ServerError."""
        return buffer_pool.warm(execute)

    def checkpoint(self, execute: interface.Executor) -> None:
        """Writes what is dirty in the buffer pool to the files. Raises ServerError."""
        buffer_pool.write_all(execute, interface.CHECKPOINT_S_MAX)

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
        """Why this server's sessions do not tell what they wait for; None where they do."""
        _, number, _ = self.told(execute)
        queries = (activity.sql(self.flavour.threads), self.flavour.row_locks, activity.BLOCKS)
        unfit = instruments.unfit(self.flavour, self.engine, number)
        return unfit or instruments.refused(execute, queries)

    def unsuited(self, address: Address) -> str | None:
        """None: its DSN names one place, and no more about it."""
        return None

    def unfit(self, primary: interface.Executor, endpoint: interface.Executor) -> str | None:
        """None where the endpoint answers: whom a replica follows an ordinary user may not see."""
        self.told(endpoint)
        return None

    def log_end(self, execute: interface.Executor) -> str | None:
        """None: an ordinary user may not see how far a replica is behind."""
        return None

    def follower(self, address: Address, name: str) -> interface.Follower | None:
        """None: an ordinary user may not see how far a replica is behind."""
        return None

    def waits(
        self, address: Address, job: Job, observe: Observation, write: interface.Write
    ) -> SessionSampler:
        """A sampler of waits, connected. Raises ServerError where it cannot connect."""
        return SessionSampler(MysqlWaitConnection(address, self.flavour), job, observe, write)

    def status(self, address: Address) -> Status:
        """The questions for the server's own state, connected. Raises ServerError."""
        return status.connected(address, self.flavour)

    def inquiry(self, address: Address) -> AbstractContextManager[Inquirer]:
        """A session that asks an application's queries. Raises ServerError."""
        return inquiry.connected(address)

    def indexes(self, execute: interface.Executor, tables: Sequence[str]) -> IndexStatistics:
        """None: an index of InnoDB tells no state of its pages but by reading the table."""
        return IndexStatistics(unavailable="only PostgreSQL has pgstatindex")
