"""What a server's program was made with, read out of the program itself.

A program names the libraries that it is linked with, and its compiler signs it. That holds for
any build, whoever made it.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from dbdyno.builds import Build, cache
from dbdyno.builds.flags import OWN
from dbdyno.model import engine

LIBRARIES = {
    "lz4": "lz4",
    "zstd": "zstd",
    "liburing": "uring",
    "icu": "icuuc",
    "ssl": "ssl",
    "numa": "numa",
    "xml": "xml2",
    "ldap": r"ldap(?:_r)?(?:-[\d.]+)?",
    "gssapi": "gssapi_krb5",
    "pam": "pam",
    "systemd": "systemd",
    "zlib": "z",
    "aio": "aio",
}
"""Feature -> the library that has it, as a regular expression."""
COMPILED = re.compile(rb"PostgreSQL [^\0]{1,200}?, compiled by ([^\0]{1,200}?), \d+-bit")
SIGNED = re.compile(rb"\0((?:GCC: |[A-Za-z]*\s?clang version )[^\0]{1,120})")
CONFIGURED = re.compile(rb"\0( '(?:--|[A-Z]+=)[^\0]*')\0")
"""What PostgreSQL's configure was given, each in quotes; the view pg_config shows it, too."""
CFLAGS = "CFLAGS="
JIT = ("lib/llvmjit.so", "lib/postgresql/llvmjit.so")


def linked(program: Path) -> list[str]:
    """The features whose libraries the program is linked with; LLVM's where it lies beside it."""
    content = program.read_bytes()
    found = [
        name
        for name, library in LIBRARIES.items()
        if re.search(rb"\0lib" + library.encode() + rb"(?:-[0-9a-f]{8})?\.so[.\d]*\0", content)
    ]
    if any((program.parent.parent / one).is_file() for one in JIT):
        found.append("llvm")
    return found


def compiler(program: Path) -> str | None:
    """The compiler that made the program; None where it does not say, or several signed it."""
    content = program.read_bytes()
    if match := COMPILED.search(content):
        return match[1].decode(errors="replace")
    signed = {match.decode(errors="replace") for match in SIGNED.findall(content)}
    return signed.pop().replace("GCC: ", "gcc ") if len(signed) == 1 else None


def flags(build: Build) -> str | None:
    """What the compiler was told; None where nobody says.

    dyno's own record says it, and a PostgreSQL that configure made, whoever ran it.
    """
    record = cache.record(build.base_dir)
    if record is not None:
        return str(record["flags"])
    if not engine.of(build.engine).names_compiler:
        return None
    return configured((build.image or build.program).read_bytes())


def configured(content: bytes) -> str | None:
    """The flags that configure was given for the program of this content; None: it does not say."""
    found = CONFIGURED.search(content)
    if found is None:
        return None
    try:
        given = shlex.split(found[1].decode(errors="replace"))
    except ValueError:
        return None
    return next((one.removeprefix(CFLAGS) for one in given if one.startswith(CFLAGS)), OWN)
