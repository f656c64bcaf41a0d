"""Reads a MySQL or MariaDB server's error log: errors and warnings, why it ended or did not start.

2026-11-22T07:36:10.626841Z 0 [Warning] [MY-011810] [Server] …     MySQL 5.7 and later, by LC_ALL=C
2026-11-22  7:36:08 0 [Note] InnoDB: …                             MariaDB; MySQL 5.6 with 07
261122  7:36:08 [Note] …                                           MySQL 5.5; of InnoDB without Note

The lab's servers run in the time zone UTC, so all of these are times in UTC.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from msgspec.structs import replace

from dbdyno.engine.log import UNSAID
from dbdyno.model.step_files import LogEvent

LINE = re.compile(
    r"(?:20(?=\d\d-))?(\d\d)-?(\d\d)-?(\d\d)(?:T| {1,2})"
    r"(\d{1,2}):(\d\d):(\d\d)(?:\.(\d{3})\d*)?Z? +(?:\d+ +)?"
    r"(?:\[(System|Note|Warning|ERROR)\] |(?=InnoDB: ))(?:\[MY-\d+\] \[\w+\] )?(.*)"
)
TEXT_LENGTH_MAX = 2000
ERRORS_MAX = 100
"""So many errors and warnings of one step are kept word for word; of the others the number."""
CRASH = re.compile(r"got signal \d+ ;|got exception 0x|Assertion failure|\[FATAL\]")
"""The words of mysqld when it ends by a fault of its own; from MySQL 8 on with `- mysqld`."""
SHUT_DOWN = re.compile(r"(mysqld|mariadbd): Shutdown complete")
"""The last line of a shutdown in order, in all versions."""
KINDS = (
    (re.compile(r"crash recovery|Starting recovery|was not shutdown normally"), "crash recovery"),
    (re.compile(r"page_cleaner: \d+ms intended loop took"), "page cleaner behind"),
)
"""Messages of any severity that docs/results.md has a word for."""
GENERIC = (
    "Aborting",
    "Data Dictionary initialization failed",
    "Failed to initialize DD Storage Engine",
    "Plugin 'InnoDB' init function returned error",
    "Plugin 'InnoDB' registration as a STORAGE ENGINE failed",
    "Failed to initialize builtin plugins",
    "Unknown/unsupported storage engine: InnoDB",
)
"""Errors that follow from another one and say nothing by themselves."""
REMEDIES = (
    ("Address already in use", "the port is in use: remove `settings.port`, so that dyno chooses"),
    (
        "Cannot allocate memory",
        "there is not enough memory: lower `memory` or `innodb_buffer_pool_size`",
    ),
    (
        "io_setup() failed",
        "the kernel's asynchronous requests are used up: raise fs.aio-max-nr by sysctl, or set "
        "`innodb_use_native_aio` to off",
    ),
    ("No space left on device", "the disk is full"),
    (
        "redo log",
        "data that another version, or a crashed server, left cannot be used: fill them again",
    ),
    (
        "Permission denied",
        "the account, or an AppArmor profile of mysqld (`aa-status`), keeps it from a file: use "
        "another data_dir, or put the profile into complain mode",
    ),
    ("errno 13", "an AppArmor profile of mysqld may keep it from a file: see `aa-status`"),
    ("unknown variable", "drop the setting"),
)
"""The complaints of a failed start, each with its remedy; the first that is found counts."""


@dataclass(frozen=True)
class MysqlLogRecord:
    """One message of the log with the lines that belong to it."""

    unix_ms: int
    severity: str  # System, Note, Warning, ERROR
    text: str


def records(lines: Iterable[str]) -> Iterator[MysqlLogRecord]:
    """The messages of log lines; a line that begins otherwise belongs to the message before it."""
    held: list[str] = []
    head: re.Match[str] | None = None
    for line in lines:
        found = LINE.match(line)
        if found is None:
            held.append(line.strip())
            continue
        if head is not None:
            yield record(head, held)
        head, held = found, [found[9]]
    if head is not None:
        yield record(head, held)


def record(head: re.Match[str], texts: list[str]) -> MysqlLogRecord:
    """A message of its first line and what was added to it."""
    year, month, day, hour, minute, second = map(int, head.groups()[:6])
    at = datetime(2000 + year, month, day, hour, minute, second, tzinfo=UTC)
    unix_ms = int(at.timestamp()) * 1000 + int(head[7] or 0)
    return MysqlLogRecord(unix_ms, head[8] or "Note", "\n".join(texts).strip())


def events(lines: Iterable[str]) -> list[LogEvent]:
    """The events of docs/results.md (done.json) in log lines, in order."""
    kept: list[LogEvent] = []
    more = 0
    for message in records(lines):
        kind = kind_of(message)
        if kind is None:
            continue
        if len(kept) >= ERRORS_MAX:
            more += 1
            continue
        text = message.text[:TEXT_LENGTH_MAX]
        kept.append(LogEvent(unix_ms=message.unix_ms, name=kind, text=text))
    if more:
        kept[-1] = replace(kept[-1], text=f"{kept[-1].text}\n(and {more} more messages)")
    return kept


def kind_of(message: MysqlLogRecord) -> str | None:
    """The name of the message in docs/results.md; None for one that is not kept."""
    for pattern, kind in KINDS:
        if pattern.search(message.text):
            return kind
    return {"ERROR": "error", "Warning": "warning"}.get(message.severity)


def crash(lines: Iterable[str]) -> str | None:
    """The first line that tells of a crash; None where all is well."""
    return next((line.strip() for line in lines if CRASH.search(line)), None)


def is_shut_down(lines: Iterable[str]) -> bool:
    """Whether the log ends with a shutdown in order."""
    return any(SHUT_DOWN.search(line) for line in lines)


def reason(lines: list[str]) -> str:
    """Why a server ended, in one line, from its log: the first bad message, and a remedy.

    Later errors follow from the first one. Without one as `server.log.reason` says.
    """
    said = list(records(lines))
    bad = [one.text for one in said if one.severity == "ERROR"]
    telling = [text for text in bad if not text.startswith(GENERIC)] or bad
    whole = "\n".join(lines)
    remedy = next((text for word, text in REMEDIES if word in whole), None)
    if telling:
        first = " ".join(telling[0].split())
    elif lines and not said:
        first = lines[-1].strip()
    else:
        first = UNSAID
    return first + (f"; {remedy}" if remedy else "")
