"""A dump by pg_dump as it lies on the disk: its form, and what its SQL says beside the rows.

A plain dump is SQL, whose comments name each object; pg_restore writes the same of an archive, and
more in its verbose form. (PostgreSQL's manual, "pg_dump"; src/bin/pg_dump/pg_backup_archiver.h for
the formats.)
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from dbdyno.engine import restore as restores
from dbdyno.engine.postgres.sections import HOLD_DATA, DumpSection, quoted, section_of
from dbdyno.engine.restore import KEY, TOC, moment, unreadable
from dbdyno.model.error import PlanError

Form = Literal["custom", "folder", "tar", "plain"]
MAGIC = restores.ARCHIVE
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
SCHEMA = re.compile(rf"^CREATE SCHEMA (?P<name>{IDENT});")
EXTENSION = re.compile(rf"^CREATE EXTENSION IF NOT EXISTS (?P<name>{IDENT})")
DATABASE = re.compile(rf"^CREATE DATABASE (?:{IDENT}) WITH (?P<how>.*);")
HOW = re.compile(r"(?P<key>[A-Z_]+) = (?:'(?P<value>[^']*)'|(?P<word>\w+))")
SETTING = re.compile(
    rf"^ALTER (?:DATABASE (?:{IDENT})|ROLE (?P<role>{IDENT}) IN DATABASE (?:{IDENT})) "
    r"SET (?P<setting>.*);$"
)
NUMBER = re.compile(r"^-- TOC entry (?P<number>\d+) ")
NEEDS = re.compile(r"^-- Dependencies: (?P<numbers>[\d ]+)$")
COMPLETE = "-- PostgreSQL database dump complete"
ENCODING = re.compile(r"^SET client_encoding = '(?P<value>[^']*)';")
OF_SUPERUSERS = "FOREIGN DATA WRAPPER"
"""What only a superuser may own."""
NO_ROLES = frozenset({"public", "current_user", "session_user", "current_role", "default"})
PATH, PLACES = "search_path TO ", re.compile(rf"'([^']*)'|({IDENT})")
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
    builtin_locale: str | None = None  # the server sorts by itself


@dataclass(frozen=True, kw_only=True)
class DatabaseSetting:
    """What the source's database sets for its sessions: "search_path TO 'shop', 'public'"."""

    text: str
    role: str | None = None  # of this role alone


@dataclass(frozen=True, kw_only=True)
class PostgresDumpContents:
    """What a dump's SQL says beside the rows."""

    texts: Texts = Texts()
    extensions: tuple[str, ...] = ()
    schemas: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    superusers: frozenset[str] = frozenset()  # of these roles
    settings: tuple[DatabaseSetting, ...] = ()
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By extension the objects with rows that are made of it, where the dump tells."""
    dumped: str | None = None  # when it was made
    complete: bool = False  # whether it has an end

    @property
    def search_path(self) -> str:
        """Where names are looked up: as the database's sessions do, its roles', and everywhere."""
        ordered = sorted(self.settings, key=lambda each: each.role is not None)
        paths = [each.text[len(PATH) :] for each in ordered if each.text.startswith(PATH)]
        places = PLACES.findall(", ".join(paths))
        names = (plain(written) if written else text for text, written in places)
        return ", ".join(map(quoted, dict.fromkeys([*names, "public", *self.schemas])))


# --- Its form --------------------------------------------------------------------------------


def form_of(path: Path) -> Form:
    """The form of a dump. Raises PlanError where it is none."""
    try:
        if path.is_dir():
            if (path / TOC).is_file():
                return "folder"
            raise PlanError(f"{KEY}: folder `{path}` has no `{TOC}`: name one made by pg_dump -Fd")
        with path.open("rb") as stream:
            head = stream.read(len(TOC) + 1)
        if head.startswith(MAGIC):
            return "custom"
        if head.startswith(TOC.encode() + b"\0"):
            return "tar"
    except OSError as error:
        raise unreadable(path, error) from error
    head = restores.head(path)
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


# --- Its SQL ---------------------------------------------------------------------------------


def contents_of(lines: Iterable[str]) -> PostgresDumpContents:
    """What the SQL of a dump says, a line at a time."""
    roles: dict[str, bool] = {}
    extensions: dict[str, None] = {}
    schemas: dict[str, None] = {}
    settings: dict[DatabaseSetting, None] = {}
    objects = Objects()
    texts, dumped = Texts(), None
    creates_database = complete = False

    def role(written: str, *, superuser: bool = False) -> None:
        name = plain(written)
        if name.lower() not in NO_ROLES and not name.startswith("pg_"):
            roles[name] = roles.get(name, False) or superuser or name == SUPERUSER

    for line in lines:
        if line.startswith("--"):
            objects.note(line)
            dumped = dumped or moment(line)
            complete = complete or line.startswith(COMPLETE)
        if not line.startswith(("ALTER ", "GRANT ", "REVOKE ", "CREATE ", "SET ")):
            continue
        if match := DEFAULT.match(line):
            role(match.group("role"))
            role(match.group("other"))
        elif match := OWNER.match(line):
            role(match.group("role"), superuser=match.group("object") == OF_SUPERUSERS)
        elif match := GRANT.match(line) or SESSION.match(line):
            role(match.group("role"))
        elif match := POLICY.match(line):
            for name in re.findall(IDENT, match.group("roles")):
                role(name)
        elif match := EXTENSION.match(line):
            extensions[plain(match.group("name"))] = None
        elif match := SCHEMA.match(line):
            schemas[plain(match.group("name"))] = None
        elif match := DATABASE.match(line):
            creates_database, texts = True, texts_of(match.group("how"))
        elif match := SETTING.match(line):
            of = match.group("role")
            if of is not None:
                role(of)
            whose = None if of is None else plain(of)
            settings[DatabaseSetting(text=match.group("setting"), role=whose)] = None
        elif match := ENCODING.match(line):
            texts = texts if creates_database else Texts(encoding=match.group("value"))
    return PostgresDumpContents(
        texts=texts,
        extensions=tuple(name for name in extensions if name != "plpgsql"),
        schemas=tuple(schemas),
        roles=tuple(roles),
        superusers=frozenset(name for name, superuser in roles.items() if superuser),
        settings=tuple(settings),
        needs=objects.by_extension(),
        dumped=dumped,
        complete=complete,
    )


class Objects:
    """The objects of a verbose dump, and which needs which."""

    def __init__(self) -> None:
        self._number = ""
        self._needed: frozenset[str] = frozenset()
        self._all: dict[str, tuple[DumpSection, frozenset[str]]] = {}

    def note(self, line: str) -> None:
        """Takes a comment: a number and what it depends on come before a name."""
        if match := NUMBER.match(line):
            self._number, self._needed = match.group("number"), frozenset()
        elif match := NEEDS.match(line):
            self._needed = frozenset(match.group("numbers").split())
        elif self._number and (section := section_of(line.encode())):
            self._all[self._number] = section, self._needed

    def by_extension(self) -> dict[str, tuple[str, ...]]:
        """By extension the objects with rows that need it."""
        every: defaultdict[str, list[str]] = defaultdict(list)
        for section, needed in self._all.values():
            for number in needed & self._all.keys():
                of = self._all[number][0]
                if of.type == "EXTENSION" and section.type in HOLD_DATA:
                    every[of.name].append(section.label)
        return {name: tuple(labels) for name, labels in every.items()}


class DatabaseOptions(Struct, frozen=True, kw_only=True, rename="upper"):
    """The options of a CREATE DATABASE."""

    encoding: str = Texts.encoding
    locale: str = Texts.collate
    lc_collate: str | None = None
    lc_ctype: str | None = None
    locale_provider: str = "libc"
    icu_locale: str | None = None
    icu_rules: str | None = None
    builtin_locale: str | None = None


def texts_of(written: str) -> Texts:
    """How a database keeps its texts, by the options of its CREATE DATABASE."""
    pairs = (pair.groups() for pair in HOW.finditer(written))
    how = msgspec.convert(
        {key: word if text is None else text for key, text, word in pairs}, DatabaseOptions
    )
    return Texts(
        encoding=how.encoding,
        collate=how.lc_collate or how.locale,
        ctype=how.lc_ctype or how.locale,
        icu_locale=how.icu_locale or how.locale if how.locale_provider == "icu" else None,
        icu_rules=how.icu_rules,
        builtin_locale=how.builtin_locale,
    )


def plain(written: str) -> str:
    """A name as it is, of an identifier as SQL has it."""
    if written.startswith('"'):
        return written[1:-1].replace('""', '"')
    return written.lower()
