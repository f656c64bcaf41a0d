r"""The slow log of MySQL (5.5 to 9), MariaDB (10.2 to 12) and Percona Server.

A record is some lines of `# …`, perhaps `use database;`, `SET timestamp=…;`, and the text, which
ends in `;\n`. Values of prepared statements stand in the text, too.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from dbdyno.capture.call import Call
from dbdyno.capture.log.mysql_time import MysqlClock
from dbdyno.capture.log.tally import Tally
from dbdyno.engine.mysql import flavour

TIME, QUERY_TIME = "# Time: ", "# Query_time: "
BEGINNINGS = ("# User@Host: ", TIME)
BEGINNING = re.compile(r"# Time: \d{2,4}[-\d]+[T ]+\d|# User@Host: .*\[.*\] @ .*\[.*\]")
ADMINISTRATOR = "# administrator command: "
LINES_MAX = 10_000
"""Lines whose meaning is kept."""
BANNER = re.compile(r"\S.*, Version: (\S+) .*started with:\n?")
"""The first of three lines that a server writes when it opens the log."""
BANNER_REST = ("Tcp port: ", "TCP Port: ", "Time\t", "Time  ")
HOST = re.compile(r"# User@Host: (.*?)\[(.*?)\] @ .*?\[.*?\](?:\s+Id:\s*(\d+))?\s*")
TIMES = re.compile(
    r"# Query_time: +(\d+(?:\.\d+)?) +Lock_time: +[\d.]+ +Rows_sent: +(\d+) +Rows_examined: +\d+"
)
SCHEMA = re.compile(r"Schema:(.*?)(?:  ?\w+: |\s*\Z)")
SESSION = re.compile(r"#? ?Thread_id: (\d+)")
AFFECTED = re.compile(r"Rows_affected: (\d+)")
FAILED = re.compile(r"(?:Errno|Last_errno): (\d+)")
UNMARKED = re.compile(r"\s+[A-Z]\w*: \S+(?:\s+\w+: \S+)*\s*\Z")
"""A header's line without its `#`, as Percona Server 8 writes one."""
ROUTINE = re.compile(r"# Stored[ _]routine: ")
RATE = re.compile(r"Log_slow_rate_limit: (\d+)")
SET_TIME = re.compile(r"SET (?:[\w=,]*,)?timestamp=(\d+(?:\.\d+)?);\n")
USE = re.compile(r"use (.+);\n")
READS = re.compile(r"(?:\s|\(|/\*.*?\*/)*(?:select|with|values|table)\b", re.IGNORECASE | re.DOTALL)
BEGINS = re.compile(r"^(?:# User@Host: |# Time: \d)", re.MULTILINE)
"""What only a slow log has at the beginning of a line."""
FIRST_TIME = re.compile(r"^SET (?:[\w=,]*,)?timestamp=(\d+)", re.MULTILINE)


@dataclass
class SlowLogHead:
    """What the lines before a text say."""

    time: str = ""
    user: str = ""
    session: str = ""
    schema: str | None = None
    duration_s: float | None = None
    sent: int = 0
    affected: int | None = None
    error: str = ""
    nested: bool = False


@dataclass(frozen=True)
class LineFigures:
    """What a line says beside times; many records have the same line."""

    session: str = ""
    schema: str | None = None
    affected: int | None = None
    error: str = ""
    rate: int = 0
    forked: bool = False  # only MariaDB writes it
    nested: bool = False  # a stored routine ran the statement


@dataclass
class SlowLog:
    """Reads the lines of a slow log, file after file; counts what cannot be used."""

    tally: Tally
    clock: MysqlClock = field(default_factory=MysqlClock)
    users: dict[str, tuple[str, str]] = field(default_factory=dict)  # by line: user, session
    lines: dict[str, LineFigures] = field(default_factory=dict)  # by line
    database: str = ""  # of the last `use`, which holds for the file
    head: SlowLogHead = field(default_factory=SlowLogHead)
    text: list[str] = field(default_factory=list)

    def calls(self, lines: Iterable[str]) -> Iterator[Call]:
        """The calls of a file."""
        self.head, self.text, self.database = SlowLogHead(), [], ""
        for line in unix_ends(lines):
            if line[0] == "#":
                if line.startswith(BEGINNINGS) and (line in self.users or BEGINNING.match(line)):
                    if self.text:
                        call = self.ended()
                        if call is not None:
                            yield call
                    self.begun(line)
                elif self.text or line.startswith(ADMINISTRATOR):
                    self.text.append(line)
                else:
                    self.header(line)
            elif self.head.duration_s is None or line.endswith("started with:\n"):
                if match := BANNER.fullmatch(line):
                    call = self.ended()
                    if call is not None:
                        yield call
                    self.tally.opened(match[1])
                    self.database = ""
                elif self.head.duration_s is not None:
                    self.text.append(line)
                elif line.strip() and not line.startswith(BANNER_REST):
                    self.tally.strange_line(line)
            elif not self.text and UNMARKED.match(line):
                self.header(line)
            elif self.text or line.strip():
                self.text.append(line)
        call = self.ended()
        if call is not None:
            yield call

    def begun(self, line: str) -> None:
        """Begins a record, or goes on with the one that a time has begun."""
        if line.startswith(TIME):
            self.head = SlowLogHead(time=line[len(TIME) :].strip())
            return
        if self.head.duration_s is not None or self.head.user:
            self.head = SlowLogHead()
        known = self.users.get(line)
        if known is None:
            match = HOST.match(line)
            known = (match[2].strip() or match[1].strip(), match[3] or "") if match else ("", "")
            if len(self.users) >= LINES_MAX:
                self.users.clear()
            self.users[line] = known
        self.head.user, self.head.session = known

    def header(self, line: str) -> None:
        """Reads one of the lines before a text."""
        head = self.head
        if line.startswith(QUERY_TIME):
            match = TIMES.match(line)
            if match is None:
                self.tally.strange_line(line)
                return
            head.duration_s, head.sent = float(match[1]), int(match[2])
            line = line[match.end() :]
            if len(line) < 2:
                return
        beside = self.lines.get(line)
        if beside is None:
            if len(self.lines) >= LINES_MAX:
                self.lines.clear()
            beside = self.lines[line] = beside_of(line)
        if beside.session:
            head.session = beside.session
        if beside.schema is not None:
            head.schema = beside.schema
        if beside.affected is not None:
            head.affected = beside.affected
        if beside.error:
            head.error = beside.error
        head.nested = head.nested or beside.nested
        if beside.rate > self.tally.rate_limit:
            self.tally.rate_limit = beside.rate
        if beside.forked and not self.tally.engine:
            self.tally.engine = flavour.told("mariadb")

    def ended(self) -> Call | None:
        """The call of the record that ends here; None: it is none, or torn."""
        head, lines = self.head, self.text
        self.head, self.text = SlowLogHead(), []
        if head.duration_s is None:
            self.tally.torn += bool(head.user or lines)
            return None
        self.tally.records += 1
        while lines and not lines[-1].strip():
            lines.pop()
        at, end_s = 0, None
        if lines and (match := USE.fullmatch(lines[at])):
            self.database, at = match[1].strip("`"), at + 1
        if at < len(lines) and (match := SET_TIME.fullmatch(lines[at])):
            end_s, at = float(match[1]), at + 1
        text = lines[at] if len(lines) == at + 1 else "".join(lines[at:])
        if not text.endswith(";\n"):
            self.tally.torn += 1
            return None
        if text.startswith(ADMINISTRATOR):
            return None
        exact = self.clock.read(head.time) if head.time[4:5] == "-" else None
        end_s = exact or end_s or self.clock.read(head.time) or 0.0
        self.tally.texts_with_time += 1
        self.tally.without_session += not head.session
        if self.tally.shortest_s is None or head.duration_s < self.tally.shortest_s:
            self.tally.shortest_s = head.duration_s
        return Call(
            end_s=end_s,
            duration_s=head.duration_s,
            session=head.session,
            account=head.user,
            database=self.database if head.schema is None else head.schema,
            text=text[:-2],
            rows=rows_of(head, text),
            error=head.error,
            nested=head.nested,
        )


def unix_ends(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a file; those of a server on Windows as any other writes them."""
    rest = iter(lines)
    first = next(rest, "")
    whole = chain((first,) if first else (), rest)
    if not first.endswith("\r\n"):
        return whole
    return (line[:-2] + "\n" if line.endswith("\r\n") else line for line in whole)


def rows_of(head: SlowLogHead, text: str) -> int | None:
    """The rows that a call sent or changed; None: MySQL's log has none of those changed."""
    if head.sent or READS.match(text):
        return head.sent
    return head.affected


def beside_of(line: str) -> LineFigures:
    """What a line says."""
    session, schema = SESSION.match(line), SCHEMA.search(line)
    affected, failed, rate = AFFECTED.search(line), FAILED.search(line), RATE.search(line)
    return LineFigures(
        session=session[1] if session else "",
        schema=schema[1].strip() if schema else None,
        affected=int(affected[1]) if affected else None,
        error=failed[1] if failed and failed[1] != "0" else "",
        rate=int(rate[1]) if rate else 0,
        forked="QC_hit: " in line,
        nested=ROUTINE.match(line) is not None,
    )


def beginning(head: str) -> str:
    """The time of a file's first record, as texts that sort like it."""
    match = FIRST_TIME.search(head)
    return match[1] if match else ""
