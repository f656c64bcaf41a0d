"""Files of a server that is down, made as long as another server's, without a row in them.

The planner reads the lengths of files, and how high a btree is from its first page. What is added
is a hole: pages of zeros, which PostgreSQL takes for empty ones. A btree gets a root that leads to
its one leaf, because the planner itself may descend for an end.
"""

import os
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

BLOCK_BYTES = 8192
SEGMENT_BLOCKS = 131_072
"""Blocks of a file, after which the next begins: 1 GiB."""
HEADER_BYTES, SPECIAL_BYTES = 24, 16
SPECIAL_AT = BLOCK_BYTES - SPECIAL_BYTES
LAYOUT = BLOCK_BYTES | 4
"""Size and version of a page's layout (bufpage.h)."""
LEAF, ROOT = 1, 2
"""Flags of a btree's page (nbtree.h, BTP_LEAF and BTP_ROOT)."""
FLAGS_AT = SPECIAL_AT + 12
LEAF_BLOCK, ROOT_BLOCK, META_AT = 1, 2, 32
"""Where a btree has its pages, and the first of them the root and its level, twice."""
PENDING_AT = HEADER_BYTES + 12
"""Where a GIN index's first page has the length of its list (ginblock.h, nPendingPages)."""
TUPLE_BYTES, PIVOT = 8, 0x2000
"""A tuple of an internal page without keys, and the flag of one (INDEX_ALT_TID_MASK)."""
NORMAL_ITEM = 1
TRIAL = "dyno-sparse"
TRIAL_BYTES = 16 << 20


@dataclass(frozen=True, kw_only=True)
class LongFile:
    """A relation's file as it is to be."""

    path: str  # below the data directory
    blocks: int
    height: int = 0  # of a btree: levels above its leaves
    pending: int = 0  # of a GIN index: pages of its list


def is_sparse(folder: Path) -> bool:
    """Whether holes of files take no room in a folder. Raises OSError."""
    place = folder / TRIAL
    place.unlink(missing_ok=True)
    try:
        with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            os.truncate(file.fileno(), TRIAL_BYTES)
            os.fsync(file.fileno())
            return os.fstat(file.fileno()).st_blocks * 512 < TRIAL_BYTES // 2
    finally:
        place.unlink(missing_ok=True)


def lengthen(data_dir: Path, files: Iterable[LongFile]) -> None:
    """Makes files as long as they are to be, never shorter. Raises OSError."""
    for file in files:
        first = data_dir / file.path
        if file.height and file.blocks > ROOT_BLOCK:
            heighten(first, file.height)
        if file.pending:
            _put_pending(first, file.pending)
        segments, rest = divmod(file.blocks, SEGMENT_BLOCKS)
        lengths = [SEGMENT_BLOCKS] * segments + [rest] * (rest > 0)
        for number, blocks in enumerate(lengths):
            place = first if number == 0 else first.with_name(f"{first.name}.{number}")
            _lengthen(place, blocks * BLOCK_BYTES)


def _lengthen(place: Path, size: int) -> None:
    descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        if os.fstat(descriptor).st_size < size:
            os.truncate(descriptor, size)
    finally:
        os.close(descriptor)


def _put_pending(place: Path, pages: int) -> None:
    """Says on a GIN index's first page how long its list is, of which EXPLAIN reads no page."""
    with place.open("r+b") as file:
        file.seek(PENDING_AT)
        file.write(struct.pack("<I", pages))


def heighten(place: Path, height: int) -> None:
    """Puts a root of that level above the one leaf of a btree, or an empty one. Raises OSError."""
    with place.open("r+b") as file:
        content = file.read()
        file.seek(0)
        file.write(heightened(content, height))


def heightened(content: bytes, height: int) -> bytes:
    """A btree of one leaf at most with a root of that level above it.

    A descent reads pages until it comes to the leaf, so that those between can be left out.
    """
    meta, leaf = bytearray(content[:BLOCK_BYTES]), bytearray(content[BLOCK_BYTES : 2 * BLOCK_BYTES])
    if len(content) > 2 * BLOCK_BYTES:
        return bytes(content)  # it has grown by itself
    if not leaf:
        leaf = bytearray(_page(level=0, flags=LEAF, items=()))
    (flags,) = struct.unpack_from("<H", leaf, FLAGS_AT)
    struct.pack_into("<H", leaf, FLAGS_AT, flags & ~ROOT)
    root = _page(level=height, flags=ROOT, items=(downlink(LEAF_BLOCK),))
    struct.pack_into("<IIII", meta, META_AT, ROOT_BLOCK, height, ROOT_BLOCK, height)
    return bytes(meta + leaf) + root


def downlink(block: int) -> bytes:
    """The one tuple of an internal page: it points to the block below, and has no key."""
    return struct.pack("<HHHH", block >> 16, block & 0xFFFF, 0, TUPLE_BYTES | PIVOT)


def _page(*, level: int, flags: int, items: Sequence[bytes]) -> bytes:
    """A page of a btree (bufpage.h, nbtree.h)."""
    page = bytearray(BLOCK_BYTES)
    upper = SPECIAL_AT
    for number, item in enumerate(items):
        upper -= len(item)
        page[upper : upper + len(item)] = item
        pointer = upper | NORMAL_ITEM << 15 | len(item) << 17
        struct.pack_into("<I", page, HEADER_BYTES + 4 * number, pointer)
    lower = HEADER_BYTES + 4 * len(items)
    struct.pack_into("<HHHH", page, 12, lower, upper, SPECIAL_AT, LAYOUT)
    struct.pack_into("<IIIHH", page, SPECIAL_AT, 0, 0, level, flags, 0)
    return bytes(page)
