"""The journal of a farm: all that it has seen, measured, found and reported, a line each.

FOLDER/journal.jsonl is only ever added to, and each line is on the disk before what follows from it
begins. A last line that a break has torn is cut off; what it would have said is done again, and
finds in its result folder what was measured.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Self, TypeAlias

import msgspec
from msgspec import Struct

from dbdyno.farm.chain import Alarm, Reading
from dbdyno.model.bisection import Commit
from dbdyno.model.json import decoder, encoder
from dbdyno.store import disk
from dbdyno.store.file import decoded_lines, read_if_there, write_atomically
from dbdyno.store.folder_lock import FolderLock

FILE = "journal.jsonl"


class Head(Struct, frozen=True, kw_only=True):
    """A commit that a branch has come to; of a branch without commits a version."""

    commit: str
    subject: str = ""  # the first line of its message

    @classmethod
    def of(cls, commit: Commit) -> Self:
        """A commit of a repository."""
        return cls(commit=commit.sha, subject=commit.subject)


INSTRUCTIONS, MICROSECONDS = "instructions", "µs"
"""What the cost of a function is told in: counted, or CPU by samples."""


class ChangedFunction(Struct, frozen=True, kw_only=True):
    """A function that a commit changed, by itself, in an operation of a step."""

    function: str
    step: str
    before: float
    after: float
    unit: str = INSTRUCTIONS

    @property
    def change(self) -> float:
        """What the commit has more."""
        return self.after - self.before


class Culprit(Struct, frozen=True, kw_only=True):
    """The commit that changed a series, as far as a search has told."""

    commit: str  # empty: none was told
    subject: str = ""
    before: str = ""  # the commit that it is compared with
    probability: float = 1.0
    suspects: tuple[Head, ...] = ()  # all that it may be, where that is not sure
    reverts: tuple[str, ...] = ()  # commits that it says it takes back
    functions: tuple[ChangedFunction, ...] = ()  # the largest change first
    command: str = ""  # that measures it again
    folder: str = ""  # of results, below the farm's
    why: str = ""  # why no commit, or no function, is named


class StartEntry(Struct, frozen=True, kw_only=True, tag="begun"):
    """A file has made this folder its own."""

    at_s: float  # Unix time, as of all events
    file: str


class LookEntry(Struct, frozen=True, kw_only=True, tag="looked"):
    """A branch was looked at."""

    at_s: float
    branch: str
    heads: tuple[Head, ...] = ()  # that are to be measured, the oldest first
    tip: str = ""  # where the branch was; empty: it was not reached
    since: str = ""  # the commit before the first head, where the file names one
    parted: str = ""  # of a rewritten branch: the last commit that it still has
    rewritten: bool = False  # whether what was measured last is no longer on the branch
    why: str = ""  # a sentence about what is odd; empty: nothing is


class SkipEntry(Struct, frozen=True, kw_only=True, tag="skipped"):
    """A head that is not measured: it does not build, or its server does not start."""

    at_s: float
    branch: str
    head: str
    why: str


class MeasurementEntry(Struct, frozen=True, kw_only=True, tag="measured"):
    """A head was measured beside the one before it and the pinned release."""

    at_s: float
    branch: str
    head: str
    previous: str | None  # None: there is none
    pinned: str  # a version, or a commit
    readings: tuple[Reading, ...]
    folders: tuple[str, ...] = ()  # of results, below the farm's
    seconds: float = 0.0  # of measuring
    build_s: float = 0.0
    why: str = ""  # what was not measured of it


class RepeatEntry(Struct, frozen=True, kw_only=True, tag="repeated"):
    """Suspects of a head were measured again."""

    at_s: float
    branch: str
    head: str
    number: int  # from 1 on
    readings: tuple[Reading, ...]
    folders: tuple[str, ...] = ()
    seconds: float = 0.0
    build_s: float = 0.0
    why: str = ""  # why there are no readings


class HoldEntry(Struct, frozen=True, kw_only=True, tag="held"):
    """Something could not be done now, by no fault of a head; a branch waits."""

    at_s: float
    branch: str
    why: str


class FindingEntry(Struct, frozen=True, kw_only=True, tag="opened"):
    """A finding: sure alarms of a branch that begin at one head."""

    at_s: float
    finding: str  # its name
    branch: str
    alarms: tuple[Alarm, ...]


class SearchEntry(Struct, frozen=True, kw_only=True, tag="searched"):
    """The commit of a finding was looked for."""

    at_s: float
    finding: str
    culprit: Culprit
    seconds: float = 0.0


class ResolutionEntry(Struct, frozen=True, kw_only=True, tag="resolved"):
    """A finding is taken back by another one."""

    at_s: float
    finding: str
    by: str  # the finding that does
    commit: str  # since which it is back
    reverted: bool  # whether that commit says so


class ReportEntry(Struct, frozen=True, kw_only=True, tag="reported"):
    """A report lies in the folder of reports."""

    at_s: float
    finding: str
    revision: int


class DeliveryEntry(Struct, frozen=True, kw_only=True, tag="delivered"):
    """The report command took a report."""

    at_s: float
    finding: str
    revision: int


class FailedDeliveryEntry(Struct, frozen=True, kw_only=True, tag="undelivered"):
    """The report command failed, and is to be tried again."""

    at_s: float
    finding: str
    revision: int
    why: str


Event: TypeAlias = (
    StartEntry | LookEntry | SkipEntry | MeasurementEntry | RepeatEntry | HoldEntry | FindingEntry
    | SearchEntry | ResolutionEntry | ReportEntry | DeliveryEntry | FailedDeliveryEntry
)  # fmt: skip


def read(folder: Path) -> Iterator[Event]:
    """The events of a farm's folder, the oldest first; none where there is no journal.

    Raises ResultError where a line is damaged; a torn last one is passed over.
    """
    return decoded_lines(folder / FILE, decoder(Event).decode)


class Journal:
    """A farm's journal for this process alone, as a context manager."""

    def __init__(self, folder: Path, boot_id: str) -> None:
        """`boot_id`: the kernel's name for this boot of the host."""
        self._folder = folder
        self._lock = FolderLock(folder, boot_id, busy="another watcher works")
        self._torn = True  # unless it was looked at

    @property
    def path(self) -> Path:
        """The file."""
        return self._folder / FILE

    def __enter__(self) -> Self:
        """Takes the folder. Raises ResultError where another watcher has it."""
        self._lock.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Leaves the folder to others."""
        self._lock.__exit__()

    def events(self) -> tuple[Event, ...]:
        """All events so far, after a torn last line was cut off. Raises ResultError: damaged."""
        self._mend()
        return tuple(read(self._folder))

    def append(self, event: Event) -> None:
        """Adds a line, which is on the disk when this returns. Raises DiskError."""
        self._mend()
        self._torn = True  # until it is whole
        file = disk.append(self.path)
        try:
            disk.write(file, encoder().encode(event) + b"\n")
            disk.sync(file)
        finally:
            disk.close(file)
        disk.sync_path(self._folder)
        self._torn = False

    def _mend(self) -> None:
        """Cuts off what a break has left of a last line."""
        if not self._torn:
            return
        content = read_if_there(self.path)
        if content is not None:
            whole = whole_lines(content)
            if whole != content:
                write_atomically(self.path, whole)
        self._torn = False


def whole_lines(content: bytes) -> bytes:
    """A journal without a last line that is none."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    last = lines[-1]
    try:
        msgspec.json.decode(last)
    except msgspec.DecodeError:
        return b"".join(lines[:-1])
    return content if last.endswith(b"\n") else b"".join(lines[:-1])
