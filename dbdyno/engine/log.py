"""Reads a PostgreSQL server's log: events with their times, crashes, why it did not start.

The lab sets log_line_prefix to `%n [%p] `: seconds since 1970 with milliseconds, and the process.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from dbdyno.model.step_files import LogEvent

PREFIX = "%n [%p] "
LINE = re.compile(r"(\d+)\.(\d{3}) \[(\d+)\] ([A-Z]+\d?):  (.*)", re.DOTALL)
TEXT_LENGTH_MAX = 2000
ERRORS_MAX = 100
"""So many errors of one step are kept word for word; of the others the number."""
TAIL_BYTES_MAX = 64 << 10
LOOK_BACK_BYTES_MAX = 16 << 20
"""So far back the start of a checkpoint is looked for that is still running as a step begins."""
CHECKPOINT = "] LOG:  checkpoint "
BAD_SEVERITIES = ("ERROR", "FATAL", "PANIC")
DURATION = re.compile(r"(?:total=|elapsed:? )(\d+\.\d+)")
KINDS = (
    ("checkpoint starting", "checkpoint starting"),
    ("checkpoint complete", "checkpoint complete"),
    ("automatic vacuum", "automatic vacuum"),
    ("automatic aggressive vacuum", "automatic vacuum"),
    ("automatic analyze", "automatic analyze"),
)
"""How a line begins, and what docs/results.md calls it."""
CRASH = re.compile(
    r".* \(PID \d+\) (was terminated by signal|exited with exit code (?![01]\b))"
    r"|all server processes terminated; reinitializing"
    r"|terminating any other active server processes"
    r"|terminating connection because of crash"
)
"""The lines of the postmaster and its children when one crashed and all are started anew."""
REMEDIES = (
    ("Address already in use", "the port is in use: remove `settings.port`, so that dyno chooses"),
    ("Cannot allocate memory", "there is not enough memory: lower `shared_buffers`"),
    ("No space left on device", "the disk is full"),
    ("io_uring", "this build or kernel has no io_uring: use another `io_method`"),
    ("huge pages", 'too few huge pages are reserved: set `huge_pages = "off"`'),
)
"""The complaints of a failed start, each with its remedy."""
UNSAID = "its log does not say why"
"""The reason where a log ends as that of a server that is well: somebody else ended it."""


@dataclass(frozen=True)
class ServerLogRecord:
    """One message of the log with the lines that belong to it."""

    unix_ms: int
    pid: int
    severity: str  # LOG, ERROR, FATAL, …
    text: str


def records(lines: Iterator[str]) -> Iterator[ServerLogRecord]:
    """The messages of log lines; a line without the prefix belongs to the message before it.

    DETAIL and HINT are added to the message; STATEMENT and CONTEXT are left out.
    """
    held: list[str] | None = None
    head: re.Match[str] | None = None
    for line in lines:
        found = LINE.match(line)
        if found is None:
            if held is not None:
                held.append(line.strip())
        elif found[4] in ("DETAIL", "HINT"):
            if held is not None:
                held.append(found[5])
        elif found[4] in ("STATEMENT", "CONTEXT", "QUERY", "LOCATION"):
            continue
        else:
            if head is not None and held is not None:
                yield record(head, held)
            head, held = found, [found[5]]
    if head is not None and held is not None:
        yield record(head, held)


def record(head: re.Match[str], texts: list[str]) -> ServerLogRecord:
    """A message of its first line and what was added to it."""
    text = "\n".join(texts).strip()
    return ServerLogRecord(int(head[1]) * 1000 + int(head[2]), int(head[3]), head[4], text)


def read(path: Path, since: int = 0, until: int | None = None) -> list[str]:
    """The whole lines of the log from the byte `since` on; empty where there is no log."""
    try:
        with path.open("rb") as file:
            file.seek(since)
            length = -1 if until is None else max(0, until - since)
            return file.read(length).decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []


def step_events(path: Path, since: int) -> list[LogEvent]:
    """The events from the byte `since` on; before them the start of a checkpoint that ran then."""
    return [*running_checkpoint(path, since), *events(read(path, since))]


def running_checkpoint(path: Path, since: int) -> list[LogEvent]:
    """The start of the checkpoint that was running where the log was `since` bytes long, if any."""
    lines = read(path, max(0, since - LOOK_BACK_BYTES_MAX), since)
    last = events([line for line in lines if CHECKPOINT in line])[-1:]
    return [event for event in last if event.name == "checkpoint starting"]


def events(lines: list[str]) -> list[LogEvent]:
    """The events of docs/results.md (done.json) in log lines, in order."""
    kept: list[LogEvent] = []
    errors = 0
    for message in records(iter(lines)):
        kind = kind_of(message)
        if kind is None:
            continue
        errors += kind == "error"
        if kind == "error" and errors > ERRORS_MAX:
            continue
        duration = DURATION.search(message.text) if kind != "error" else None
        event = LogEvent(
            unix_ms=message.unix_ms,
            name=kind,
            text=message.text[:TEXT_LENGTH_MAX],
            duration_s=float(duration[1]) if duration else None,
        )
        kept.append(event)
    if errors > ERRORS_MAX:
        last = max(place for place, event in enumerate(kept) if event.name == "error")
        more = f"\n(and {errors - ERRORS_MAX} more errors)"
        kept[last] = replace(kept[last], text=kept[last].text + more)
    return kept


def kind_of(message: ServerLogRecord) -> str | None:
    """The name of the message in docs/results.md; None for one that is not kept."""
    if message.severity in BAD_SEVERITIES:
        return "error"
    if message.severity != "LOG":
        return None
    return next((kind for begin, kind in KINDS if message.text.startswith(begin)), None)


def crash(lines: list[str]) -> str | None:
    """The first message that tells of a crashed server process; None where all is well."""
    for message in records(iter(lines)):
        if message.severity in ("LOG", "WARNING", "PANIC") and CRASH.match(message.text):
            return message.text.splitlines()[0]
    return None


def reason(lines: list[str], severities: Collection[str] = BAD_SEVERITIES) -> str:
    """Why a server ended, in one line, from its log: the last bad message, and a remedy.

    `severities`: those that are bad. Without one the last line, where none is a message of the
    server (the program could not be run), else UNSAID.
    """
    said = list(records(iter(lines)))
    bad = [one for one in said if one.severity in severities]
    whole = "\n".join(lines)
    remedy = next((text for word, text in REMEDIES if word in whole), None)
    if bad:
        first = " ".join(bad[-1].text.split())
    elif lines and not said:
        first = lines[-1].strip()
    else:
        first = UNSAID
    return first + (f"; {remedy}" if remedy else "")


def ending(how: str, why: str) -> str:
    """How a server ended (`Home.ended`) and why, in words."""
    by_kernel = "; the kernel ends processes like this when memory runs out (see `dmesg`)"
    return f"ended with {how}: {why}{by_kernel if (how, why) == ('signal 9', UNSAID) else ''}"


def tail(path: Path, lines: int) -> list[str]:
    """The last lines of the log."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return []
    return read(path, max(0, size - TAIL_BYTES_MAX))[-lines:]
