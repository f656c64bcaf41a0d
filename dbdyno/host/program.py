"""Finds the programs that come with the package, dyno-loadgen and dyno-flame, and those of users.

Ours never by PATH: another environment's program of the same name may be of another version.
"""

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Hashable
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from dbdyno.model.error import DynoError, GeneratorError

ERRORS: dict[str, type[DynoError]] = {"dyno-loadgen": GeneratorError, "dyno-flame": DynoError}
"""The programs, and what is raised where one is missing."""
_ANSWERS: dict[Hashable, Any] = {}
"""What programs told of themselves, since this command began."""
Answer = TypeVar("Answer")
VERSION_S = 10.0
"""How long a program may take to say its version."""


def find(name: str) -> Path:
    """The path of one of ERRORS.

    An environment variable named for it (`DYNO_LOADGEN`, `DYNO_FLAME`) decides where
    it is set; else the program lies beside our own scripts. Raises the program's error of ERRORS,
    which lists what was tried.
    """
    error = ERRORS[name]
    variable = name.upper().replace("-", "_")
    override = os.environ.get(variable)
    if override is not None:
        if not is_program(Path(override)):
            raise error(f"`{variable}` names `{override}`, which is no program: unset or mend it")
        return Path(override).absolute()
    tried = candidates(name)
    for path in tried:
        if is_program(path):
            return path
    raise error(
        f"`{name}` is not installed: tried {', '.join(f'`{path}`' for path in tried)}; "
        f"install dbdyno with its programs (`pip install .`), or set `{variable}`"
    )


def candidates(name: str) -> list[Path]:
    """Where a program of this installation may lie, the likeliest first."""
    paths = [Path(sysconfig.get_path("scripts")) / name]
    # `uv run --with` and `pip install --prefix`: <prefix>/lib/pythonX.Y/site-packages/dbdyno
    above = Path(str(resources.files("dbdyno"))).resolve().parents
    if len(above) > 3 and above[0].name in ("site-packages", "dist-packages"):
        paths.append(above[3] / "bin" / name)
    return list(dict.fromkeys(paths))


def installation() -> str:
    """How this package came here, and where it lies: `wheel in …`, or `checkout in …`."""
    above = Path(str(resources.files("dbdyno"))).resolve().parent
    source = "wheel" if above.name in ("site-packages", "dist-packages") else "checkout"
    return f"{source} in {above}"


def said_version(name: str) -> str:
    """What one of ERRORS says of its version and commit, or why it cannot, in one line."""
    try:
        done = subprocess.run(
            [find(name), "--version"], capture_output=True, text=True, check=True, timeout=VERSION_S
        )
    except (DynoError, OSError, subprocess.SubprocessError) as error:
        return f"{name}: {error}"
    return done.stdout.strip()


def is_program(path: Path) -> bool:
    """Whether `path` is a file that we may run."""
    return path.is_file() and os.access(path, os.X_OK)


def of_user(word: str, folder: Path) -> Path | None:
    """The program that a file in `folder` names: a path from there on, or one of PATH's folders."""
    path = shutil.which((folder / word).absolute() if "/" in word else word)
    return None if path is None else Path(path).absolute()


def once(program: Path, question: Hashable, ask: Callable[[], Answer]) -> Answer:
    """What a program tells of itself, asked once until its file changes; raises what `ask` does.

    A plan is checked several times by one command, and a program takes 20 ms to answer. `question`:
    all that the answer follows from, beside the file.
    """
    file: tuple[int, ...] = ()  # of a program that is not there: running it says so
    with suppress(OSError):
        state = program.stat()
        file = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
    key = (program, file, question)
    if key not in _ANSWERS:
        _ANSWERS[key] = ask()
    answer: Answer = _ANSWERS[key]
    return answer


def unended(error: OSError | subprocess.TimeoutExpired) -> str:
    """What a line says of a program that did not come to its end, after the program's name."""
    if isinstance(error, subprocess.TimeoutExpired):
        return f"did not end within {error.timeout:g} s"
    return f"cannot be run: {error.strerror}"
