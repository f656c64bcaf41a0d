"""ccache or sccache, where one is installed: a file that was compiled before is not compiled again.

Builds find compilers of the same names first that call the others by way of it. No build differs
for it: neither the words of configure and make nor what they make.

compilers/gcc    beside what is built: such a compiler, of each that is here
"""

import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from dbdyno.model.error import HostError

FOLDER = "compilers"
PROGRAMS = ("ccache", "sccache")
COMPILERS = ("gcc", "g++", "cc", "c++", "clang", "clang++")
DEPEND = {"CCACHE_DEPEND": "1"}
"""ccache takes the headers of a file from the list that the compiler writes (-MMD), where it writes
one, and preprocesses nothing: less CPU for a file that was not compiled before."""


def environment(place: Path) -> dict[str, str]:
    """What programs that build in a place are told of it; nothing where neither is installed."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        return {}
    folder = place / FOLDER
    texts = dict(by_way_of(program))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            if path.name not in texts or path.is_symlink():
                path.unlink()
        for name, text in texts.items():
            path = folder / name
            if not path.is_file() or path.read_text() != text:  # else its time says it is another
                path.write_text(text)
                path.chmod(0o755)
    except OSError as error:
        raise HostError(f"`{folder}` cannot be made: {error.strerror}") from error
    return {"PATH": os.pathsep.join([str(folder), *os.get_exec_path()]), **DEPEND}


def by_way_of(program: str) -> Iterator[tuple[str, str]]:
    """The name of each compiler that is here, and a program that calls it by way of `program`."""
    for name in COMPILERS:
        path = shutil.which(name)
        # A distribution may have put links in our way, which are the cache already.
        if path is not None and os.path.realpath(path) != os.path.realpath(program):
            yield name, f'#!/bin/sh\nexec {shlex.join([program, path])} "$@"\n'
