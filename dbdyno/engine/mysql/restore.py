"""Restores a dump of mysqldump, mariadb-dump or mydumper by the client of either server.

Nothing of it reaches others: replication does not begin, events do not fire, and a table that lies
on another server is refused.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from dbdyno.builds import Build
from dbdyno.engine import restore as restores
from dbdyno.engine.mysql import connection, mydumper, shared_statistics
from dbdyno.engine.mysql.collations import substitutes
from dbdyno.engine.mysql.quoting import literal, named
from dbdyno.engine.mysql.sections import ROWS, DumpExclusions, DumpNames, MysqlFeed, words_of
from dbdyno.engine.restore import (
    KEY,
    RESTORE_S_MAX,
    SAID_CHARACTERS_MAX,
    ClientPrograms,
    Tool,
    without_values,
)
from dbdyno.host.account import Account
from dbdyno.model import Address
from dbdyno.model.error import PlanError, ServerError
from dbdyno.model.job.external import Restore

CLIENTS = ("mariadb", "mysql")
VARIABLE = "DYNO_MYSQL_CLIENTS"
KEY_DIGITS, FORM_OF_RESTORE = 24, 3
MARK = re.compile(rb"^-- (MySQL|MariaDB) dump ", re.MULTILINE)
COMPLETE = "-- Dump completed"
USE = re.compile(rb"^USE `(?P<name>(?:[^`]|``)+)`;")
ELSEWHERE = re.compile(rb"^\).*ENGINE=(?P<name>FEDERATED|CONNECT|SPIDER)\b", re.IGNORECASE)
DEFINER = re.compile(rb"DEFINER=`(?P<user>[^`]*)`@`(?P<host>[^`]*)`")
TOLD = re.compile(r"^ERROR (?P<code>\d+)(?: \(\w+\))?(?: at line (?P<line>\d+))?.*?: (?P<said>.*)")
OF_NAMES = frozenset(
    {1005, 1049, 1054, 1060, 1061, 1067, 1071, 1115, 1118, 1128, 1146, 1193, 1215, 1227, 1231}
    | {1273, 1286, 1305, 1906, 1911, 3105, 3780, 4161}
)
"""Errors whose messages quote nothing but names."""
INNODB = "at the source give the table ENGINE = InnoDB (ALTER TABLE) and dump again"
CURES = (
    (1286, "", INNODB),
    (1064, "PAGE_CHECKSUM|TRANSACTIONAL", INNODB),
    (
        1273,
        "",
        "at the source give it another collation (ALTER TABLE … CONVERT TO CHARACTER SET utf8mb4 "
        "COLLATE utf8mb4_unicode_ci) and dump again",
    ),
)
"""What was tried and cures an error, by its number and its words."""
NO_TLS = {True: "--loose-skip-ssl", False: "--loose-ssl-mode=DISABLED"}
"""Over a socket of the lab's own nobody listens, and a server may have no TLS; by MariaDB's client,
or MySQL's."""
KNOWN = "SHOW GLOBAL VARIABLES", "SHOW SESSION VARIABLES"
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

NO_WORDS = DumpNames()

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
                contents = contents_of(mydumper.definitions(path), path)
                contents = replace(contents, dumped=mydumper.dumped(path), complete=True)
            else:
                refuse_unmarked(path)
                contents = contents_of(lines_of(path), path)
        except restores.BROKEN as error:
            raise restores.unreadable(path, error) from error
        if not contents.complete:
            raise PlanError(f"{KEY}: `{path}` breaks off before its end: dump it again")
        return MysqlDump(
            path=path,
            tools=tuple(tools),
            sha256=restores.sha256(path),
            contents=contents,
            wish=wish,
        )


@dataclass(frozen=True, kw_only=True)
class MysqlDumpContents:
    """What the statements of a dump say beside the rows."""

    definers: tuple[Definer, ...] = ()
    words: DumpNames = NO_WORDS
    dumped: str | None = None  # when it was made
    complete: bool = False  # whether it has an end


def refuse_unmarked(path: Path) -> None:
    """Raises PlanError where a file is no dump of either program."""
    if MARK.search(restores.head(path)) is None:
        raise PlanError(f"{KEY}: `{path}` is no dump by mysqldump or mariadb-dump")


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a dump in one file. Raises OSError, EOFError."""
    with restores.opened(path) as stream:
        yield from stream


def contents_of(lines: Iterable[bytes], path: Path) -> MysqlDumpContents:
    """What a dump says beside the rows.

    Raises PlanError where it has several databases, or a table that lies on another server.
    """
    definers: dict[Definer, None] = {}
    databases: set[bytes] = set()
    every: set[DumpNames] = set()
    dumped, complete = None, False
    for line in lines:
        if line.startswith(ROWS):
            continue
        if line.startswith(b"-- "):
            text = line.decode(errors="replace")
            dumped, complete = (
                restores.moment(text) or dumped,
                complete or text.startswith(COMPLETE),
            )
        elif match := USE.match(line):
            databases.add(match.group("name"))
        elif match := ELSEWHERE.match(line):
            raise PlanError(
                f"{KEY}: `{path}` has a table of the engine {match.group('name').decode()}, which "
                "reads another server: dump without it (--ignore-table)"
            )
        every.add(words_of(line))
        for match in DEFINER.finditer(line):
            definers[match.group("user").decode(), match.group("host").decode()] = None
    if len(databases) > 1:
        raise PlanError(
            f"{KEY}: `{path}` has {len(databases)} databases: dump the one that is raced"
        )
    return MysqlDumpContents(
        definers=tuple(definers),
        words=DumpNames(
            variables=frozenset().union(*(words.variables for words in every)),
            modes=frozenset().union(*(words.modes for words in every)),
            collations=frozenset().union(*(words.collations for words in every)),
        ),
        dumped=dumped,
        complete=complete,
    )


@dataclass(frozen=True, kw_only=True)
class MysqlDump:
    """A dump that was looked into (engine.restore.DumpRestore)."""

    path: Path
    tools: tuple[Tool, ...]  # the newest first
    sha256: str
    contents: MysqlDumpContents
    wish: Restore

    @property
    def version(self) -> str:
        """A hash of the dump's content, how it is restored, and the client's version."""
        return f"{self.tools[0].path.name} {self.tools[0].version}, dump {self.content}"

    @property
    def content(self) -> str:
        """A hash of the dump's content and of how it is restored."""
        how = f"{FORM_OF_RESTORE} {self.sha256} {self.wish.encoding} {self.wish.locale}"
        return hashlib.sha256(how.encode()).hexdigest()[:KEY_DIGITS]

    @property
    def dumped(self) -> str | None:
        """When the dump was made, in ISO 8601, where it says so."""
        return self.contents.dumped

    def refuse_unfit(self, build: Build, account: Account, arm: str) -> None:
        """Nothing is known beforehand of what a server lacks: it says so itself."""

    def carry_out(
        self, address: Address, session: ClientPrograms, statistics: Path | None = None
    ) -> list[str]:
        """Makes the database anew from the dump; returns what was left out. Raises ServerError."""
        name = named(address.database)
        sets = f" CHARACTER SET {literal(self.wish.encoding)}" if self.wish.encoding else ""
        sorts = f" COLLATE {literal(self.wish.locale)}" if self.wish.locale else ""
        statements = [NO_EVENTS, f"DROP DATABASE IF EXISTS {name}"]
        statements += [f"CREATE DATABASE {name}{sets}{sorts}"]
        connection.execute(home(address), statements, RESTORE_S_MAX)
        self._make_definers(address)
        taking = self._taking(address)
        feed = MysqlFeed(taking)
        whole = mydumper.lines(self.path) if self.path.is_dir() else lines_of(self.path)
        words = self._client(address, session)
        lines = feed.lines(restores.readable(whole, self.path))
        status, said = session.run(words, restores.ENVIRONMENT, lines=lines, owner=owner(address))
        if status != 0:
            raise ServerError(f"`{self.path}` cannot be restored: {complaint(said, feed, status)}")
        for question in (EVENTS, TABLES):
            rows = connection.execute(address, [question], RESTORE_S_MAX)
            if commands := [str(command) for (command,) in rows]:
                connection.execute(address, commands, RESTORE_S_MAX)
        lacks = [
            f"collation `{name}` is `{other}` here: the server does not have it"
            for name, other in taking.collations.items()
        ]
        if statistics is not None and (count := shared_statistics.share(address, statistics)):
            lacks.append(f"statistics of {count:,} tables and prefixes are the server's own")
        return lacks

    def _client(self, address: Address, session: ClientPrograms) -> list[str | Path]:
        """The newest client that the server lets in, which not each build can be; with options.

        Raises ServerError with what the newest says where none is.
        """
        refusals = []
        for tool in self.tools:
            words: list[str | Path] = [tool.path, "--no-defaults", "--batch", "--binary-mode"]
            words += [NO_TLS["MariaDB" in tool.said], f"--socket={address.host}"]
            words += [f"--user={address.user}", "--default-character-set=utf8mb4", address.database]
            status, said = session.run(
                words, restores.ENVIRONMENT, lines=iter([b"DO 1;\n"]), owner=owner(address)
            )
            if status == 0:
                return words
            refusals.append(
                f"`{tool.path}`: {complaint(said, MysqlFeed(DumpExclusions()), status)}"
            )
        raise ServerError(f"`{self.path}` cannot be restored: {refusals[0]}")

    def _taking(self, address: Address) -> DumpExclusions:
        """What of the dump's words the server does not take. Raises ServerError."""
        words = self.contents.words
        known = {
            as_text(name).lower()
            for question in KNOWN
            for name, _ in connection.execute(address, [question], RESTORE_S_MAX)
        }
        others = {
            name: next(filter(partial(has_collation, address), substitutes(name)), None)
            for name in sorted(words.collations - {"binary"})
            if not has_collation(address, name)
        }
        return DumpExclusions(
            variables=words.variables - known,
            modes=frozenset(
                mode
                for mode in words.modes
                if not takes(address, f"SET SESSION sql_mode = {literal(mode)}")
            ),
            collations={name: other for name, other in others.items() if other is not None},
        )

    def _make_definers(self, address: Address) -> None:
        """The users that own views, triggers and routines, which nobody can be."""
        rows = connection.execute(
            home(address), ["SELECT user, host FROM mysql.user"], RESTORE_S_MAX
        )
        there = {(as_text(user), as_text(host)) for user, host in rows}
        statements = []
        for user, host in self.contents.definers:
            if (user, host) not in there:
                who = f"{literal(user)}@{literal(host)}"
                statements += [
                    f"CREATE USER {who} IDENTIFIED BY '{secrets.token_hex(32)}'",
                    f"GRANT ALL ON {named(address.database)}.* TO {who}",
                ]
        if statements:
            connection.execute(home(address), statements, RESTORE_S_MAX)


def complaint(said: Iterable[str], feed: MysqlFeed, status: int) -> str:
    """What the client says against a dump: of which object, the first error, and a cure."""
    match = next(filter(None, map(TOLD.match, said)), None)
    if match is None:
        return f"the client ended with status {status}"
    code, words = int(match.group("code")), match.group("said")
    label = feed.at(int(match.group("line"))) if match.group("line") else None
    has_rows = label is None or label.startswith("rows ")
    names = code in OF_NAMES or not has_rows
    text = words.replace("'", "`")[:SAID_CHARACTERS_MAX] if names else without_values(words)
    where = "" if label is None else f"{label}: "
    cures = (f": {cure}" for of, said, cure in CURES if of == code and re.search(said, words))
    return f"{where}ERROR {code}: {text}" + next(cures, "")


def owner(address: Address) -> os.stat_result:
    """The account that clients run as: a dump may have commands."""
    return os.stat(Path(address.host).parent)


def has_collation(address: Address, name: str) -> bool:
    """Whether a server knows a collation, also by another name."""
    charset = "utf8mb4" if name.startswith("uca") else name.partition("_")[0]
    return takes(address, f"SELECT CONVERT('' USING {charset}) COLLATE {name}")


def takes(address: Address, statement: str) -> bool:
    """Whether a server runs a statement."""
    try:
        connection.execute(address, [statement], RESTORE_S_MAX)
    except ServerError:
        return False
    return True


def home(address: Address) -> Address:
    """The same server, with the database that each has."""
    return Address(host=address.host, port=address.port, user=address.user, database="mysql")


def as_text(value: object) -> str:
    """A name as a server tells it, in bytes or as a text."""
    return value.decode() if isinstance(value, bytes) else str(value)
