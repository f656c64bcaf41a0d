"""Valgrind on this host: whether it is there, and how a server runs under its callgrind."""

import contextlib
import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dbdyno.host import place
from dbdyno.host.program import unended
from dbdyno.model.error import HostError

OLDEST = (3, 19)
REMEDY = f"counting needs valgrind {'.'.join(map(str, OLDEST))} or newer: apt-get install valgrind"
TRIAL_S_MAX = 600.0
"""How long a program may take that does nothing under Valgrind: seconds, or minutes where a host is
busy; one that hangs takes for ever."""
FOLDER = "{counts}"
"""Stands in a command line for the folder that a server's counts are written into."""
PIPES = "vgdb"
"""How names of pipes begin, in that folder, by which a process of threads is asked for counts."""
KNOWN = {"x86_64": "-march=x86-64-v3", "aarch64": "-march=armv8-a"}
"""By architecture: the newest processor of which Valgrind knows every instruction."""
RAN = "valgrind"
"""The cache's folder with an empty file for each program that ran under Valgrind."""
UNKNOWN_INSTRUCTION = re.compile(r"unhandled instruction|Illegal opcode|unrecognised instruction")


@dataclass(frozen=True, kw_only=True)
class Valgrind:
    """Valgrind as it is installed."""

    path: Path
    version: str  # "3.19.0"


def find(*, otherwise: str = "count nothing (remove `[count]`)") -> Valgrind:
    """Valgrind of this host. Raises HostError with the remedy where none is there that counts.

    `otherwise`: the remedy that needs no Valgrind.
    """
    path = shutil.which("valgrind")
    if path is None:
        raise HostError(f"{REMEDY}, or {otherwise}")
    return tried(path)


@cache
def tried(path: str) -> Valgrind:
    """The Valgrind of a path, looked at once by a command. Raises HostError where it counts not."""
    said = run([path, "--version"]).stdout.strip()
    version = said.removeprefix("valgrind-")
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST:
        raise HostError(f"{REMEDY}; this one says `{said}`")
    nothing = Path(shutil.which("true") or "/bin/true")
    if (failed := failure(Path(path), nothing)) is not None:
        last = (failed.strip().splitlines() or ["it says nothing"])[-1]
        raise HostError(f"{path}: `true` fails under it: {last}")
    return Valgrind(path=Path(path), version=version)


def is_here() -> bool:
    """Whether there is a Valgrind that counts."""
    try:
        find()
    except HostError:
        return False
    return True


def run(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Runs a short command. Raises HostError where it does not end."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=TRIAL_S_MAX, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(f"`{command[0]}` {unended(error)}") from error


def refuse_unknown(valgrind: Valgrind, program: Path) -> None:
    """Raises HostError where a build has instructions that Valgrind does not know."""
    failed = failure(valgrind.path, program)
    if failed is not None and UNKNOWN_INSTRUCTION.search(failed):
        raise HostError(
            f"valgrind {valgrind.version} cannot run `{program}`: build it without -march, "
            f"or with {KNOWN.get(platform.machine(), 'that of an older processor')}"
        )


@cache
def failure(valgrind: Path, program: Path) -> str | None:
    """What is said where a program fails to tell its version under Valgrind; None: it does not.

    A program takes a second for it, so the cache remembers which ran, until either file changes.
    """
    states = [(file.resolve(), os.stat(file).st_mtime_ns) for file in (valgrind, program)]
    ran = place.cache_root() / RAN / hashlib.sha256(repr(states).encode()).hexdigest()[:32]
    if ran.exists():
        return None
    done = run([valgrind, "--tool=none", program, "--version"])
    if done.returncode != 0:
        return done.stderr
    with contextlib.suppress(OSError):  # a cache that is full or read-only: looked at again
        ran.parent.mkdir(parents=True, exist_ok=True)
        ran.touch()
    return None


def command(
    valgrind: Valgrind, *, mark: str, left_out: Sequence[str], threads: bool, reread: str = ""
) -> tuple[str, ...]:
    """The words that stand before a server's command; FOLDER in them is where counts go.

    `mark`: the function whose entry writes a process's counts and begins them anew. `left_out`:
    functions that are not counted, with all that they call; none of them calls another one, as
    the option switches. `threads`: whether each thread has counts of its own. `reread`: a function
    that is a mark of all processes, and not counted either.
    """
    return (
        str(valgrind.path),
        "--tool=callgrind",
        "--trace-children=yes",
        *(("--vgdb=yes", f"--vgdb-prefix={FOLDER}/{PIPES}") if threads else ("--vgdb=no",)),
        "--dump-line=no",
        "--compress-strings=no",
        "--collect-bus=yes",
        "--collect-systime=yes",
        f"--callgrind-out-file={FOLDER}/counts.%p",
        f"--log-file={FOLDER}/valgrind.%p",
        f"--dump-before={mark}",
        *((f"--dump-before={reread}", f"--toggle-collect={reread}") if reread else ()),
        *(f"--toggle-collect={function}" for function in left_out),
        "--collect-atstart=yes",  # after the options above, which switch it off
        *(("--separate-threads=yes",) if threads else ()),
    )
