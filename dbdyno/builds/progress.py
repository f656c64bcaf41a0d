"""What is said of a build while it is made: a line each minute, on a terminal and off it."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dbdyno.builds import cache as built
from dbdyno.builds.log import BuildLog
from dbdyno.model.error import ServerError

EVERY_S = 60.0
FILE = re.compile(rb"(?m)^.*(?: -c .*\.(?:c|cc|cpp|cxx)\b|Building C(?:XX)? object ).*$")
"""A line of make or of cmake for a file that is compiled."""


def files_in(log: Path, begin: int = 0) -> int:
    """How many files the compiler was given, by a log from a position on."""
    with log.open("rb") as file:
        file.seek(begin)
        return sum(1 for _ in FILE.finditer(file.read()))


def files_before(engine: str, *, whole: bool, cache: Path | None = None) -> int | None:
    """How many files the newest build of an engine, as whole, was made of; None: nobody knows."""
    known: list[tuple[int, int]] = []
    for name in built.names(cache):
        try:
            record = built.kept(built.root(cache) / name)
        except ServerError:
            continue
        if record and record.files and (record.engine, record.whole) == (engine, whole):
            known.append((record.made_unix_s, record.files))
    return max(known)[1] if known else None


@contextmanager
def each_minute(
    phase: str, log: BuildLog, say: Callable[[str], None], files: int | None
) -> Iterator[None]:
    """Says a line each minute of a phase at work; `files`: so many it compiles, where known."""
    begin, begun_s, ended = log.path.stat().st_size, time.monotonic(), threading.Event()

    def speak() -> None:
        while not ended.wait(EVERY_S):
            minutes = round((time.monotonic() - begun_s) / 60)
            say(f"{phase}: {minutes} min{share(files_in(log.path, begin), files)}")

    speaker = threading.Thread(target=speak, name="build progress", daemon=True)
    speaker.start()
    try:
        yield
    finally:
        ended.set()
        speaker.join()


def share(done: int, files: int | None) -> str:
    """The files that are compiled, in words: ", 412 of about 920 files"; nothing: none is."""
    if not done:
        return ""
    of = f" of about {files:,}" if files is not None and files > done else ""
    return f", {done:,}{of} files"
