"""What a server says against a dump, and what was tried and cures it.

Errors are known by their codes, as servers speak many languages. A message may quote a row's value,
so that only those come whole whose codes are about names.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from dbdyno.engine.postgres.sections import ABOUT, MARK, DumpSection
from dbdyno.engine.restore import without_values

TOLD = re.compile(
    r"^psql:<stdin>:(?P<line>\d+): (?P<level>\w+):  (?P<code>[0-9A-Z]{5}): (?P<said>.*)$"
)
WITHIN = re.compile(r'(?:SQL|PL/\w+) function "?([\w.]+)')
UNDEFINED = frozenset({"42P01", "42883", "42704", "3F000", "42703"})
"""No such relation, function, other object, schema, column."""
THERE = "42P06"
"""The schema is there."""
OF_NAMES = UNDEFINED | {"42P07", "42710", "42723", "42501", "42809", "42P13", "0A000", "58P01"}
"""Codes whose messages quote nothing but names."""


@dataclass
class Complaint:
    """An error or a warning of the server."""

    level: str
    line: int  # of psql's input
    code: str
    said: str
    more: list[str] = field(default_factory=list)  # DETAIL, CONTEXT …; may have values of rows

    @property
    def text(self) -> str:
        """Its first line, without values of rows."""
        if self.code in OF_NAMES:
            return with_names(self.said)
        return without_values(self.said)

    @property
    def within_function(self) -> str | None:
        """The function that a row, an index or a constraint had to call; None: there is none."""
        match = next(filter(None, map(WITHIN.search, self.more)), None)
        return None if match is None else match[1]


@dataclass(frozen=True)
class Remedy:
    """What cures an error of these codes whose message matches."""

    codes: frozenset[str]
    said: str
    cure: str


REMEDIES = (
    Remedy(
        frozenset({"42704"}),
        r"\b(abstime|reltime|tinterval)\b",
        "PostgreSQL 12 ended the type: at the source give the column another (ALTER TABLE … ALTER "
        "… TYPE timestamptz) and dump again",
    ),
    Remedy(
        frozenset({"42601"}), "OIDS|oids", "PostgreSQL 12 ended OIDs of rows: dump without `--oids`"
    ),
    Remedy(
        frozenset({"22023"}),
        "locale",
        "install the locale (`localedef -i xx_YY -f UTF-8 xx_YY.UTF-8`, of Debian's package "
        "`locales`)",
    ),
    Remedy(
        frozenset({"53100"}), "", "free space where `data_dir` lies, or name another `data_dir`"
    ),
)


def complaints(said: Iterable[str]) -> Iterator[Complaint]:
    """What psql says in its verbose form."""
    last: Complaint | None = None
    for line in said:
        match = TOLD.match(line)
        if match is not None:
            if last is not None:
                yield last
            last = Complaint(
                match.group("level"),
                int(match.group("line")),
                match.group("code"),
                match.group("said"),
            )
        elif last is not None:
            last.more.append(line)
    if last is not None:
        yield last


def refused(complaint: Complaint) -> tuple[str, str] | None:
    """The code and the words with which a part that may lack was refused; None: it is no such.

    A definition holds no row.
    """
    mark, _, rest = complaint.said.partition(" ")
    if complaint.level != "WARNING" or mark != MARK:
        return None
    code, _, words = rest.partition(" ")
    return code, with_names(words)


def with_names(said: str) -> str:
    """A server's words, where what they quote are names."""
    return re.sub(r'"([^"]*)"', r"`\1`", " ".join(said.split()))


def silent(section: DumpSection, code: str) -> bool:
    """Whether a refusal says only that words are about something that is left out, or is there."""
    return (section.type in ABOUT and code in UNDEFINED) or code == THERE


def cure(complaint: Complaint, absent: Sequence[str]) -> str:
    """What to do about an error, with a colon before it; "" where nobody knows.

    `absent`: extensions of the dump that the server does not have.
    """
    lines = (line for line in complaint.more if line.startswith("LINE "))  # of the statement
    where = "\n".join([complaint.said, *lines])
    for remedy in REMEDIES:
        if complaint.code in remedy.codes and re.search(remedy.said, where):
            return f": {remedy.cure}"
    if complaint.code not in UNDEFINED:
        return ""
    if absent:
        names = ", ".join(f"`{name}`" for name in absent)
        return f": it may be of extension {names}, which this server does not have: install it"
    function = complaint.within_function
    if function is not None:
        return (
            f": function `{function}` finds it by search_path, which is not set while this is made "
            f"(never, from 17 on, for indexes): at the source give the function its own (ALTER "
            f"FUNCTION {function} SET search_path = …) and dump again"
        )
    return ""
