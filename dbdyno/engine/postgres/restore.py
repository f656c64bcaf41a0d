"""Restores a dump of pg_dump by psql; pg_restore writes the SQL of an archive.

The copy is to reach nobody: what could is left out (`sections.OUTWARD`), or disabled (`inward.py`).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dbdyno.builds import Build
from dbdyno.engine import restore as restores
from dbdyno.engine.postgres import connection, dump, inward, refused, shared_statistics
from dbdyno.engine.postgres.dump import Form, PostgresDumpContents, Texts
from dbdyno.engine.postgres.needed import monitors, need_of
from dbdyno.engine.postgres.sections import (
    DumpSection,
    DumpSupport,
    PostgresFeed,
    quoted,
    without_rows,
)
from dbdyno.engine.restore import (
    KEY,
    RESTORE_S_MAX,
    ClientPrograms,
    DumpProgramError,
    Tool,
    damaged,
    without_values,
)
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
RESTRICTS_FROM: dict[int, int] = {13: 22, 14: 19, 15: 14, 16: 10, 17: 6}
"""By major the minor from which psql knows \\restrict (CVE-2025-8714); later majors all do."""
QUIET = (
    "-c log_min_messages=fatal -c log_min_error_statement=panic -c synchronous_commit=off "
    "-c default_transaction_read_only=off"
)
"""A server's log would repeat rows that it refuses."""
PSQL_WORDS = ("-X", "-q", "-w", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose", "-f", "-")
ICU_FROM, BUILTIN_FROM, MONITORS_FROM, OIDS_BEFORE = 15, 17, 10_00_00, 12_00_00
"""From which versions a database can be sorted by ICU, or by the server itself; pg_monitor; and
the first whose tables have no OIDs."""
LIBRARIES = "_preload_libraries "
"""Settings by which a session that lacks a file does not begin."""
SETTINGS = "SELECT lower(name) FROM pg_settings"
AVAILABLE = "SELECT name FROM pg_available_extensions"
MEMBERS = """
    SELECT DISTINCT i.schema, i.name
    FROM pg_depend d, pg_identify_object(d.classid, d.objid, 0) i
    WHERE d.deptype = 'e' AND d.classid = 'pg_class'::regclass
    UNION SELECT DISTINCT nspname, '' FROM pg_depend JOIN pg_namespace n ON n.oid = objid
    WHERE deptype = 'e' AND classid = 'pg_namespace'::regclass
"""
SCHEMAS = """
    SELECT nspname FROM pg_namespace
    WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%'
"""
TOC_S_MAX = 600.0
KEY_DIGITS = 24
FORM_OF_RESTORE = 2
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
        psql = newest(PSQL, paths)
        pg_restore = None if form == "plain" else newest(PG_RESTORE, paths)
        if pg_restore is None:
            with restores.opened(path) as stream:
                lines = without_rows(restores.readable(stream, path))
                texts = (line.decode(errors="replace").rstrip() for line in lines)
                contents = dump.contents_of(texts)
            if not contents.complete:
                raise PlanError(f"{KEY}: `{path}` breaks off before its end: dump it again")
        else:
            contents = dump.contents_of(looked(pg_restore, path, "-C", "-s", "-v", "-f", "-"))
        looked_into = PostgresDump(
            path=path,
            form=form,
            psql=psql,
            pg_restore=pg_restore,
            sha256=restores.sha256(path),
            contents=contents,
            wish=wish,
        )
        looked_into.refuse_absent_locale()
        return looked_into


def newest(name: str, paths: Iterable[Path]) -> Tool:
    """The newest client program of a name. Raises PlanError."""
    tools = restores.tools([name], paths, VARIABLE)
    if not tools:
        raise PlanError(
            f"{KEY}: there is no {name} on this host: install PostgreSQL's clients, name "
            f"their folder in {VARIABLE}, or `dyno server build postgres 18`"
        )
    return tools[0]


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
    """A dump that was looked into (engine.restore.DumpRestore)."""

    path: Path
    form: Form
    psql: Tool
    pg_restore: Tool | None  # of an archive
    sha256: str
    contents: PostgresDumpContents
    wish: Restore

    @property
    def version(self) -> str:
        """A hash of the dump's content, how it is restored, and pg_restore's or psql's version."""
        tool = self.pg_restore or self.psql
        return f"{tool.path.name} {tool.version}, dump {self.content}"

    @property
    def content(self) -> str:
        """A hash of the dump's content and of how it is restored."""
        settings = [asdict(setting) for setting in self.contents.settings]
        roles = [sorted(self._made_roles), sorted(monitors(self.wish.queries))]
        parts = [FORM_OF_RESTORE, self.sha256, self.form, asdict(self.texts), settings, roles]
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        return digest[:KEY_DIGITS]

    @property
    def dumped(self) -> str | None:
        """When the dump was made, in ISO 8601, where it says so."""
        return self.contents.dumped

    @property
    def _made_roles(self) -> frozenset[str]:
        """Roles of captured queries of which the dump says nothing."""
        roles = {query.role for query in self.wish.queries if query.role is not None}
        own = {role for role in roles if role.startswith("pg_")}
        return frozenset(roles - own - set(self.contents.roles))

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
        absent = {
            name: "the server does not have it"
            for name in self.contents.extensions
            if build.made and not build.has_extension(name, account)
        }
        if reason := self._unmet(absent):
            raise PlanError(
                f"{KEY}: arm {arm} lacks what `{self.path}` needs: {reason}: install it below "
                f"`{build.base_dir}`"
            )
        for who, locale, first in (
            ("ICU", self.texts.icu_locale, ICU_FROM),
            ("PostgreSQL itself", self.texts.builtin_locale, BUILTIN_FROM),
        ):
            if locale is not None and build.major < first:
                raise PlanError(
                    f"{KEY}: the source sorts by {who} (`{locale}`), which arm {arm} of version "
                    f"{build.version} cannot: write a `locale` under [source] of the workload "
                    "file, or take a newer arm"
                )

    def _unmet(self, absent: Mapping[str, str]) -> str | None:
        """What needs an extension that is absent; None: nothing does, as far as the dump tells."""
        for name, reason in absent.items():
            if objects := self.contents.needs.get(name):
                more = f" and {len(objects) - 1:,} more need it" if objects[1:] else " needs it"
                return f"extension `{name}` ({reason}): {objects[0]}{more}"
            if query := need_of(name, self.wish.queries):
                return f"extension `{name}` ({reason}): query `{query}` needs it"
        return None

    def carry_out(
        self, address: Address, session: ClientPrograms, statistics: Path | None = None
    ) -> list[str]:
        """Makes the database anew from the dump; returns what was left out. Raises ServerError."""
        home = replace(address, database=MAINTENANCE)
        there = {name for (name,) in execute(home, "SELECT rolname FROM pg_roles")}
        roles = {*self.contents.roles, *self._made_roles}
        superusers = self.contents.superusers | {dump.SUPERUSER}
        execute(
            home,
            *(
                f"CREATE ROLE {quoted(role)} NOLOGIN" + " SUPERUSER" * (role in superusers)
                for role in sorted(roles - there)
            ),
        )
        self._make_database(address)
        taking, absent = self._taking(address)
        if reason := self._unmet(absent):
            raise ServerError(f"`{self.path}` cannot be restored: {reason}")
        if self.contents.extensions:
            self._make_database(address)  # trying the extensions has filled it
        lacks = [f"extension `{name}` is left out: {why}" for name, why in absent.items()]
        lacks += self._restore(address, session, taking)
        lacks += self._set(address)
        lacks += self._give_rights(address)
        if not self.wish.rows:
            inward.close(address)
            return lacks
        lacks += inward.finish(address)
        if statistics is not None and (count := shared_statistics.share(address, statistics)):
            lacks.append(f"statistics of {count:,} tables and indexes are the server's own")
        return lacks

    def _make_database(self, address: Address) -> None:
        """An empty database like the source's."""
        name = quoted(address.database)
        execute(
            replace(address, database=MAINTENANCE),
            f"DROP DATABASE IF EXISTS {name}",
            f"CREATE DATABASE {name} TEMPLATE = template0 {options(self.texts)}",
        )

    def _taking(self, address: Address) -> tuple[DumpSupport, dict[str, str]]:
        """What the server takes; by extension of the dump why it cannot make it."""
        absent: dict[str, str] = {}
        available = {name for (name,) in execute(address, AVAILABLE)}
        for name in self.contents.extensions:
            try:
                execute(address, f"CREATE EXTENSION IF NOT EXISTS {quoted(name)} CASCADE")
            except ServerError as error:
                said = refused.with_names(str(error.__cause__).splitlines()[0])
                absent[name] = said if name in available else "the server does not have it"
        members = execute(address, MEMBERS)
        taking = DumpSupport(
            settings=frozenset(str(name) for (name,) in execute(address, SETTINGS)),
            oids=inward.version_num(address) < OIDS_BEFORE,
            restricts=restricts(self.psql),
            search_path=self.contents.search_path,
            rows=self.wish.rows,
            absent=frozenset(absent),
            members=frozenset((str(schema), str(name)) for schema, name in members),
        )
        return taking, absent

    def _lines(self, session: ClientPrograms) -> Iterator[bytes]:
        """The SQL of the dump. Raises ServerError where it is damaged."""
        if self.pg_restore is None:
            with restores.opened(self.path) as stream:
                yield from restores.readable(stream, self.path)
            return
        try:
            parts = () if self.wish.rows else ("-s",)
            words = (self.pg_restore.path, *parts, "-f", "-", self.path)
            yield from session.output(words, restores.ENVIRONMENT)
        except DumpProgramError as error:
            said = complaint(error.said) or f"{PG_RESTORE} broke off"
            raise damaged(self.path, said) from error

    def _restore(self, address: Address, session: ClientPrograms, taking: DumpSupport) -> list[str]:
        """Runs psql; returns what the server refused. Raises ServerError in one line."""
        feed = PostgresFeed(taking)
        status, said = session.run(
            [
                *(self.psql.path, *PSQL_WORDS, "-h", address.host, "-p", str(address.port)),
                *("-U", address.user, "-d", address.database),
            ],
            {**restores.ENVIRONMENT, "PGAPPNAME": "dyno", "PGOPTIONS": QUIET},
            lines=feed.lines(self._lines(session)),
            owner=os.stat(address.host),  # psql runs commands that a dump may have
        )
        lacks = list(feed.lacks)
        left_out: dict[str, str] = {}  # by name without arguments
        for error in refused.complaints(said):
            section = feed.at(error.line)
            if section is not None and (inner := refused.refused(error)):
                code, words = inner
                if refused.silent(section, code):
                    continue
                lacks.append(f"{section.label} is left out: {words}")
                left_out[section.plain] = lacks[-1]
                if taking.absent and code in refused.UNDEFINED:
                    self._refuse_needed(section, lacks[-1])
            elif error.level in ("ERROR", "FATAL", "PANIC"):
                where = "" if section is None else f"{section.label}: "
                before = next((why for name, why in left_out.items() if name in error.said), None)
                because = "" if before is None else f" ({before})"
                cure = refused.cure(error, sorted(taking.absent))
                raise ServerError(
                    f"`{self.path}` cannot be restored: {where}{error.text}{because}{cure}"
                )
        if status != 0:
            last = without_values(said[-1]) if said else f"status {status}"
            words = complaint(said) or f"{PSQL} broke off: {last}"
            raise ServerError(f"`{self.path}` cannot be restored: {words}")
        return lacks

    def _refuse_needed(self, section: DumpSection, why: str) -> None:
        """Raises ServerError where a captured query names what is left out with an extension."""
        for query in self.wish.queries:
            if section.plain in query.names:
                raise ServerError(f"query `{query.name}` cannot run: {why}")

    def _set(self, address: Address) -> list[str]:
        """Sets what the source's database sets; returns what this version refuses."""
        lacks = []
        for setting in self.contents.settings:
            of = f"DATABASE {quoted(address.database)}"
            if setting.role is not None:
                of = f"ROLE {quoted(setting.role)} IN {of}"
            try:
                if LIBRARIES in setting.text:
                    raise ServerError("libraries are not loaded into sessions of a copy")
                execute(address, f"ALTER {of} SET {setting.text}")
            except ServerError as error:
                whose = "the database" if setting.role is None else f"role `{setting.role}`"
                name, why = setting.text.split()[0], str(error.__cause__ or error)
                lacks.append(f"setting `{name}` of {whose} is left out: {' '.join(why.split())}")
        return lacks

    def _give_rights(self, address: Address) -> list[str]:
        """Rights of captured queries' roles: a dump does not tell whose members they are."""
        statements = []
        if inward.version_num(address) >= MONITORS_FROM:
            statements = [
                f"GRANT pg_monitor TO {quoted(role)}" for role in monitors(self.wish.queries)
            ]
        for (schema,) in execute(address, SCHEMAS) if self._made_roles else ():
            for role in map(quoted, sorted(self._made_roles)):
                statements.append(f"GRANT ALL ON SCHEMA {quoted(schema)} TO {role}")
                statements += [
                    f"GRANT ALL ON ALL {objects} IN SCHEMA {quoted(schema)} TO {role}"
                    for objects in ("TABLES", "SEQUENCES", "FUNCTIONS")
                ]
        execute(address, *statements)
        return [
            f"role `{role}` of captured queries is not in the dump: it is made with all rights"
            for role in sorted(self._made_roles)
        ]


def execute(address: Address, *statements: str) -> list[tuple[Any, ...]]:
    """Runs statements as long as a restore may take; the rows of the last. Raises ServerError."""
    return connection.execute(address, statements, RESTORE_S_MAX)


def options(texts: Texts) -> str:
    """The options of CREATE DATABASE."""
    provider = "icu" if texts.icu_locale else "builtin" if texts.builtin_locale else None
    pairs = [
        ("ENCODING", texts.encoding),
        ("LC_COLLATE", texts.collate),
        ("LC_CTYPE", texts.ctype),
        ("LOCALE_PROVIDER", provider),
        ("ICU_LOCALE", texts.icu_locale),
        ("ICU_RULES", texts.icu_rules),
        ("BUILTIN_LOCALE", texts.builtin_locale),
    ]
    return " ".join(f"{key} = {literal(text)}" for key, text in pairs if text is not None)


def restricts(tool: Tool) -> bool:
    """Whether a psql knows \\restrict, with which plain dumps begin."""
    major, minor = (*tool.number, 0)[:2]
    return major > max(RESTRICTS_FROM) or minor >= RESTRICTS_FROM.get(major, minor + 1)


def complaint(said: Iterable[str]) -> str | None:
    """The first error that a client tells, without values; None where it tells none."""
    errors = [line for line in said if "error:" in line or "ERROR:" in line or "FATAL:" in line]
    return without_values(errors[0]) if errors else None
