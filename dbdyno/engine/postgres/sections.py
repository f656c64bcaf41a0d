"""The SQL of a dump, section by section: which of it a server takes, and how.

A section is an object, its rows, or words about it; the comment before it says which. What a copy
must not have is left out. What only queries need (a view, a function, a right) may be refused by
the server: it is named, and the rest goes on.
"""

import re
import secrets
from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field

from dbdyno.model.literal import literal

OUTWARD = frozenset(
    {"USER MAPPING", "SUBSCRIPTION", "SUBSCRIPTION TABLE", "EVENT TRIGGER", "PUBLICATION"}
    | {"PUBLICATION TABLE", "PUBLICATION TABLES IN SCHEMA"}
)
"""Objects by which a copy could reach the servers that the source reaches, or act by itself."""
LATER = frozenset({"MATERIALIZED VIEW DATA", "STATISTICS DATA"})
"""What is made anew once nothing can reach others."""
OF_DATABASE = frozenset({"DATABASE", "DATABASE PROPERTIES"})
"""The database is made before, like the source's, under a name of its own."""
LEFT_OUT = OUTWARD | LATER | OF_DATABASE | {"SECURITY LABEL"}
"""A label is for an extension that has to be loaded, and masks or forbids."""
OF_TABLE = frozenset({"POLICY", "ROW SECURITY", "CONSTRAINT", "FK CONSTRAINT", "DEFAULT"})
"""Parts of a table, whose name begins with the table's."""
ABOUT = frozenset({"ACL", "DEFAULT ACL", "COMMENT"})
"""Words about an object, or rights to it."""
ROWS = frozenset({"TABLE DATA", "SEQUENCE SET", "BLOBS"})
HOLD_DATA = frozenset(
    {"TABLE", "TYPE", "DOMAIN", "SEQUENCE", "INDEX", "CONSTRAINT", "CHECK CONSTRAINT", "DEFAULT"}
    | {"FK CONSTRAINT", "TABLE ATTACH", "INDEX ATTACH", "COLLATION", "SCHEMA", "EXTENSION"}
    | {"SHELL TYPE", "SEQUENCE OWNED BY", "BLOB", "BLOB METADATA", "ROW SECURITY", "POLICY"}
)
"""Objects that rows, their answers or their plans depend on: all have to be there."""
COPY = re.compile(rb"^COPY .* FROM stdin;\r?\n?$")
END = (b"\\.\n", b"\\.\r\n", b"\\.")
HEADER = re.compile(
    rb"^-- (?:Data for )?Name: (?P<name>.*); Type: (?P<type>[A-Z ]+); "
    rb"Schema: (?P<schema>.*?)(?:; Owner: .*)?\r?\n?$"
)
SET = re.compile(rb"^SET (?P<name>[A-Za-z_]+) = (?P<value>.*);\r?\n?$")
BETWEEN = re.compile(rb"^(?:\s*$|--|\\|SET [A-Za-z_]+ = .*;\s*$|(?:RE)?SET SESSION AUTHORIZATION)")
"""Lines that stand between sections: they are for what follows."""
META = re.compile(rb"^\\(?:(?:un)?restrict|connect) ")
WITHIN = re.compile(rb'^CREATE EXTENSION .* WITH SCHEMA (?P<schema>(?!pg_)[^\s;"]+|"[^"]+");')
"""Where an extension lies; a provider's own schema is in no dump."""
NO_PATH = b"SELECT pg_catalog.set_config('search_path', '', false);"
PUBLIC = "SCHEMA", "public"
"""Is there already; a dump by `--clean` makes it anew."""
MARK = "dyno-refused"
CAUGHT = (
    "syntax_error_or_access_rule_violation OR feature_not_supported OR invalid_schema_name "
    "OR invalid_parameter_value OR undefined_file OR external_routine_exception"
)
"""Errors that say of an object, rather than of the server's state, that it cannot be made."""


@dataclass(frozen=True)
class DumpSection:
    """What a part of a dump's SQL is of."""

    type: str
    schema: str
    name: str

    @property
    def label(self) -> str:
        """How messages name it."""
        where = "" if self.schema == "-" else f"{self.schema}."
        return f"{self.type.lower()} `{where}{self.name}`"

    @property
    def plain(self) -> str:
        """Its name without arguments."""
        return self.name.partition("(")[0]

    @property
    def may_lack(self) -> bool:
        """Whether the data are whole without it."""
        return self.type not in HOLD_DATA | ROWS or (self.type, self.name) == PUBLIC


def section_of(line: bytes) -> DumpSection | None:
    """The section that a comment begins; None: it begins none."""
    match = HEADER.match(line)
    if match is None:
        return None
    type, schema, name = (
        match.group(key).decode(errors="replace") for key in ("type", "schema", "name")
    )
    return DumpSection(type, schema, name)


@dataclass(frozen=True, kw_only=True)
class DumpSupport:
    """What a server and a psql take."""

    settings: frozenset[str]  # that the server knows
    oids: bool  # whether its tables may have them
    restricts: bool  # whether psql knows \restrict
    search_path: str  # of the source's sessions
    rows: bool = True  # whether it is to have them
    absent: frozenset[str] = frozenset()  # extensions that the server cannot make
    members: frozenset[tuple[str, str]] = frozenset()
    """Schemas and names of what the other extensions make."""


@dataclass
class PostgresFeed:
    """A dump's lines as psql gets them; knows afterwards of which section a line was."""

    taking: DumpSupport
    lacks: list[str] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list, init=False)
    _sections: list[DumpSection] = field(default_factory=list, init=False)
    _line: int = field(default=0, init=False)
    _made: set[tuple[str, str]] = field(default_factory=set, init=False)
    _pathless: bool = field(default=False, init=False)  # whether the dump itself sets none
    _oids: bool = field(default=False, init=False)
    _tag: str = field(default_factory=lambda: f"$dyno{secrets.token_hex(8)}", init=False)

    def at(self, line: int) -> DumpSection | None:
        """The section of a line that was fed, the first being 1; None: it is before them all."""
        place = bisect_right(self._starts, line) - 1
        return self._sections[place] if place >= 0 else None

    def lines(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """The lines of a dump that psql gets, in one session."""
        for line in self._taken(iter(lines)):
            self._line += 1
            yield line

    def _taken(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        header: bytes | None = None
        for line, is_header in with_headers(lines):
            if is_header:
                header = line
                break
            if BETWEEN.match(line) or line.startswith(NO_PATH):  # not the DROPs of `--clean`
                yield from self._outside(line)
        while header is not None:
            section = section_of(header)
            assert section is not None, "a header names its section"
            if not self._keeps(section):
                header = yield from self._dropped(lines)
                continue
            yield from self._begun(section)
            if section.type in ROWS:
                header = yield from self._rows(lines)
            elif section.may_lack:
                header = yield from self._whole(lines)
            else:
                header = yield from self._definition(lines)

    def _definition(self, lines: Iterator[bytes]) -> Generator[bytes, None, bytes | None]:
        """Lines up to the next header, which is returned; None: the dump ends."""
        for line, header in with_headers(lines):
            if header:
                return line
            yield from self._outside(line)
        return None

    def _rows(self, lines: Iterator[bytes]) -> Generator[bytes, None, bytes | None]:
        """The same of rows, whatever they look like."""
        inserts = False
        for line, header in with_headers(lines):
            if header:
                return line
            inserts = inserts or line.startswith(b"INSERT ")
            if inserts and not line.startswith(b"SET default_tablespace"):
                yield line
                continue
            yield from self._outside(line)
            if COPY.match(line):
                yield from rows_of(lines)
        return None

    def _dropped(self, lines: Iterator[bytes]) -> Generator[bytes, None, bytes | None]:
        """The same of what is left out: only what stands before the next header comes."""
        held: list[bytes] = []
        for line, header in with_headers(lines):
            if header:
                for each in held:
                    yield from self._outside(each)
                return line
            if COPY.match(line):
                for _ in rows_of(lines):
                    pass
            held = [*held, line] if BETWEEN.match(line) else []
        for each in held:
            yield from self._outside(each)
        return None

    def _whole(self, lines: Iterator[bytes]) -> Generator[bytes, None, bytes | None]:
        """The same of what the server may refuse, as one statement that fails for itself."""
        held: list[bytes] = []
        header = None
        for line, is_header in with_headers(lines):
            if is_header:
                header = line
                break
            held.append(line)
        end = len(held)
        while end and BETWEEN.match(held[end - 1]):
            end -= 1
        if end:
            yield f"DO {self._tag}a$ BEGIN EXECUTE {self._tag}b$\n".encode()
            yield from held[:end]
            yield (
                f"{self._tag}b$; EXCEPTION WHEN {CAUGHT} THEN RAISE WARNING '{MARK} % %', "
                f"SQLSTATE, SQLERRM; END {self._tag}a$;\n"
            ).encode()
        for line in held[end:]:
            yield from self._outside(line)
        return header

    def _keeps(self, section: DumpSection) -> bool:
        """Whether a section is restored at all."""
        absent, where = self.taking.absent, (section.schema, section.name)
        if section.type in LEFT_OUT or (section.type == "EXTENSION" and section.name in absent):
            return False
        if section.type in ROWS and not self.taking.rows:
            return False
        if absent and section.type in (ROWS - {"BLOBS"}) | OF_TABLE:
            return self._has_table(section)
        self._made.add(where)
        return True

    def _has_table(self, section: DumpSection) -> bool:
        """Whether the table of a section is there; the others are of extensions that are absent."""
        words = section.name.split(" ")
        names = {(section.schema, " ".join(words[: n + 1])) for n in range(len(words))}
        return not names.isdisjoint(self._made | self.taking.members)

    def _begun(self, section: DumpSection) -> Iterator[bytes]:
        """What comes before a section that is kept."""
        self._starts.append(self._line + 1)
        self._sections.append(section)
        if section.type == "TABLE" and self._oids:
            self.lacks.append(f"{section.label} is without its OIDs, which PostgreSQL 12 ended")
        if self._pathless and section.schema not in ("-", "pg_catalog"):
            yield path_set(f"{quoted(section.schema)}, {self.taking.search_path}")

    def _outside(self, line: bytes) -> Iterator[bytes]:
        """A line that is no part of a section which is held as a whole."""
        if line.startswith(NO_PATH):
            self._pathless = True
            yield path_set(self.taking.search_path)
        elif match := WITHIN.match(line):
            yield b"CREATE SCHEMA IF NOT EXISTS " + match.group("schema") + b";\n"
            yield line
        elif match := SET.match(line):
            if self._takes(match.group("name").decode().lower(), match.group("value")):
                yield line
        elif not META.match(line) or (self.taking.restricts and b"restrict" in line):
            yield line

    def _takes(self, name: str, value: bytes) -> bool:
        """Whether a line that sets something is for this server."""
        if name == "default_with_oids" and not self.taking.oids:
            self._oids = value == b"true"
            return False
        if name == "default_tablespace":
            return value == b"''"
        return name in self.taking.settings


def with_headers(lines: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each line, and whether it begins a section: other comments come before such a one."""
    previous = b""
    for line in lines:
        yield line, previous.startswith(b"--") and HEADER.match(line) is not None
        previous = line


def rows_of(lines: Iterator[bytes]) -> Iterator[bytes]:
    """The rows behind a COPY, and the line that ends them."""
    for line in lines:
        yield line
        if line in END:
            return


def without_rows(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a plain dump outside of rows."""
    every = iter(lines)
    for line in every:
        yield line
        if COPY.match(line):
            for _ in rows_of(every):
                pass


def path_set(path: str) -> bytes:
    """The statement that says where names are looked up."""
    return f"SELECT pg_catalog.set_config('search_path', {literal(path)}, false);\n".encode()


def quoted(name: str) -> str:
    """A name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'
