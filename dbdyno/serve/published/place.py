"""Where things lie in a published folder, by paths below it, and whether a folder is one.

published.json          what makes the folder one, and the feed's name
index.html              all results and farms, the newest first
feed.xml, badge.svg     what is new; the words of the newest comparison
style.css, vega.js      what pages share
results/NAME/           index.html, result.json, comparison.json, NAME.tar.gz
farms/NAME/             index.html, farm.json, a page for each grid, curve and finding
"""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from dbdyno.model.error import ExportError, ResultError
from dbdyno.store import read_struct, safe_name
from dbdyno.store.packed import ENDING

FORMAT = 1
MARK, INDEX, BADGE, LIBRARY = "published.json", "index.html", "badge.svg", "vega.js"
RESULTS, RECORD, COMPARISON = "results", "result.json", "comparison.json"
FARMS, FARM_RECORD = "farms", "farm.json"
ABOVE = "../../"
"""From the folder of a result or a farm to the published folder."""
NAME_MAX, BETWEEN = 120, "--"
Record = TypeVar("Record", bound=Struct)


class PublishedMark(Struct, frozen=True, kw_only=True):
    """published.json."""

    format: int = FORMAT
    dyno: str  # that wrote it last
    feed: str  # the feed's name, a URN, which stays


def file_name(*words: str) -> str:
    """A name of signs that need no escape in an address; other words have another name."""
    name = BETWEEN.join(words)
    may_be_others = tuple(name.split(BETWEEN)) != words or len(name) > NAME_MAX
    return safe_name(f"{'/'.join(words)}/" if may_be_others else name)


def page_name(*words: str) -> str:
    """The name of a page's file."""
    return f"{file_name(*words)}.html"


def result_folder(key: str) -> str:
    """The folder of a result, by its key."""
    return f"{RESULTS}/{file_name(*key.split('/'))}"


def farm_folder(key: str) -> str:
    """The folder of a farm, by its key."""
    return f"{FARMS}/{file_name(*key.split('/'))}"


def raw_name(key: str) -> str:
    """The file with a result's raw data, in its folder."""
    return f"{file_name(*key.split('/'))}{ENDING}"


def mark(to: Path) -> PublishedMark | None:
    """What a published folder says of itself; None: there is none yet.

    Raises ExportError where a folder holds other things, ResultError where its mark is damaged.
    """
    if (to / MARK).exists():
        known = read_struct(to / MARK, PublishedMark)
        if known.format > FORMAT:
            raise ExportError(f"{to / MARK}: written by dyno {known.dyno}: publish by that version")
        return known
    try:
        names = os.listdir(to)
    except FileNotFoundError:
        return None
    except OSError as error:
        text = f"{to}: cannot be read ({error.strerror}): name a new folder by --to"
        raise ExportError(text) from error
    if any(name[0] != "." for name in names):
        raise ExportError(
            f"{to}: holds files that `dyno publish` did not write: name a new folder by --to"
        )
    return None


@contextmanager
def alone(to: Path) -> Iterator[None]:
    """Keeps other commands from publishing into the folder. Raises ExportError: one does."""
    if not to.is_dir():
        yield
        return
    folder = os.open(to, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise ExportError(f"{to}: another `dyno publish` writes there: wait for its end") from None
    finally:
        os.close(folder)


@dataclass(frozen=True, kw_only=True)
class EarlierRecords(Generic[Record]):
    """What earlier publishing has written of results or farms, as far as their pages are there."""

    read: tuple[Record, ...]
    damaged: Mapping[str, str]  # by their folders, why others cannot be read


def records(to: Path, kind: type[Record], pattern: str) -> EarlierRecords[Record]:
    """The records at `pattern` below the published folder."""
    read, damaged = [], {}
    for path in sorted(to.glob(pattern)):
        try:
            if (path.parent / INDEX).exists():
                read.append(read_struct(path, kind))
        except ResultError as error:
            folder = path.parent.relative_to(to).as_posix()
            damaged[folder] = f"{error}, or publish its result again"
    return EarlierRecords(read=tuple(read), damaged=damaged)


def as_json(record: Struct) -> bytes:
    """A record as its file has it."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
