"""What a server's program was made with, read out of the program itself.

A program names the libraries that it is linked with (the dynamic section), and its compiler signs
it (`.comment`). That holds for any build, whoever made it. A PostgreSQL also holds the words of its
compiler and its configure among its constants (`.rodata`).
"""

import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import msgspec
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from msgspec import Struct

from dbdyno.builds import Build, cache
from dbdyno.builds.flags import OWN
from dbdyno.host.perf.elf import DAMAGED
from dbdyno.model import engine
from dbdyno.model.error import DiskError
from dbdyno.store.file import write_atomically

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
SIGNED = re.compile(r"GCC: |[A-Za-z]*\s?clang version ")
CONFIGURED = re.compile(rb"\0( '(?:--|[A-Z]+=)[^\0]*')\0")
"""What PostgreSQL's configure was given, each in quotes; the view pg_config shows it, too."""
CFLAGS = "CFLAGS="
JIT = ("lib/llvmjit.so", "lib/postgresql/llvmjit.so")
KEPT = "programs.json"
"""The file of the cache with what was read from programs."""


class ProgramFacts(Struct, frozen=True):
    """What a server's program tells of its making."""

    features: tuple[str, ...] = ()  # whose libraries it is linked with
    compiler: str | None = None  # None: it does not say, or several signed it
    configured: str | None = None  # the flags that configure was given; None: it does not say


def read(program: Path) -> ProgramFacts:
    """What a program tells; nothing where it is no ELF file, or a damaged one."""
    with program.open("rb") as stream:
        try:
            file = ELFFile(stream)
            constants = _section(file, ".rodata")
            return ProgramFacts(
                features=tuple(_features(_libraries(file))),
                compiler=_compiler(constants, _section(file, ".comment")),
                configured=_configured(constants),
            )
        except DAMAGED:
            return ProgramFacts()


def _section(file: ELFFile, name: str) -> bytes:
    section = file.get_section_by_name(name)
    return section.data() if section is not None else b""


def _libraries(file: ELFFile) -> list[str]:
    return [
        tag.needed  # type: ignore[attr-defined]  # its kind has it
        for segment in file.iter_segments()
        if isinstance(segment, DynamicSegment)
        for tag in segment.iter_tags("DT_NEEDED")
    ]


def _features(libraries: list[str]) -> Iterator[str]:
    for name, library in LIBRARIES.items():
        pattern = re.compile(rf"lib{library}(?:-[0-9a-f]{{8}})?\.so[.\d]*")
        if any(map(pattern.fullmatch, libraries)):
            yield name


def _compiler(constants: bytes, comment: bytes) -> str | None:
    if match := COMPILED.search(constants):
        return match[1].decode(errors="replace")
    signed = {line for line in comment.decode(errors="replace").split("\0") if SIGNED.match(line)}
    return signed.pop().replace("GCC: ", "gcc ") if len(signed) == 1 else None


def _configured(constants: bytes) -> str | None:
    found = CONFIGURED.search(constants)
    if found is None:
        return None
    try:
        given = shlex.split(found[1].decode(errors="replace"))
    except ValueError:
        return None
    return next((word.removeprefix(CFLAGS) for word in given if word.startswith(CFLAGS)), OWN)


def beside(program: Path) -> tuple[str, ...]:
    """The features that a program loads when it needs them: LLVM's, where it lies beside it."""
    here = any((program.parent.parent / path).is_file() for path in JIT)
    return ("llvm",) if here else ()


def flags(build: Build, facts: ProgramFacts | None = None) -> str | None:
    """What the compiler was told; None where nobody says. `facts`: where they were read already.

    dyno's own record says it, and a PostgreSQL that configure made, whoever ran it.
    """
    record = cache.kept(build.base_dir)
    if record is not None:
        return record.flags
    if not engine.of(build.engine).names_compiler:
        return None
    return (facts or read(build.image or build.program)).configured


# --- Kept ---------------------------------------------------------------------------------------


class KeptFacts(Struct, frozen=True):
    """What was read from a program of this size and time of change."""

    bytes: int
    changed_ns: int
    facts: ProgramFacts


class ProgramReader:
    """Reads programs, each once for its size and time of change: the cache keeps what they tell."""

    def __init__(self, cache_root: Path) -> None:
        self._path = cache_root / KEPT
        self._kept = self._read()
        self._before = dict(self._kept)

    def _read(self) -> dict[str, KeptFacts]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, KeptFacts])
        except (OSError, ValueError):
            return {}  # all is read anew

    def read(self, program: Path) -> ProgramFacts:
        """What a program tells. Raises OSError."""
        state = program.stat()
        kept = self._kept.get(str(program))
        if kept is None or (kept.bytes, kept.changed_ns) != (state.st_size, state.st_mtime_ns):
            kept = KeptFacts(state.st_size, state.st_mtime_ns, read(program))
            self._kept[str(program)] = kept
        return kept.facts

    def keep(self) -> None:
        """Writes what is new, without programs that are gone; nothing where that is refused."""
        there = {path: kept for path, kept in self._kept.items() if Path(path).is_file()}
        if there != self._before:
            with contextlib.suppress(OSError, DiskError):
                write_atomically(self._path, msgspec.json.encode(there), synced=False)
