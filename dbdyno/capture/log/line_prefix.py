"""A prefix of lines of PostgreSQL's log, as `log_line_prefix` writes it and as it is read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct

from dbdyno.model.error import DynoError

TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
ZONE = r" (?:[A-Z][A-Za-z]*|[+-]\d\d(?::?\d\d)?)"
ESCAPES = {
    "m": rf"(?P<time>{TIME}\.\d{{3}}{ZONE})",
    "t": rf"(?P<time>{TIME}{ZONE})",
    "n": r"(?P<epoch>\d+\.\d{3})",
    "p": r"(?P<pid>\d+)",
    "c": r"(?P<session>[\da-f]+\.[\da-f]+)",
    "u": r"(?P<user>.*?)",
    "d": r"(?P<database>.*?)",
    "a": r"(?P<application>.*?)",
    "e": r"(?P<state>[\dA-Z]{5})",
    "Q": r"(?P<query>-?\d+)",
    "r": r".*?",
    "h": r".*?",
    "L": r".*?",
    "b": r".*?",
    "P": r"\d*",
    "l": r"\d+",
    "s": rf"(?:{TIME}(?:\.\d{{3}})?{ZONE})?",
    "v": r"[-\d/]*",
    "x": r"\d+",
    "i": r".*?",
    "%": "%",
}
SEVERITIES = (
    r"LOG|ERROR|FATAL|PANIC|WARNING|NOTICE|INFO|DEBUG\d?|DETAIL|HINT|STATEMENT|CONTEXT|QUERY"
    r"|LOCATION|BACKTRACE"
)
BESIDE = frozenset({"DETAIL", "HINT", "STATEMENT", "CONTEXT", "QUERY", "LOCATION", "BACKTRACE"})
"""Of lines that belong to the message before."""
SEVERITY = re.compile(rf"({SEVERITIES}):  ")
ANY_SEVERITY = re.compile(
    rf"(?:{SEVERITIES}):  |(?![^\W\d_]*(?:{SEVERITIES}):  )[^\W\d_]{{2,20}}:  "
)
"""Of whatever language; a prefix may end in a letter directly before it."""
SHOWN_MAX = 60


@dataclass(frozen=True, kw_only=True)
class LogFormat:
    """How a log is to be read."""

    prefix: str = ""  # log_line_prefix as the user says; empty: its lines tell
    server_prefix: str = ""  # as the server has it now
    accepts_loss: bool = False  # whether lines that are not understood may be many


@dataclass(frozen=True)
class Prefix:
    """A prefix of lines, as the setting writes it and as it is read."""

    written: str
    pattern: re.Pattern[str]  # up to a severity, in whatever language
    line: re.Pattern[str]  # with the severity


class PrefixFields(Struct):
    """What a prefix says; None: nothing, as it has no such part or this line none."""

    time: str | None = None
    epoch: str | None = None
    pid: str | None = None
    session: str | None = None
    user: str | None = None
    database: str | None = None
    application: str | None = None
    state: str | None = None
    query: str | None = None


def prefix_of(written: str) -> Prefix:
    """The prefix that `log_line_prefix` writes so. Raises DynoError: no time, or no session."""
    names: set[str] = set()
    pieces, optional, place = [], False, 0
    for match in re.finditer(r"%-?\d*([a-zA-Z%])", written):
        pieces.append(re.escape(written[place : match.start()]))
        place = match.end()
        letter = match[1]
        if letter == "q":
            pieces.append("(?:")
            optional = True
            continue
        if letter not in ESCAPES:
            raise DynoError(f"--prefix: `%{letter}` is unknown; write it as `log_line_prefix` does")
        pattern = ESCAPES[letter]
        name = re.match(r"\(\?P<(\w+)>", pattern)
        if name is not None and name[1] in names:
            pattern = pattern.replace(f"?P<{name[1]}>", "?:")
        if name is not None:
            names.add(name[1])
        padded = match[0][1:-1] != ""
        pieces.append(rf"\s*{pattern}\s*" if padded else pattern)
    pieces.append(re.escape(written[place:]))
    pieces.append(")?" if optional else "")
    if not names & {"time", "epoch"} or not names & {"session", "pid"}:
        raise DynoError(
            f"--prefix: `{written}` has no time (%m) or no session (%c or %p): without them a log "
            'tells no calls apart; set log_line_prefix = "%m [%c] %q%u@%d/%a "'
        )
    begin = "".join(pieces)  # names have spaces: they end where a severity begins
    return Prefix(
        written,
        re.compile(f"{begin}(?={ANY_SEVERITY.pattern})"),
        re.compile(f"{begin}(?P<severity>{SEVERITIES}):  "),
    )


def beginning(line: str, lines: Sequence[str]) -> str:
    """A line as a message names it: by what stands before its severity, or by its number.

    What follows the severity can hold values, and so can all of a line that has none.
    """
    severity = ANY_SEVERITY.search(line)
    if severity is None:
        return f"line {lines.index(line) + 1}"
    return f"the line that begins `{line[: severity.start()][:SHOWN_MAX]}`"
