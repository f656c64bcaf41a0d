"""The general log of MySQL and MariaDB: every statement with its values, and no times.

An Execute shows the text with the values that were bound; the session's Prepare has it with `?`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice

from msgspec import structs

from dbdyno.capture.call import Call
from dbdyno.capture.log.mysql_time import MysqlClock
from dbdyno.capture.log.slow_log import BANNER, BANNER_REST, unix_ends
from dbdyno.capture.log.tally import Tally
from dbdyno.capture.mysql_prepared import bound_values, pieces_of

RECORD = re.compile(
    r"(?:(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|[+-]\d\d:\d\d))\t"
    r"|(\d{6} [ \d]\d:\d\d:\d\d)\t|\t\t) *(\d+) ([A-Z][A-Za-z]*(?: [A-Za-z]+)*)(?:\t|\n|\Z)"
)
"""How a record begins: its time, or none where it is that of the record before; then who, what."""
BEGINS = re.compile(
    r"^(?:\t|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\S+|\d{6} [ \d]\d:\d\d:\d\d)\t"
    r" *\d+ (?:Connect|Query|Quit|Prepare|Execute|Init DB|Close stmt|Statistics|Ping)\t",
    re.MULTILINE,
)
"""What only a general log has at the beginning of a line."""
CONNECTED = re.compile(r"(.*?)@\S* (?:as \S* )?on ?(.*?)\s*(?: using \S+)?\s*")
HEAD_LINES = 10_000
"""Lines at the beginning in which a time is looked for."""
USE = re.compile(r"\s*use\s+`?([^`;\s]+)`?\s*;?\s*", re.IGNORECASE)
EXECUTED = re.compile(r"\s*EXECUTE\b", re.IGNORECASE)
PREPARED_MAX = 1000
"""Prepared texts that are kept for a session."""


@dataclass
class GeneralLogSession:
    """What a session's records have said that belongs to later ones."""

    database: str = ""
    account: str = ""
    prepared: dict[str, tuple[str, ...]] = field(default_factory=dict)  # text: pieces around `?`
    last: str = ""  # the text of the last Execute's Prepare


@dataclass
class GeneralLog:
    """Reads the lines of a general log, file after file; counts what cannot be used."""

    tally: Tally
    clock: MysqlClock = field(default_factory=MysqlClock)
    sessions: dict[str, GeneralLogSession] = field(default_factory=dict)

    def calls(self, lines: Iterable[str]) -> Iterator[Call]:
        """The calls of a file."""
        begun: re.Match[str] | None = None
        text: list[str] = []
        lines = unix_ends(lines)
        head = list(islice(lines, HEAD_LINES))
        time_s = self.first_s(head)
        lines = chain(head, lines)
        for line in lines:
            match = RECORD.match(line)
            if match is None and (begun is None or line.endswith("started with:\n")):
                if banner := BANNER.fullmatch(line):
                    self.tally.opened(banner[1])
                    yield from self.ended(begun, text, time_s)
                    begun, text = None, []
                elif line.strip() and not line.startswith(BANNER_REST):
                    self.tally.strange_line(line)
                continue
            if match is None:
                text.append(line)
                continue
            yield from self.ended(begun, text, time_s)
            begun, text = match, [line[match.end() :]]
            stamp = match[1] or match[2]
            if stamp:
                time_s = self.clock.read(stamp) or time_s
        whole = bool(text) and (text[-1].endswith("\n") or not text[-1])
        if begun is not None and not whole:
            self.tally.torn += 1
        else:
            yield from self.ended(begun, text, time_s)

    def first_s(self, lines: Iterable[str]) -> float:
        """The first time that the lines have, for records before it, which share its second."""
        for line in lines:
            match = RECORD.match(line)
            if match is not None and (match[1] or match[2]):
                return self.clock.read(match[1] or match[2]) or 0.0
        return 0.0

    def ended(self, begun: re.Match[str] | None, lines: list[str], time_s: float) -> Iterator[Call]:
        """The call of a record, if it is one."""
        if begun is None:
            return
        self.tally.records += 1
        name, command = begun[3], begun[4]
        session = self.sessions.get(name)
        if session is None or command == "Connect":
            session = self.sessions[name] = GeneralLogSession()
        text = "".join(lines)
        text = text[:-1] if text.endswith("\n") else text
        if command in ("Connect", "Change user"):
            match = CONNECTED.fullmatch(text)
            session.account, session.database = match.groups() if match else ("", "")
        elif command == "Init DB":
            session.database = text.strip()
        elif command == "Quit":
            del self.sessions[name]
        elif command == "Prepare":
            if len(session.prepared) >= PREPARED_MAX:
                session.prepared.clear()
            session.prepared[text] = pieces_of(text)
        elif command == "Query":
            if match := USE.fullmatch(text):
                session.database = match[1]
            # EXECUTE is followed by a record of its own with what it ran.
            if not EXECUTED.match(text):
                yield self.call(name, session, text, time_s)
        elif command == "Execute":
            yield self.executed(name, session, text, time_s)

    def call(self, name: str, session: GeneralLogSession, text: str, time_s: float) -> Call:
        """A call whose values stand in its text."""
        self.tally.untimed += 1
        return Call(
            end_s=time_s,
            duration_s=None,
            session=name,
            account=session.account,
            database=session.database,
            text=text,
        )

    def executed(self, name: str, session: GeneralLogSession, text: str, time_s: float) -> Call:
        """A call of a prepared statement; one with its values in the text if none fits."""
        call = self.call(name, session, text, time_s)
        for prepared in (session.last, *session.prepared):
            pieces = session.prepared.get(prepared)
            values = None if pieces is None else bound_values(text, pieces)
            if values is not None:
                session.last = prepared
                return structs.replace(call, text=prepared, values=values, way="prepared")
        return call


def beginning(head: str) -> str:
    """The time of a file's first record, as texts that sort like it."""
    times = (match[0].split("\t")[0] for match in BEGINS.finditer(head))
    return next((time.replace("  ", " 0") for time in times if time), "")
