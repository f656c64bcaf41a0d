"""Restores a dump of pg_dump: archives by pg_restore, plain ones by psql.

The copy is to reach nobody: what could is left out (`dump.OUTWARD`), or disabled (`inward.py`).
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from dbdyno.builds import Build
from dbdyno.engine import restore as restores
from dbdyno.engine.postgres import connection, dump, inward, shared_statistics
from dbdyno.engine.postgres.dump import Contents, Form, Texts, quoted
from dbdyno.engine.restore import KEY, RESTORE_S_MAX, Session, Tool, without_values
from dbdyno.host import locales
from dbdyno.host.account import Account
from dbdyno.model import Address
from dbdyno.model.error import HostError, PlanError, ServerError
from dbdyno.model.job.external import Restore
from dbdyno.model.literal import literal

PG_RESTORE, PSQL = "pg_restore", "psql"
VARIABLE = "DYNO_POSTGRES_CLIENTS"
MAINTENANCE = "postgres"
"""The database to which one connects to make another."""
WORKERS_MAX = 8
RESTRICTS_FROM: dict[int, int] = {13: 22, 14: 19, 15: 14, 16: 10, 17: 6}
"""By major the minor from which psql knows \\restrict (CVE-2025-8714); later majors all do."""
QUIET = "-c log_min_messages=fatal -c log_min_error_statement=panic -c synchronous_commit=off"
"""A server's log would repeat rows that it refuses."""
ICU_FROM, BUILTIN_FROM = 15, 17
"""The majors from which a database can be sorted by ICU, or by the server itself."""
TOC_S_MAX = 600.0
KEY_DIGITS = 24
FORM_OF_RESTORE = 1
"""Changes where this file restores the same dump to other data."""


@dataclass(frozen=True)
class PostgresRestorer:
    """How databases of PostgreSQL come from dumps."""

    programs: Sequence[str] = (PG_RESTORE, PSQL)
    variable: str = VARIABLE

    def read(self, wish: Restore, paths: Iterable[Path]) -> PostgresDump:
        """Looks into a dump. Raises PlanError, HostError."""
        path = Path(wish.path)
        if not path.exists():
            raise PlanError(f"{KEY}: there is no dump `{path}`: write its path")
        form = dump.form_of(path)
        name = PSQL if form == "plain" else PG_RESTORE
        tools = restores.tools([name], paths, VARIABLE)
        if not tools:
            raise PlanError(
                f"{KEY}: there is no {name} on this host: install PostgreSQL's clients, name "
                f"their folder in {VARIABLE}, or `dyno server build postgres 18`"
            )
        tool = tools[0]
        needed: dict[str, int] = {}
        listing: list[str] = []
        if form == "plain":
            with dump.opened(path) as stream:
                lines = (line.decode(errors="replace") for line in dump.without_rows(stream))
                contents = dump.contents_of(lines)
            if contents.creates_database:
                raise PlanError(
                    f"{KEY}: `{path}` makes a database of its own: dump it without --create"
                )
        else:
            entries = dump.entries_of(looked(tool, path, "-l", "-v"))
            listing, needed = dump.kept_entries(entries), dump.needed_by(entries)
            contents = dump.contents_of(looked(tool, path, "-C", "-s", "-f", "-"))
        looked_into = PostgresDump(
            path=path,
            form=form,
            tool=tool,
            sha256=restores.sha256(path),
            contents=contents,
            needed=needed,
            listing=tuple(listing),
            wish=wish,
        )
        looked_into.refuse_absent_locale()
        return looked_into


def looked(tool: Tool, path: Path, *options: str) -> list[str]:
    """What pg_restore shows of an archive. Raises PlanError in one line."""
    status, output, said = restores.run([tool.path, *options, path], TOC_S_MAX)
    if status == 0:
        return output.splitlines()
    version = dump.archive_format(path)
    if "unsupported version" in said and version is not None:
        by = dump.WRITTEN_BY.get(version, "a newer version than 18")
        raise PlanError(
            f"{KEY}: `{path}` is an archive of format {version[0]}.{version[1]}, which pg_restore "
            f"reads from {by} on, and the newest here is {tool.version} (`{tool.path}`): install "
            f"newer clients, name their folder in {VARIABLE}, or `dyno server build postgres 18`"
        )
    words = complaint(said.splitlines()) or f"status {status}"
    raise PlanError(f"{KEY}: `{path}` cannot be read: {words}: dump it again")


@dataclass(frozen=True, kw_only=True)
class PostgresDump:
    """A dump that was looked into (engine.restore.Restoring)."""

    path: Path
    form: Form
    tool: Tool
    sha256: str
    contents: Contents
    needed: dict[str, int]  # by extension the objects that need it, where the dump tells
    listing: tuple[str, ...]  # of an archive: its entries that are restored
    wish: Restore

    @property
    def version(self) -> str:
        """A hash of the dump's content, how it is restored, and pg_restore's or psql's version."""
        return f"{self.tool.path.name} {self.tool.version}, dump {self.content}"

    @property
    def content(self) -> str:
        """A hash of the dump's content and of how it is restored."""
        texts = asdict(self.texts)
        parts = [FORM_OF_RESTORE, self.sha256, self.form, texts, self.contents.settings]
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        return digest[:KEY_DIGITS]

    @property
    def texts(self) -> Texts:
        """How the database keeps and sorts its texts: as the source does."""
        texts = self.contents.texts
        if self.wish.locale is not None:
            texts = Texts(encoding=texts.encoding, collate=self.wish.locale, ctype=self.wish.locale)
        return replace(texts, encoding=self.wish.encoding or texts.encoding)

    def refuse_absent_locale(self) -> None:
        """Raises HostError for a locale of the source that this host does not have."""
        for name in {self.texts.collate, self.texts.ctype}:
            if name not in ("C", "POSIX") and locales.encoding(name) is None:
                language, _, charset = name.partition(".")
                raise HostError(
                    f"{KEY}: the source sorts by the locale `{name}`, which this host does not "
                    f"have: install it by `localedef -i {language} -f "
                    f"{charset or locales.UTF8} {name}` (of Debian's package `locales`), or write "
                    "another `locale` under [source] of the workload file"
                )

    def refuse_unfit(self, build: Build, account: Account, arm: str) -> None:
        """Raises PlanError for an extension, or a way to sort, that the arm does not have."""
        lacking = {
            name: self.needed.get(name, 0)
            for name in self.needed or self.contents.extensions
            if build.made and not build.has_extension(name, account)
        }
        if lacking:
            named = " and ".join(
                f"`{name}`" + (f" ({count:,} objects need it)" if count else "")
                for name, count in lacking.items()
            )
            raise PlanError(
                f"{KEY}: arm {arm} lacks what `{self.path}` needs: extension {named}: install it "
                f"below `{build.base_dir}`, or dump without it"
            )
        if self.texts.icu_locale is not None and build.major < ICU_FROM:
            raise PlanError(
                f"{KEY}: the source sorts by ICU (`{self.texts.icu_locale}`), which arm "
                f"{arm} of version {build.version} cannot: write a `locale` under [source] of "
                "the workload file, or take a newer arm"
            )

    def carry_out(
        self, address: Address, session: Session, statistics: Path | None = None
    ) -> list[str]:
        """Makes the database anew from the dump; returns what was left out. Raises ServerError."""
        self._make_database(address)
        with tempfile.TemporaryDirectory(prefix="dyno-restore-") as scratch:
            self._restore(address, session, Path(scratch))
        lacks = inward.finish(address)
        if statistics is not None and (count := shared_statistics.share(address, statistics)):
            lacks.append(f"statistics of {count:,} tables and indexes are the server's own")
        return lacks

    def _make_database(self, address: Address) -> None:
        """The roles that the dump names, and an empty database like the source's."""
        name = quoted(address.database)
        home = replace(address, database=MAINTENANCE)
        rows = connection.execute(home, ["SELECT rolname FROM pg_roles"], RESTORE_S_MAX)
        there = {str(role) for (role,) in rows}
        roles = [
            f"CREATE ROLE {quoted(role)} NOLOGIN"
            + (" SUPERUSER" if role in self.contents.superusers else "")
            for role in self.contents.roles
            if role not in there
        ]
        statements = [
            *roles,
            f"DROP DATABASE IF EXISTS {name}",
            f"CREATE DATABASE {name} TEMPLATE = template0 {options(self.texts)}",
            *(f"ALTER DATABASE {name} SET {setting}" for setting in self.contents.settings),
        ]
        connection.execute(home, statements, RESTORE_S_MAX)

    def _restore(self, address: Address, session: Session, scratch: Path) -> None:
        """Runs the client. Raises ServerError in one line without any value."""
        server = ["-h", address.host, "-p", str(address.port), "-U", address.user, "-w"]
        server += ["-d", address.database]
        environment = {**restores.ENVIRONMENT, "PGAPPNAME": "dyno", "PGOPTIONS": QUIET}
        if self.form == "plain":
            settings, extensions = (
                connection.execute(address, [f"SELECT name FROM {view}"], RESTORE_S_MAX)
                for view in ("pg_settings", "pg_available_extensions")
            )
            taking = dump.Taking(
                settings=frozenset(str(name) for (name,) in settings),
                extensions=frozenset(str(name) for (name,) in extensions),
                restricts=restricts(self.tool),
            )
            words: list[str | Path] = [
                self.tool.path,
                "-X",
                "-q",
                "-v",
                "ON_ERROR_STOP=1",
                "-v",
                "VERBOSITY=terse",
            ]
            with dump.opened(self.path) as stream:
                status, said = session.run(
                    [*words, *server],
                    environment,
                    lines=readable(dump.taken(stream, taking), self.path),
                    owner=os.stat(address.host),  # psql runs commands that a dump may have
                )
        else:
            entries = scratch / "entries"
            entries.write_text("\n".join(self.listing) + "\n")
            words = [self.tool.path, "--exit-on-error", "--no-tablespaces", "-L", entries]
            if self.form != "tar":
                words += ["-j", str(min(WORKERS_MAX, os.cpu_count() or 1))]
            status, said = session.run([*words, *server, self.path], environment)
        if status != 0:
            words_of = complaint(said) or f"{self.tool.path.name} ended with status {status}"
            raise ServerError(f"`{self.path}` cannot be restored: {words_of}: dump it again")


def options(texts: Texts) -> str:
    """The options of CREATE DATABASE."""
    pairs = [
        ("ENCODING", texts.encoding),
        ("LC_COLLATE", texts.collate),
        ("LC_CTYPE", texts.ctype),
        ("LOCALE_PROVIDER", None if texts.icu_locale is None else "icu"),
        ("ICU_LOCALE", texts.icu_locale),
        ("ICU_RULES", texts.icu_rules),
    ]
    return " ".join(f"{key} = {literal(text)}" for key, text in pairs if text is not None)


def readable(lines: Iterator[bytes], path: Path) -> Iterator[bytes]:
    """The lines. Raises ServerError where a packed dump ends too early."""
    try:
        yield from lines
    except (OSError, EOFError) as error:
        raise ServerError(f"`{path}` cannot be restored: {error}: dump it again") from error


def restricts(tool: Tool) -> bool:
    """Whether a psql knows \\restrict, with which plain dumps begin."""
    major, minor = (*tool.number, 0)[:2]
    return major > max(RESTRICTS_FROM) or minor >= RESTRICTS_FROM.get(major, minor + 1)


def complaint(said: Iterable[str]) -> str | None:
    """The first error that a client tells, without values; None where it tells none."""
    errors = [line for line in said if "error:" in line or "ERROR:" in line or "FATAL:" in line]
    return without_values(errors[0]) if errors else None
