"""The SQL of a dump of MySQL or MariaDB: which of it a server of either takes, and how.

Both write words that the other, or an older one, does not know. Variables that a server lacks and
modes that it refuses are left out; another collation stands for one that it lacks.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

OWN_DATABASE = re.compile(rb"^(CREATE DATABASE |USE `)")
OUTWARD = re.compile(
    rb"^(SET @@GLOBAL\.GTID_PURGED|SET GLOBAL gtid_slave_pos|CHANGE (MASTER|REPLICATION) |"
    rb"(START|STOP) (SLAVE|REPLICA|ALL SLAVES))",
    re.IGNORECASE,
)
"""How statements begin that would make the server follow another."""
SANDBOX = re.compile(rb"^/\*M?!999999")
"""A word to the newest clients of MariaDB that others refuse."""
ROWS = (b"INSERT INTO ", b"(", b"REPLACE INTO ")
END = re.compile(rb";\s*$")
HEADER = re.compile(
    rb"^-- (?P<what>Table structure|Dumping data|Temporary \w+ structure|Final view structure|"
    rb"Dumping routines|Dumping events) for (?:table|view|database) [`'](?P<name>[^`']+)"
)
LABELS: Mapping[str, str] = {
    "Table structure": "table",
    "Dumping data": "rows or triggers of table",
    "Dumping routines": "routines of database",
    "Dumping events": "events of database",
}
DELIMITER = re.compile(rb"^DELIMITER (?P<mark>\S+)")
SET = re.compile(
    rb"^(?P<versioned>/\*M?!\d+ )?SET (?P<rest>(?!NAMES|CHARACTER SET).*)", re.IGNORECASE
)
READ = re.compile(rb"@@(?:(?:session|global|local)\.)?(?P<name>\w+)", re.IGNORECASE)
WRITTEN = re.compile(
    rb"(?:^|,)\s*(?:(?:session|global|local)\s+)?(?P<name>[a-z]\w*)\s*:?=", re.IGNORECASE
)
"""Variables of the server that a SET reads and writes; those of the session begin with one @."""
MODES = re.compile(rb"(?P<before>\bsql_mode\s*=\s*')(?P<modes>[^']*)'", re.IGNORECASE)
NAMED = re.compile(
    rb"(?P<before>\bCOLLATE[ =]+|\bcollation_connection\s*=\s*)(?P<name>\w+)", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True)
class DumpNames:
    """What the statements of a dump name of a server, outside of rows."""

    variables: frozenset[str] = frozenset()
    modes: frozenset[str] = frozenset()
    collations: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class DumpExclusions:
    """What a server does not take of a dump."""

    variables: frozenset[str] = frozenset()
    modes: frozenset[str] = frozenset()
    collations: Mapping[str, str] = field(default_factory=dict)  # what stands for each


def words_of(line: bytes) -> DumpNames:
    """What a line names that is none of rows."""
    setting = SET.match(line)
    rest = b"" if setting is None else setting.group("rest")
    modes = (mode for match in MODES.finditer(rest) for mode in match.group("modes").split(b","))
    return DumpNames(
        variables=variables_of(rest),
        modes=frozenset(mode.decode() for mode in modes if mode),
        collations=frozenset(
            match.group("name").decode().lower() for match in NAMED.finditer(line)
        ),
    )


def variables_of(rest: bytes) -> frozenset[str]:
    """The variables of the server that a SET reads or writes."""
    names = (*READ.finditer(rest), *WRITTEN.finditer(rest))
    return frozenset(match.group("name").decode().lower() for match in names)


@dataclass
class MysqlFeed:
    """A dump's lines as the client gets them; knows afterwards of which object a line was."""

    taking: DumpExclusions
    _starts: list[int] = field(default_factory=list, init=False)
    _labels: list[str] = field(default_factory=list, init=False)

    def at(self, line: int) -> str | None:
        """The object of a line that was fed, the first being 1; None: nobody knows."""
        place = bisect_right(self._starts, line) - 1
        return self._labels[place] if place >= 0 else None

    def lines(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """The lines that are restored, into whichever database the client has."""
        for number, line in enumerate(self._taken(lines), start=1):
            if match := HEADER.match(line):
                self._starts.append(number)
                what, name = (
                    match.group("what").decode(),
                    match.group("name").decode(errors="replace"),
                )
                self._labels.append(f"{LABELS.get(what, 'view')} `{name}`")
            yield line

    def _taken(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        dropped = bodies = False
        for line in lines:
            if dropped:
                dropped = END.search(line) is None
                continue
            if line.startswith(ROWS):
                yield line
                continue
            dropped = OUTWARD.match(line) is not None and END.search(line) is None
            if OUTWARD.match(line) or SANDBOX.match(line) or OWN_DATABASE.match(line):
                continue
            if match := DELIMITER.match(line):
                bodies = match.group("mark") != b";"
            setting = SET.match(line)
            if setting is not None and (setting.group("versioned") or not bodies):
                if variables_of(setting.group("rest")) & self.taking.variables:
                    continue
                line = MODES.sub(self._modes, line)
            yield self._collated(line)

    def _modes(self, match: re.Match[bytes]) -> bytes:
        """The setting of modes without those that the server refuses."""
        modes, refused = match.group("modes").split(b","), self.taking.modes
        kept = (mode for mode in modes if mode.decode() not in refused)
        return match.group("before") + b",".join(kept) + b"'"

    def _collated(self, line: bytes) -> bytes:
        """The line with what stands for collations that the server lacks."""
        if not self.taking.collations:
            return line

        def other(match: re.Match[bytes]) -> bytes:
            name = self.taking.collations.get(match.group("name").decode().lower())
            return match[0] if name is None else match.group("before") + name.encode()

        return NAMED.sub(other, line)
