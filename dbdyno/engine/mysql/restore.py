"""Restores a dump of mysqldump, mariadb-dump or mydumper by the client of either server.

Nothing of it reaches others: replication does not begin, events do not fire, and a table that lies
on another server is refused.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dbdyno.builds import Build
from dbdyno.engine import restore as restores
from dbdyno.engine.mysql import connection, mydumper, shared_statistics
from dbdyno.engine.mysql.quoting import literal, named
from dbdyno.engine.restore import KEY, RESTORE_S_MAX, Session, Tool, without_values
from dbdyno.host.account import Account
from dbdyno.model import Address
from dbdyno.model.error import PlanError, ServerError
from dbdyno.model.job.external import Restore

CLIENTS = ("mariadb", "mysql")
VARIABLE = "DYNO_MYSQL_CLIENTS"
HEAD_BYTES, KEY_DIGITS, FORM_OF_RESTORE = 8192, 24, 2
GZIP = b"\x1f\x8b"
MARK = re.compile(rb"^-- (MySQL|MariaDB) dump ", re.MULTILINE)
OWN_DATABASE = re.compile(rb"^(CREATE DATABASE |USE `)")
USE = re.compile(rb"^USE `(?P<name>(?:[^`]|``)+)`;")
OUTWARD = re.compile(
    rb"^(SET @@GLOBAL\.GTID_PURGED|SET GLOBAL gtid_slave_pos|CHANGE (MASTER|REPLICATION) |"
    rb"(START|STOP) (SLAVE|REPLICA|ALL SLAVES))",
    re.IGNORECASE,
)
"""How statements begin that would make the server follow another."""
SANDBOX = re.compile(rb"^/\*M?!999999")
"""A word to the newest clients of MariaDB that others refuse."""
ELSEWHERE = re.compile(rb"^\).*ENGINE=(?P<name>FEDERATED|CONNECT|SPIDER)\b", re.IGNORECASE)
DEFINER = re.compile(rb"DEFINER=`(?P<user>[^`]*)`@`(?P<host>[^`]*)`")
ROWS = (b"INSERT INTO ", b"(", b"REPLACE INTO ")
END = re.compile(rb";\s*$")
TABLES = """
    SELECT CONCAT('ANALYZE TABLE `', REPLACE(table_name, '`', '``'), '`')
    FROM information_schema.tables
    WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'
"""
EVENTS = """
    SELECT CONCAT('ALTER EVENT `', REPLACE(event_name, '`', '``'), '` DISABLE')
    FROM information_schema.events WHERE event_schema = DATABASE()
"""
NO_EVENTS = "SET GLOBAL event_scheduler = OFF"

Definer = tuple[str, str]
"""A user and the host from which it comes."""


@dataclass(frozen=True)
class MysqlRestorer:
    """How databases of MySQL and MariaDB come from dumps."""

    programs: Sequence[str] = CLIENTS
    variable: str = VARIABLE

    def read(self, wish: Restore, paths: Iterable[Path]) -> MysqlDump:
        """Looks into a dump. Raises PlanError."""
        path = Path(wish.path)
        if path.is_dir() and not mydumper.is_one(path):
            raise PlanError(
                f"{KEY}: `{path}` is no folder by mydumper: name one, or a file by mysqldump"
            )
        tools = restores.tools(CLIENTS, paths, VARIABLE)
        if not tools:
            raise PlanError(
                f"{KEY}: there is no `mysql` and no `mariadb` on this host: install the client, or "
                f"name its folder in {VARIABLE}"
            )
        try:
            if path.is_dir():
                mydumper.refuse(path)
                definers = definers_of(mydumper.definitions(path), path)
            else:
                refuse_unmarked(path)
                definers = definers_of(lines_of(path), path)
        except (OSError, EOFError) as error:
            cause = error if isinstance(error, OSError) else OSError(*error.args)
            raise restores.unreadable(path, cause) from error
        return MysqlDump(
            path=path,
            tool=tools[0],
            sha256=restores.sha256(path),
            definers=definers,
            wish=wish,
        )


def refuse_unmarked(path: Path) -> None:
    """Raises PlanError where a file is no dump of either program."""
    with opened(path) as stream:
        if MARK.search(stream.read(HEAD_BYTES)) is None:
            raise PlanError(f"{KEY}: `{path}` is no dump by mysqldump or mariadb-dump")


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a dump in one file. Raises OSError, EOFError."""
    with opened(path) as stream:
        yield from stream


def opened(path: Path) -> IO[bytes]:
    """A dump to be read, also a packed one."""
    with path.open("rb") as stream:
        packed = stream.read(len(GZIP)) == GZIP
    return gzip.open(path) if packed else path.open("rb")  # type: ignore[return-value]


def definers_of(lines: Iterable[bytes], path: Path) -> tuple[Definer, ...]:
    """The users that own what a dump makes.

    Raises PlanError where it has several databases, or a table that lies on another server.
    """
    definers: dict[Definer, None] = {}
    databases: set[bytes] = set()
    for line in lines:
        if line.startswith(ROWS):
            continue
        if match := USE.match(line):
            databases.add(match.group("name"))
        elif match := ELSEWHERE.match(line):
            raise PlanError(
                f"{KEY}: `{path}` has a table of the engine {match.group('name').decode()}, which "
                "reads another server: dump without it (--ignore-table)"
            )
        for match in DEFINER.finditer(line):
            definers[match.group("user").decode(), match.group("host").decode()] = None
    if len(databases) > 1:
        raise PlanError(
            f"{KEY}: `{path}` has {len(databases)} databases: dump the one that is raced"
        )
    return tuple(definers)


def taken(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a dump that are restored, into whichever database the client has."""
    dropped = False
    for line in lines:
        if not dropped and not line.startswith(ROWS):
            dropped = OUTWARD.match(line) is not None
            if SANDBOX.match(line) or OWN_DATABASE.match(line):
                continue
        if dropped:
            dropped = END.search(line) is None
            continue
        yield line


@dataclass(frozen=True, kw_only=True)
class MysqlDump:
    """A dump that was looked into (engine.restore.Restoring)."""

    path: Path
    tool: Tool
    sha256: str
    definers: tuple[Definer, ...]
    wish: Restore

    @property
    def version(self) -> str:
        """A hash of the dump's content, how it is restored, and the client's version."""
        return f"{self.tool.path.name} {self.tool.version}, dump {self.content}"

    @property
    def content(self) -> str:
        """A hash of the dump's content and of how it is restored."""
        how = f"{FORM_OF_RESTORE} {self.sha256} {self.wish.encoding} {self.wish.locale}"
        return hashlib.sha256(how.encode()).hexdigest()[:KEY_DIGITS]

    def refuse_unfit(self, build: Build, account: Account, arm: str) -> None:
        """Nothing is known beforehand of what a server lacks: it says so itself."""

    def carry_out(
        self, address: Address, session: Session, statistics: Path | None = None
    ) -> list[str]:
        """Makes the database anew from the dump; returns what was left out. Raises ServerError."""
        name = named(address.database)
        sets = f" CHARACTER SET {literal(self.wish.encoding)}" if self.wish.encoding else ""
        sorts = f" COLLATE {literal(self.wish.locale)}" if self.wish.locale else ""
        statements = [NO_EVENTS, f"DROP DATABASE IF EXISTS {name}"]
        statements += [f"CREATE DATABASE {name}{sets}{sorts}"]
        connection.execute(home(address), statements, RESTORE_S_MAX)
        self._make_definers(address)
        words: list[str | Path] = [self.tool.path, "--no-defaults", "--batch"]
        words += [f"--socket={address.host}", f"--user={address.user}", "--binary-mode"]
        words += ["--default-character-set=utf8mb4", address.database]
        whole = mydumper.lines(self.path) if self.path.is_dir() else lines_of(self.path)
        status, said = session.run(
            words,
            restores.ENVIRONMENT,
            lines=readable(taken(whole), self.path),
            owner=os.stat(Path(address.host).parent),  # a dump may have commands
        )
        if status != 0:
            errors = [line for line in said if "ERROR" in line]
            words_of = without_values(errors[0]) if errors else f"the client's status is {status}"
            raise ServerError(f"`{self.path}` cannot be restored: {words_of}: dump it again")
        for question in (EVENTS, TABLES):
            rows = connection.execute(address, [question], RESTORE_S_MAX)
            if commands := [str(command) for (command,) in rows]:
                connection.execute(address, commands, RESTORE_S_MAX)
        if statistics is not None and (count := shared_statistics.share(address, statistics)):
            return [f"statistics of {count:,} tables and prefixes are the server's own"]
        return []

    def _make_definers(self, address: Address) -> None:
        """The users that own views, triggers and routines, which nobody can be."""
        rows = connection.execute(
            home(address), ["SELECT user, host FROM mysql.user"], RESTORE_S_MAX
        )
        there = {(as_text(user), as_text(host)) for user, host in rows}
        statements = []
        for user, host in self.definers:
            if (user, host) not in there:
                who = f"{literal(user)}@{literal(host)}"
                statements += [
                    f"CREATE USER {who} IDENTIFIED BY '{secrets.token_hex(32)}'",
                    f"GRANT ALL ON {named(address.database)}.* TO {who}",
                ]
        if statements:
            connection.execute(home(address), statements, RESTORE_S_MAX)


def readable(lines: Iterator[bytes], path: Path) -> Iterator[bytes]:
    """The lines. Raises ServerError where a packed dump ends too early."""
    try:
        yield from lines
    except (OSError, EOFError) as error:
        raise ServerError(f"`{path}` cannot be restored: {error}: dump it again") from error


def home(address: Address) -> Address:
    """The same server, with the database that each has."""
    return Address(host=address.host, port=address.port, user=address.user, database="mysql")


def as_text(value: object) -> str:
    """A name as a server tells it, in bytes or as a text."""
    return value.decode() if isinstance(value, bytes) else str(value)
