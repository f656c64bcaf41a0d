"""A dump by pg_dump as it lies on the disk: its form, and what its SQL says beside the rows.

Custom archives and folders have a table of contents; a plain dump is SQL, whose comments name each
object. (PostgreSQL's manual, "pg_dump"; src/bin/pg_dump/pg_backup_archiver.h for the formats.)
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal

import msgspec
from msgspec import Struct

from dbdyno.engine.restore import KEY, TOC, unreadable
from dbdyno.model.error import PlanError

Form = Literal["custom", "folder", "tar", "plain"]
MAGIC, GZIP = b"PGDMP", b"\x1f\x8b"
HEAD_BYTES = 8192
SQL_MARK = b"PostgreSQL database dump"
CLUSTER_MARK = b"PostgreSQL database cluster dump"
WRITTEN_BY: Mapping[tuple[int, int], str] = {
    (1, 16): "17",
    (1, 15): "16",
    (1, 14): "12",
    (1, 13): "10",
}
"""The oldest major whose pg_restore reads an archive of this format."""

IDENT = r'"(?:[^"]|"")+"|[A-Za-z_][A-Za-z0-9_$]*'
OWNER = re.compile(rf"^ALTER (?P<object>[A-Z]+(?: [A-Z]+)*) .*OWNER TO (?P<role>{IDENT});")
GRANT = re.compile(rf"^(?:GRANT|REVOKE) .* (?:TO|FROM) (?P<role>{IDENT})(?: WITH GRANT OPTION)?;")
DEFAULT = re.compile(
    rf"^ALTER DEFAULT PRIVILEGES FOR ROLE (?P<role>{IDENT}) .*(?:TO|FROM) (?P<other>{IDENT})\b"
)
POLICY = re.compile(rf"^CREATE POLICY .*? TO (?P<roles>(?:{IDENT})(?:, (?:{IDENT}))*)(?: |;|$)")
SESSION = re.compile(rf"^SET SESSION AUTHORIZATION '?(?P<role>{IDENT})'?;")
EXTENSION = re.compile(rf"^CREATE EXTENSION IF NOT EXISTS (?P<name>{IDENT})")
DATABASE = re.compile(rf"^CREATE DATABASE (?:{IDENT}) WITH (?P<how>.*);")
HOW = re.compile(r"(?P<key>[A-Z_]+) = (?:'(?P<value>[^']*)'|(?P<word>\w+))")
DATABASE_SETTING = re.compile(rf"^ALTER DATABASE (?:{IDENT}) SET (?P<setting>.*);$")
ENCODING = re.compile(r"^SET client_encoding = '(?P<value>[^']*)';")
OF_SUPERUSERS = frozenset({"EVENT TRIGGER", "FOREIGN DATA WRAPPER", "PUBLICATION"})
"""Objects that only a superuser may own."""
NO_ROLES = frozenset({"public", "current_user", "session_user", "current_role", "default"})
SUPERUSER = "postgres"
"""The role that owns what initdb made, on most servers."""


@dataclass(frozen=True, kw_only=True)
class Texts:
    """How a database keeps and sorts its texts."""

    encoding: str = "UTF8"
    collate: str = "C"
    ctype: str = "C"
    icu_locale: str | None = None  # None: the C library sorts
    icu_rules: str | None = None


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a dump's SQL says beside the rows."""

    texts: Texts = Texts()
    extensions: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    superusers: frozenset[str] = frozenset()  # of these roles
    settings: tuple[str, ...] = ()  # of the database: "search_path TO 'shop', 'public'"
    creates_database: bool = False


# --- Its form --------------------------------------------------------------------------------


def form_of(path: Path) -> Form:
    """The form of a dump. Raises PlanError where it is none."""
    try:
        if path.is_dir():
            if (path / TOC).is_file():
                return "folder"
            raise PlanError(f"{KEY}: folder `{path}` has no `{TOC}`: name one made by pg_dump -Fd")
        with path.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
        if head.startswith(MAGIC):
            return "custom"
        if head.startswith(TOC.encode() + b"\0"):
            return "tar"
        if head.startswith(GZIP):
            with gzip.open(path) as packed:
                head = packed.read(HEAD_BYTES)
    except (OSError, EOFError) as error:
        raise unreadable(path, error if isinstance(error, OSError) else OSError(*error.args)) from (
            error
        )
    if CLUSTER_MARK in head:
        raise PlanError(
            f"{KEY}: `{path}` is of pg_dumpall, which has all databases: dump the one that is "
            "raced by pg_dump -Fc"
        )
    if SQL_MARK not in head:
        raise PlanError(f"{KEY}: `{path}` is no dump of PostgreSQL: make one by pg_dump -Fc")
    return "plain"


def archive_format(path: Path) -> tuple[int, int] | None:
    """The format of an archive, (1, 16); None of a tar, or of what is cut off."""
    file = path / TOC if path.is_dir() else path
    with file.open("rb") as stream:
        head = stream.read(len(MAGIC) + 2)
    if not head.startswith(MAGIC) or len(head) < len(MAGIC) + 2:
        return None
    return head[len(MAGIC)], head[len(MAGIC) + 1]


def opened(path: Path) -> IO[bytes]:
    """A plain dump to be read, also a packed one."""
    with path.open("rb") as stream:
        packed = stream.read(len(GZIP)) == GZIP
    return gzip.open(path) if packed else path.open("rb")  # type: ignore[return-value]


# --- Its SQL ---------------------------------------------------------------------------------


COPY = re.compile(rb"^COPY .* FROM stdin;\r?\n?$")
END = (b"\\.\n", b"\\.\r\n", b"\\.")


def without_rows(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a plain dump outside of rows."""
    rows = False
    for line in lines:
        if rows:
            rows = line not in END
            continue
        rows = COPY.match(line) is not None
        yield line


def contents_of(lines: Iterable[str]) -> Contents:
    """What the SQL of a dump says, a line at a time."""
    roles: dict[str, bool] = {}
    extensions: dict[str, None] = {}
    settings: dict[str, None] = {}
    texts = Texts()
    creates_database = False

    def role(written: str, *, superuser: bool = False) -> None:
        name = plain(written)
        if name.lower() not in NO_ROLES and not name.startswith("pg_"):
            roles[name] = roles.get(name, False) or superuser or name == SUPERUSER

    for line in lines:
        if not line.startswith(("ALTER ", "GRANT ", "REVOKE ", "CREATE ", "SET ")):
            continue
        if match := DEFAULT.match(line):
            role(match.group("role"))
            role(match.group("other"))
        elif match := OWNER.match(line):
            role(match.group("role"), superuser=match.group("object") in OF_SUPERUSERS)
        elif match := GRANT.match(line) or SESSION.match(line):
            role(match.group("role"))
        elif match := POLICY.match(line):
            for name in re.findall(IDENT, match.group("roles")):
                role(name)
        elif match := EXTENSION.match(line):
            extensions[plain(match.group("name"))] = None
        elif match := DATABASE.match(line):
            creates_database, texts = True, texts_of(match.group("how"))
        elif match := DATABASE_SETTING.match(line):
            settings[match.group("setting")] = None
        elif match := ENCODING.match(line):
            texts = texts if creates_database else Texts(encoding=match.group("value"))
    return Contents(
        texts=texts,
        extensions=tuple(name for name in extensions if name not in OF_OPERATION | {"plpgsql"}),
        roles=tuple(roles),
        superusers=frozenset(name for name, superuser in roles.items() if superuser),
        settings=tuple(settings),
        creates_database=creates_database,
    )


class Options(Struct, frozen=True, kw_only=True, rename="upper"):
    """The options of a CREATE DATABASE."""

    encoding: str = Texts.encoding
    locale: str = Texts.collate
    lc_collate: str | None = None
    lc_ctype: str | None = None
    locale_provider: str = "libc"
    icu_locale: str | None = None
    icu_rules: str | None = None


def texts_of(written: str) -> Texts:
    """How a database keeps its texts, by the options of its CREATE DATABASE."""
    pairs = (pair.groups() for pair in HOW.finditer(written))
    how = msgspec.convert(
        {key: word if text is None else text for key, text, word in pairs}, Options
    )
    return Texts(
        encoding=how.encoding,
        collate=how.lc_collate or how.locale,
        ctype=how.lc_ctype or how.locale,
        icu_locale=how.icu_locale or how.locale if how.locale_provider == "icu" else None,
        icu_rules=how.icu_rules,
    )


def plain(written: str) -> str:
    """A name as it is, of an identifier as SQL has it."""
    if written.startswith('"'):
        return written[1:-1].replace('""', '"')
    return written.lower()


def quoted(name: str) -> str:
    """A name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'


# --- What is left out ------------------------------------------------------------------------


OUTWARD = ("USER MAPPING", "SUBSCRIPTION", "SUBSCRIPTION TABLE", "EVENT TRIGGER")
"""Objects by which a copy could reach the servers that the source reaches, or act by itself."""
LATER = ("MATERIALIZED VIEW DATA",)
"""What runs queries while it is restored; it is refreshed once nothing can reach others."""
LEFT_OUT = OUTWARD + LATER
ENTRIES_LEFT_OUT = (
    *(f"{name} " for name in LEFT_OUT),
    *(f"{of} - {name} " for of in ("COMMENT", "SECURITY LABEL") for name in OUTWARD),
)
OF_OPERATION = frozenset(
    {"adminpack", "amcheck", "hypopg", "pageinspect", "pg_buffercache", "pg_cron"}
    | {"pg_freespacemap", "pg_partman", "pg_prewarm", "pg_qualstats", "pg_repack", "pg_squeeze"}
    | {"pg_stat_kcache", "pg_stat_statements", "pg_store_plans", "pg_visibility"}
    | {"pg_wait_sampling", "pg_walinspect", "pgaudit", "pgstattuple", "powa", "rds_tools"}
    | {"set_user", "system_stats"}
)
"""Extensions for who runs a server. Queries do without, and many do not start unless preloaded."""
OF_DATA = ("COMMENT ", "TABLE DATA ", "SEQUENCE SET ", "ACL ")
"""What an archive has of an extension beside itself: its tables' rows, words, rights."""
ENTRY = re.compile(r"^(?P<id>\d+); \d+ \d+ (?P<rest>.*)$")
DEPENDS = re.compile(r"^;\s+depends on:(?P<ids>[\d ]+)$")
OF_EXTENSION = re.compile(r"^EXTENSION - (?P<name>\S+)")
OBJECT = re.compile(rb"^-- (?:Data for )?Name: (?P<name>.*); Type: (?P<type>[A-Z ]+); Schema: ")
SET = re.compile(rb"^SET (?P<name>[a-z_.]+) = (?P<value>.*);\r?\n?$")
META = re.compile(rb"^\\(?:un)?restrict ")
OF_NEWER = frozenset(
    {"transaction_timeout", "idle_in_transaction_session_timeout", "default_table_access_method"}
)
"""Settings in plain dumps that older servers do not know."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A line of `pg_restore -l -v` with those that it depends on."""

    line: str
    id: str
    rest: str  # what it is, where, its name, its owner
    needs: frozenset[str] = frozenset()  # by their ids

    @property
    def extension(self) -> str | None:
        """The name of the extension that it is; None: it is none."""
        match = OF_EXTENSION.match(self.rest)
        return None if match is None else match.group("name")

    @property
    def about(self) -> bool:
        """Whether it is only data of something, or words about it."""
        return self.rest.startswith(OF_DATA)


def entries_of(listing: Iterable[str]) -> list[Entry]:
    """The entries of an archive's table of contents."""
    entries: list[Entry] = []
    for line in listing:
        if match := ENTRY.match(line):
            entries.append(Entry(line=line, id=match.group("id"), rest=match.group("rest")))
        elif entries and (match := DEPENDS.match(line)):
            entries[-1] = replace(entries[-1], needs=frozenset(match.group("ids").split()))
    return entries


def without_operation(entries: Sequence[Entry]) -> list[Entry]:
    """The entries without extensions of OF_OPERATION that no object needs, and their data."""
    needed = {number for entry in entries if not entry.about for number in entry.needs}
    gone = {
        entry.id for entry in entries if entry.extension in OF_OPERATION and entry.id not in needed
    }
    return [entry for entry in entries if entry.id not in gone and not entry.needs & gone]


def kept_entries(entries: Sequence[Entry]) -> list[str]:
    """The lines of the entries that are restored: without LEFT_OUT, OF_OPERATION."""
    return [
        entry.line
        for entry in without_operation(entries)
        if not entry.rest.startswith(ENTRIES_LEFT_OUT)
    ]


def needed_by(entries: Sequence[Entry]) -> dict[str, int]:
    """By extension that is restored how many objects need it."""
    return {
        extension: sum(each.id in other.needs and not other.about for other in entries)
        for each in without_operation(entries)
        if (extension := each.extension) is not None
    }


@dataclass(frozen=True, kw_only=True)
class Taking:
    """What of a plain dump a server and a psql take."""

    settings: frozenset[str]  # that the server knows
    extensions: frozenset[str]  # that it could have
    restricts: bool  # whether psql knows \restrict


def taken(lines: Iterable[bytes], of: Taking) -> Iterator[bytes]:
    """The lines of a plain dump that are restored: without LEFT_OUT, and what is not known here.

    Settings of newer servers are left out, as are tablespaces.
    """
    rows = dropped = False
    for line in lines:
        if rows:
            rows = line not in END
        elif match := OBJECT.match(line):
            dropped = is_left_out(match.group("type").decode(), match.group("name").decode(), of)
        elif match := SET.match(line):  # it stands before the object that it is for
            dropped = False
            if not takes(match, of):
                continue
        elif META.match(line):
            dropped = False
            if not of.restricts:
                continue
        else:
            rows = COPY.match(line) is not None
        if not dropped:
            yield line


def takes(match: re.Match[bytes], of: Taking) -> bool:
    """Whether a line that sets something is for this server."""
    name = match.group("name").decode()
    if name == "default_tablespace":
        return match.group("value") == b"''"
    return name not in OF_NEWER or name in of.settings


def is_left_out(type: str, name: str, of: Taking) -> bool:
    """Whether an object of a plain dump is one of LEFT_OUT, or about one.

    So are extensions of OF_OPERATION that the server does not have.
    """
    about = type in ("COMMENT", "SECURITY LABEL")
    absent = OF_OPERATION - of.extensions
    return (
        type in LEFT_OUT
        or (type == "EXTENSION" and name in absent)
        or (about and name.startswith(tuple(f"{kept} " for kept in OUTWARD)))
        or (about and name.removeprefix("EXTENSION ") in absent)
    )
