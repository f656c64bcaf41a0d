"""The form of a restore: a dump of a database becomes the data of an arm's server.

What a dump is, and by which program it is restored, its engine knows. Values of rows are in the
dump and in the server alone: what a program says of them reaches no message.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Protocol

from dbdyno.builds import VERSION_S_MAX, Build
from dbdyno.host.account import Account
from dbdyno.model import Address
from dbdyno.model.error import PlanError, ServerError
from dbdyno.model.job.external import Restore

KEY = "workloads.restore"
"""How messages name the plan's key."""
RESTORE_S_MAX = 7 * 24 * 3600.0
"""For what is restored and vacuumed: a terabyte by one session takes days."""
VERSION = re.compile(r"\d+(?:\.\d+)*")
SAID_CHARACTERS_MAX = 400
CHUNK_BYTES = 1 << 20
TOC = "toc.dat"
PACKED = (b"PGDMP", b"\x1f\x8b")
"""How dumps begin that are packed."""
GROWTH, GROWTH_PACKED = 2, 8
"""From a dump's size to that of tables and indexes; gzip packs rows to a fifth or so."""
ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": "/"}
"""Of client programs: nothing of dyno's own gets in."""

Words = Sequence[str | Path]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A client program of this host."""

    path: Path
    version: str  # "15.18"

    @property
    def number(self) -> tuple[int, ...]:
        """Its version, to be compared."""
        return tuple(map(int, self.version.split(".")))


class Restoring(Protocol):
    """A dump that was looked into, and the program that restores it."""

    @property
    def version(self) -> str:
        """All that determines the data: the dump's content, how it is restored, and by what."""

    def refuse_unfit(self, build: Build, account: Account, arm: str) -> None:
        """Raises PlanError or HostError where servers of a build cannot take it."""

    def carry_out(
        self, address: Address, session: Session, statistics: Path | None = None
    ) -> list[str]:
        """Makes the database of the address anew, from the dump; returns what was left out.

        The user of the address may do all. `statistics`: the file by which servers of the same data
        share the planner's; None: each has its own. Raises ServerError in one line without any
        value.
        """

    @property
    def content(self) -> str:
        """A name of the data: the dump's content, and how texts are kept and sorted."""


class Restorer(Protocol):
    """How an engine's databases come from dumps."""

    @property
    def programs(self) -> Sequence[str]:
        """The names of the client programs, any of which may be needed."""

    @property
    def variable(self) -> str:
        """The environment variable that names folders of such programs."""

    def read(self, wish: Restore, paths: Iterable[Path]) -> Restoring:
        """Looks into a dump; `paths` are programs that are here. Raises PlanError, HostError."""


@dataclass
class Session:
    """Client programs at work, one after the other; another thread may end them."""

    ended: bool = False
    _running: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def run(
        self,
        words: Words,
        environment: Mapping[str, str],
        *,
        lines: Iterable[bytes] | None = None,
        owner: os.stat_result | None = None,
    ) -> tuple[int, list[str]]:
        """Runs a program to its end; returns its status, and the lines of its standard error.

        `lines` are its input; `owner`: the account that it runs as where dyno is root. Raises
        ServerError where it cannot be started.
        """
        options: dict[str, int | Sequence[int]] = {}
        if owner is not None and os.geteuid() == 0:
            options = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": ()}
        with tempfile.TemporaryFile() as said:
            try:
                with self._lock:
                    if self.ended:
                        raise ServerError("the restore was ended")
                    process = subprocess.Popen(
                        [str(word) for word in words],
                        stdin=subprocess.DEVNULL if lines is None else subprocess.PIPE,
                        stdout=subprocess.DEVNULL,
                        stderr=said,
                        env=dict(environment),
                        cwd="/",
                        start_new_session=True,
                        **options,  # type: ignore[call-overload]
                    )
                    self._running = process
            except OSError as error:
                raise ServerError(f"`{words[0]}` cannot be run: {error.strerror}") from error
            try:
                feed(process, lines)
                status = process.wait()
            finally:
                with self._lock:
                    self._running = None
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)  # with its workers
                    process.wait()
            said.seek(0)
            return status, said.read().decode(errors="replace").splitlines()

    def end(self) -> None:
        """Ends what runs, and lets nothing more begin."""
        with self._lock:
            self.ended = True
            if self._running is not None:
                os.killpg(self._running.pid, signal.SIGTERM)


def feed(process: subprocess.Popen[bytes], lines: Iterable[bytes] | None) -> None:
    """Writes the lines to a program that may end before it has read them all."""
    if lines is None:
        return
    assert process.stdin is not None, "its input is a pipe"
    try:
        with process.stdin as pipe:
            for line in lines:
                pipe.write(line)
    except BrokenPipeError:
        pass  # its status and its words say why


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
            version = version_of(path.absolute(), path.stat().st_mtime_ns)
            if version is not None:
                here.setdefault(path.absolute(), Tool(path=path.absolute(), version=version))
    return sorted(here.values(), key=lambda tool: tool.number, reverse=True)


@cache
def version_of(path: Path, changed_ns: int) -> str | None:
    """The version that a program says, as it is since `changed_ns`; None where it says none."""
    done = run([path, "--version"])
    match = VERSION.search(done[1]) if done[0] == 0 else None
    return None if match is None else match[0]


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
        return -1, "", str(error)
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
            packed = stream.read(len(PACKED[0])).startswith(PACKED)
        size = sum(file.stat().st_size for file in files)
    except OSError:
        return 0
    return size * (GROWTH_PACKED if packed else GROWTH)


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


def unreadable(path: Path, error: OSError) -> PlanError:
    """The line on a dump that cannot be read."""
    return PlanError(
        f"{KEY}: `{path}`: {error.strerror or error}: write the path of a dump that may be read"
    )


# --- What programs say -----------------------------------------------------------------------


OBJECTS = (
    "type|role|relation|schema|function|procedure|extension|language|table|index|database|"
    "parameter|access method|collation|tablespace|server|constraint|operator|sequence|encoding|"
    "configuration parameter|foreign-data wrapper|event trigger|plugin|storage engine"
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
