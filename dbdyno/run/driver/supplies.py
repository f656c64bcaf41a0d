"""Programs and files that give rows of bulk loads: whether they are there, and which they are."""

import hashlib
import subprocess
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from dbdyno.builds import VERSION_S_MAX
from dbdyno.host.program import is_program, of_user
from dbdyno.model import Step
from dbdyno.model.error import PlanError
from dbdyno.model.job import Job
from dbdyno.model.job.fills import RowSource, RowsPart

VERSION_DIGITS = 12
"""Of a hash, as of other drivers' programs."""


def refuse_missing(step: Step) -> None:
    """Raises PlanError for the first program or file that gives rows of a step and is not there."""
    for fill in step.job.fills:
        for part in () if fill.source is None else fill.source.parts:
            if fill.source is not None and _path(fill.source, part) is None:
                where = f"{step.workload}: step `{step.name}`: table `{fill.table}`"
                raise PlanError(f"{where}: {_missing(part, fill.source.remedy)}")


def _missing(part: RowsPart, remedy: str) -> str:
    """What is not there of a part, and what to do about it."""
    here = "write its path relative to the workload file"
    if part.command is None:
        return f"there is no file `{part.file}`, which gives its rows: {remedy or here}"
    remedy = remedy or f"{here}, or install it"
    return f"there is no program `{part.command[0]}`, which gives its rows: {remedy}"


def version(job: Job) -> str | None:
    """The programs' versions as they tell them, with hashes of them and of files; None of none.

    A missing one has no hash.
    """
    words: dict[str, None] = {}
    for fill in job.fills:
        if fill.source is not None:
            words |= dict.fromkeys(_versions(fill.source))
    return ", ".join(words) or None


def resolved(job: Job) -> Job:
    """The job with the paths of programs and files from the root on."""
    fills = []
    for fill in job.fills:
        source = fill.source
        if source is not None:
            parts = tuple(_whole(source, part) for part in source.parts)
            source = replace(source, parts=parts)
        fills.append(replace(fill, source=source))
    return replace(job, fills=tuple(fills))


def _whole(source: RowSource, part: RowsPart) -> RowsPart:
    """A part by its path from the root on; as it is where nothing is there."""
    path = _path(source, part)
    if path is None:
        return part
    if part.command is None:
        return RowsPart(file=str(path))
    return RowsPart(command=(str(path), *part.command[1:]))


def _path(source: RowSource, part: RowsPart) -> Path | None:
    """Where a part's program or file lies; beside our own programs, too, as PyPI's do."""
    folder = Path(source.folder)
    if part.command is None:
        path = (folder / (part.file or "")).absolute()
        return path if path.is_file() else None
    word = part.command[0]
    beside = Path(sysconfig.get_path("scripts")) / word
    there = of_user(word, folder)
    return beside if there is None and "/" not in word and is_program(beside) else there


def _versions(source: RowSource) -> Iterator[str]:
    """Of each program and file of a source what it is, in words."""
    for part in source.parts:
        path = _path(source, part)
        name = Path((part.file or "") if part.command is None else part.command[0]).name
        if path is None:
            yield name
            continue
        facts = path.stat()
        words = name if part.command is None else _first_line(path, source.version) or name
        digest = _digest(path, (facts.st_size, facts.st_mtime_ns))
        yield f"{words} (sha256 {digest[:VERSION_DIGITS]})"


@cache
def _first_line(path: Path, arguments: tuple[str, ...]) -> str:
    """The first line by which a program tells its version; nothing where it tells none."""
    if not arguments:
        return ""
    try:
        done = subprocess.run(
            [path, *arguments], capture_output=True, text=True, check=True, timeout=VERSION_S_MAX
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
    return next(iter(done.stdout.split("\n")), "").strip()


@cache
def _digest(path: Path, facts: tuple[int, int]) -> str:
    """The SHA-256 of a file of this size and time, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
