"""Reads what profiles ask of a binary: its build id, its symbols, its frame pointers.

The layout is that of the ELF specification (elf(5)) and, for the table of functions, of the Linux
Standard Base's chapter on `.eh_frame_hdr`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path

MAGIC = b"\x7fELF"
WIDE, LITTLE = 2, 1
"""The class and the byte order that are read: 64 bits, least byte first."""
X86_64, AARCH64 = 62, 183
"""Machines whose first instructions are known."""
SORTED_TABLE = b"\x01\x1b\x03\x3b"
"""An `.eh_frame_hdr` as all linkers write it: offsets of 32 bits, relative to itself."""
ENTRY_BYTES = 24
"""How far into a function its frame is looked for: a compiler moves some work before it."""
FRAME_SHARE_MIN = 0.25
"""The share of functions from which a binary counts as one that keeps frame pointers.

Of PostgreSQL and MariaDB, 55 to 65 % of the functions of builds that keep them set a frame up in
their first bytes (small functions need none), and 0.2 % of builds that do not.
"""
DEBUG_FILES = Path("/usr/lib/debug/.build-id")
"""Where distributions install the symbols of their binaries."""


@dataclass(frozen=True, kw_only=True)
class Binary:
    """What an ELF file tells of itself."""

    build_id: str | None  # hexadecimal
    symbols: bool  # a full table of symbols, its own or an installed debug file's
    frame_pointers: bool | None  # None: the machine's first instructions are not known


def read(path: Path) -> Binary | None:
    """What the binary tells; None where it cannot be read, or is no ELF file of 64 bits."""
    try:
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            return _told(data)
    except (OSError, struct.error, ValueError):
        return None


@dataclass(frozen=True, kw_only=True)
class _Section:
    address: int
    offset: int
    size: int


def _told(data: mmap) -> Binary | None:
    if data[:6] != MAGIC + bytes((WIDE, LITTLE)):
        return None
    sections = _sections(data)
    build_id = _build_id(data, sections.get(".note.gnu.build-id"))
    return Binary(
        build_id=build_id,
        symbols=".symtab" in sections or _has_debug_file(build_id),
        frame_pointers=_keeps_frames(data, sections),
    )


def _sections(data: mmap) -> dict[str, _Section]:
    (start,) = struct.unpack_from("<Q", data, 0x28)
    entry_bytes, count, names_at = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, start + at * entry_bytes) for at in range(count)]
    if not headers:
        return {}
    names = headers[names_at][4]
    found = {}
    for name, _type, _flags, address, offset, size in headers:
        end = data.find(b"\0", names + name)
        label = data[names + name : end].decode(errors="replace")
        found[label] = _Section(address=address, offset=offset, size=size)
    return found


def _build_id(data: mmap, note: _Section | None) -> str | None:
    if note is None:
        return None
    name_bytes, id_bytes = struct.unpack_from("<II", data, note.offset)
    at = note.offset + 12 + (name_bytes + 3) // 4 * 4
    return data[at : at + id_bytes].hex()


def _has_debug_file(build_id: str | None) -> bool:
    if not build_id:
        return False
    return (DEBUG_FILES / build_id[:2] / f"{build_id[2:]}.debug").exists()


def _keeps_frames(data: mmap, sections: dict[str, _Section]) -> bool | None:
    (machine,) = struct.unpack_from("<H", data, 0x12)
    table, text = sections.get(".eh_frame_hdr"), sections.get(".text")
    if table is None or text is None or machine not in (X86_64, AARCH64):
        return None
    if data[table.offset : table.offset + 4] != SORTED_TABLE:
        return None
    (count,) = struct.unpack_from("<I", data, table.offset + 8)
    # Pairs of a function's address and of its entry's, both relative to the table.
    pairs = struct.unpack_from(f"<{2 * count}i", data, table.offset + 12)
    functions = frames = 0
    for relative in pairs[::2]:
        at = table.address + relative - text.address
        if not 0 <= at < text.size:
            continue
        functions += 1
        entry = data[text.offset + at : text.offset + at + ENTRY_BYTES]
        frames += _sets_frame(entry, machine)
    return functions > 0 and frames / functions >= FRAME_SHARE_MIN


def _sets_frame(entry: bytes, machine: int) -> bool:
    if machine == X86_64:  # push %rbp … mov %rsp,%rbp
        pushed = entry.find(b"\x55")
        return pushed >= 0 and entry.find(b"\x48\x89\xe5", pushed) >= 0
    return b"\xfd\x03\x00\x91" in entry  # mov x29, sp
