"""The form of a restore: a dump of a database becomes the data of an arm's server.

What a dump is, and by which program it is restored, its engine knows. Values of rows are in the
dump and in the server alone: what a program says of them reaches no message.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import re
import signal
import subprocess
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol

from dbdyno.builds import VERSION_S_MAX, Build
from dbdyno.host.account import Account
from dbdyno.host.program import once, unended
from dbdyno.model import Address
from dbdyno.model.error import PlanError, ServerError
from dbdyno.model.job.external import Restore

KEY = "workloads.restore"
"""How messages name the plan's key."""
RESTORE_S_MAX = 7 * 24 * 3600.0
"""For what is restored and vacuumed: a terabyte by one session takes days."""
VERSION = tuple(
    re.compile(rf"{before} (?P<version>\d+(?:\.\d+)*)")
    for before in ("Distrib", "from", "Ver", r"\(PostgreSQL\)")
)
"""Where a client's line has its own version: not in its path, nor where `Ver` is its library's."""
SAID_CHARACTERS_MAX = 400
CHUNK_BYTES = 1 << 20
TOC = "toc.dat"
OPENED: Mapping[bytes, Callable[[Path], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}
"""How dumps begin that are packed, and what reads them."""
ZSTD, UTF_16, ARCHIVE = b"\x28\xb5\x2f\xfd", (b"\xff\xfe", b"\xfe\xff"), b"PGDMP"
HEAD_BYTES = 8192
GROWTH, GROWTH_PACKED = 2, 8
"""From a dump's size to that of tables and indexes; gzip packs rows to a fifth or so."""
ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/bin:/bin",
    "LC_ALL": "C",
    "HOME": "/",
    "TZ": "NONE0",  # an archive keeps the hour when it was made without its zone
}
"""Of client programs: nothing of dyno's own gets in."""
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""What reading a file raises that is cut off, or packed by something else."""
DUMPED = re.compile(
    r"(?:Started|ompleted|Started dump) (?:on|at):? +(?P<day>\d{4}-\d\d-\d\d) "
    r"(?P<time>[ \d]\d:\d\d:\d\d)(?P<zone> (?:UTC|GMT)\b)?"
)
"""How programs say when they dumped, all but in UTC by a name of the zone that nobody can tell."""

Words = Sequence[str | Path]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A client program of this host."""

    path: Path
    version: str  # "15.18"
    said: str  # its whole line

    @property
    def number(self) -> tuple[int, ...]:
        """Its version, to be compared."""
        return tuple(map(int, self.version.split(".")))


class DumpRestore(Protocol):
    """A dump that was looked into, and the program that restores it."""

    @property
    def version(self) -> str:
        """All that determines the data: the dump's content, how it is restored, and by what."""

    def refuse_unfit(self, build: Build, account: Account, arm: str) -> None:
        """Raises PlanError or HostError where servers of a build cannot take it."""

    def carry_out(
        self, address: Address, session: ClientPrograms, statistics: Path | None = None
    ) -> list[str]:
        """Makes the database of the address anew, from the dump; returns what was left out.

        The user of the address may do all. `statistics`: the file by which servers of the same data
        share the planner's; None: each has its own. Raises ServerError in one line without any
        value.
        """

    @property
    def content(self) -> str:
        """A name of the data: the dump's content, and how texts are kept and sorted."""

    @property
    def dumped(self) -> str | None:
        """When the dump was made, in ISO 8601; without a zone where none is known."""


class Restorer(Protocol):
    """How an engine's databases come from dumps."""

    @property
    def programs(self) -> Sequence[str]:
        """The names of the client programs, any of which may be needed."""

    @property
    def variable(self) -> str:
        """The environment variable that names folders of such programs."""

    def read(self, wish: Restore, paths: Iterable[Path]) -> DumpRestore:
        """Looks into a dump; `paths` are programs that are here. Raises PlanError, HostError."""


class DumpProgramError(Exception):
    """A program that wrote a dump's SQL ended with an error; `said`: its standard error."""

    def __init__(self, said: Sequence[str]) -> None:
        super().__init__("the program broke off")
        self.said = said


@dataclass
class ClientPrograms:
    """Client programs at work; another thread may end them."""

    ended: bool = False
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def run(
        self,
        words: Words,
        environment: Mapping[str, str],
        *,
        lines: Iterator[bytes],
        owner: os.stat_result,
    ) -> tuple[int, list[str]]:
        """Runs a program to its end; returns its status, and the lines of its standard error.

        `lines` are its input; `owner`: the account that it runs as where dyno is root. Raises
        ServerError where it cannot be started, and whatever `lines` raise.
        """
        options: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL}
        if os.geteuid() == 0:
            options |= {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": ()}
        with tempfile.TemporaryFile() as said:
            with self._started(words, environment, stderr=said, **options) as process:
                feed(process, lines)
                status = process.wait()
            return status, said_in(said)

    def output(self, words: Words, environment: Mapping[str, str]) -> Iterator[bytes]:
        """The lines that a program writes. Raises DumpProgramError at their end where it fails."""
        with tempfile.TemporaryFile() as said:
            options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": said}
            with self._started(words, environment, **options) as process:
                assert process.stdout is not None, "its output is a pipe"
                yield from process.stdout
                if process.wait():
                    raise DumpProgramError(said_in(said))

    @contextmanager
    def _started(
        self, words: Words, environment: Mapping[str, str], **options: Any
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A program that runs, and that is gone afterwards."""
        with self._lock:
            if self.ended:
                raise ServerError("the restore was ended")
            try:
                process = subprocess.Popen(
                    [str(word) for word in words],
                    env=dict(environment),
                    cwd="/",
                    start_new_session=True,
                    **options,
                )
            except OSError as error:
                raise ServerError(f"`{words[0]}` cannot be run: {error.strerror}") from error
            self._running.append(process)
        try:
            yield process
        finally:
            with self._lock:
                self._running.remove(process)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # with its workers
                process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def end(self) -> None:
        """Ends what runs, and lets nothing more begin."""
        with self._lock:
            self.ended = True
            for process in self._running:
                os.killpg(process.pid, signal.SIGTERM)


def feed(process: subprocess.Popen[bytes], lines: Iterator[bytes]) -> None:
    """Writes the lines to a program that may end before it has read them all."""
    assert process.stdin is not None, "its input is a pipe"
    try:
        with process.stdin as pipe:
            for line in lines:
                pipe.write(line)
    except BrokenPipeError:
        pass  # its status and its words say why


def said_in(file: IO[bytes]) -> list[str]:
    """What a program wrote to its standard error."""
    file.seek(0)
    return file.read().decode(errors="replace").splitlines()


def readable(lines: Iterable[bytes], path: Path) -> Iterator[bytes]:
    """The lines. Raises ServerError where a dump that is packed ends too early."""
    try:
        yield from lines
    except BROKEN as error:
        raise damaged(path, str(error)) from error


def damaged(path: Path, reason: str) -> ServerError:
    """The line on a dump that is not whole; the only one that asks for another."""
    return ServerError(f"`{path}` cannot be restored: {reason}: dump it again")


# --- Programs --------------------------------------------------------------------------------


def tools(names: Sequence[str], paths: Iterable[Path], variable: str) -> list[Tool]:
    """The programs of these names that run, the newest first: of `paths`, PATH, the variable."""
    named = [Path(word) for word in os.environ.get(variable, "").split(os.pathsep) if word]
    folders = [*named, *(path / "bin" for path in named)]
    folders += [Path(word) for word in os.get_exec_path()]
    every = [*paths, *(folder / name for folder in folders for name in names)]
    here: dict[Path, Tool] = {}
    for path in every:
        if path.name in names and path.is_file() and os.access(path, os.X_OK):
            program = path.absolute()
            said = once(program, "--version", partial(version_line, program))
            version = next(filter(None, (each.search(said) for each in VERSION)), None)
            if version is not None:
                tool = Tool(path=path.absolute(), version=version.group("version"), said=said)
                here.setdefault(tool.path, tool)
    return sorted(here.values(), key=lambda tool: tool.number, reverse=True)


def version_line(path: Path) -> str:
    """What a program says of its version; "" where it says none."""
    status, output, _ = run([path, "--version"])
    return output if status == 0 else ""


def run(words: Words, limit_s: float = VERSION_S_MAX) -> tuple[int, str, str]:
    """Runs a program that only looks; its status, its output and what it says beside."""
    try:
        done = subprocess.run(
            [str(word) for word in words],
            capture_output=True,
            text=True,
            errors="replace",
            env=dict(ENVIRONMENT),
            timeout=limit_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return -1, "", unended(error)
    return done.returncode, done.stdout, done.stderr


# --- Files -----------------------------------------------------------------------------------


def files_of(path: Path) -> list[Path]:
    """The files of a dump: itself, or those in its folder."""
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file())
    return [path]


def changed_ns(path: Path) -> tuple[tuple[str, int, int], ...]:
    """By what a dump is known to be as it was when it was read. Raises PlanError."""
    try:
        every = [(str(file), file.stat()) for file in files_of(path)]
    except OSError as error:
        raise unreadable(path, error) from error
    return tuple((name, status.st_mtime_ns, status.st_size) for name, status in every)


def sha256(path: Path) -> str:
    """The SHA-256 of a dump: of a folder that of the names and contents of all its files.

    Raises PlanError where it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        for file in files_of(path):
            if path.is_dir():
                digest.update(f"{file.relative_to(path)}\0{file.stat().st_size}\0".encode())
            with file.open("rb") as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    digest.update(chunk)
    except OSError as error:
        raise unreadable(path, error) from error
    return digest.hexdigest()


def restored_bytes(path: Path) -> int:
    """A guess of the size of the data on the disk, with indexes; 0 of what cannot be read."""
    try:
        files = files_of(path)
        largest = max(files, key=lambda file: file.stat().st_size, default=path)
        with (path / TOC if path / TOC in files else largest).open("rb") as stream:
            packed = stream.read(HEAD_BYTES).startswith((ARCHIVE, ZSTD, *OPENED))
        size = sum(file.stat().st_size for file in files)
    except OSError:
        return 0
    return size * (GROWTH_PACKED if packed else GROWTH)


def opened(path: Path) -> IO[bytes]:
    """A dump in one file to be read, also a packed one. Raises OSError."""
    with path.open("rb") as stream:
        begin = stream.read(HEAD_BYTES)
    way = next((way for mark, way in OPENED.items() if begin.startswith(mark)), None)
    return path.open("rb") if way is None else way(path)


def head(path: Path) -> bytes:
    """How a dump in one file begins, unpacked. Raises PlanError where nobody here can read it."""
    try:
        with opened(path) as stream:
            begin = stream.read(HEAD_BYTES)
    except BROKEN as error:
        raise unreadable(path, error) from error
    if begin.startswith(ZSTD):
        raise PlanError(f"{KEY}: `{path}` is packed by zstd: unpack it (zstd -d)")
    if begin.startswith(UTF_16):
        raise PlanError(
            f"{KEY}: `{path}` is written in UTF-16, as PowerShell's `>` does: write it by the "
            "dump program's own option (`--file`, `--result-file`)"
        )
    return begin


def keep(file: Path, content: bytes) -> None:
    """Makes a file of statistics for dyno's own account alone: values of rows are in it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f"{file.name}.new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(descriptor)
    new.rename(file)


def moment(line: str) -> str | None:
    """When a dump was made, in ISO 8601, where a line says so."""
    match = DUMPED.search(line)
    if match is None:
        return None
    day, time, zone = match.group("day", "time", "zone")
    return f"{day}T{time.strip():0>8}{'+00:00' if zone else ''}"


def unreadable(path: Path, error: Exception) -> PlanError:
    """The line on a dump that cannot be read."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return PlanError(f"{KEY}: `{path}`: {reason}: write the path of a dump that may be read")


# --- What programs say -----------------------------------------------------------------------


OBJECTS = (
    "type|role|relation|schema|function|procedure|extension|language|table|index|database|"
    "parameter|access method|collation|tablespace|server|constraint|operator|sequence|encoding|"
    "configuration parameter|system variable|locale|foreign-data wrapper|event trigger|plugin|"
    "storage engine"
)
NAMED = re.compile(
    rf"""\b(?P<object>{OBJECTS}|collation:|character set:) (?P<name>"[^"]*"|'[^']*')""",
    re.IGNORECASE,
)
QUOTED = re.compile(r"\"[^\"]*\"?|'[^']*'?")
BYTES = re.compile(r"(0x[0-9a-fA-F]{2}\s*)+|\\x[0-9A-Fa-f]+")


def without_values(said: str) -> str:
    """A program's complaint without what it quotes, but for the names of objects."""
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match.group("name").strip("\"'"))
        return f"{match.group('object')} \0{len(kept) - 1}\0"

    text = QUOTED.sub("…", NAMED.sub(keep, said))
    text = BYTES.sub("…", text)
    text = re.sub(r"\0(\d+)\0", lambda match: f"`{kept[int(match[1])]}`", text)
    return " ".join(text.split())[:SAID_CHARACTERS_MAX]
