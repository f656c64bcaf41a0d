"""Files as long as another server's, and btrees as high: by their bytes, without a server."""

import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.engine.postgres import long_files
from dbdyno.engine.postgres.long_files import (
    BLOCK_BYTES,
    FLAGS_AT,
    LEAF,
    META_AT,
    ROOT,
    SEGMENT_BLOCKS,
    SPECIAL_AT,
    LongFile,
)
from dbdyno.engine.postgres.statistics_explain import reckoned_height
from dbdyno.engine.postgres.statistics_export import has_own_types


def root_leaf() -> bytes:
    """An index of two rows: its first page, and a leaf that is the root."""
    meta, leaf = bytearray(BLOCK_BYTES), bytearray(BLOCK_BYTES)
    struct.pack_into("<IIII", meta, META_AT, 1, 0, 1, 0)
    struct.pack_into("<H", leaf, FLAGS_AT, LEAF | ROOT)
    leaf[5000:5004] = b"rows"
    return bytes(meta + leaf)


def descended(content: bytes) -> list[tuple[int, int, int]]:
    """Block, level and flags from the root down to the leaf, by the pages' own pointers."""
    root, level, fast, fast_level = struct.unpack_from("<IIII", content, META_AT)
    assert (root, level) == (fast, fast_level)
    way, block = [], root
    while True:
        page = content[block * BLOCK_BYTES : (block + 1) * BLOCK_BYTES]
        (own,) = struct.unpack_from("<I", page, SPECIAL_AT + 8)
        (flags,) = struct.unpack_from("<H", page, FLAGS_AT)
        way.append((block, own, flags))
        if flags & LEAF:
            assert own == 0
            return way
        (pointer,) = struct.unpack_from("<I", page, 24)
        high, low, _, info = struct.unpack_from("<HHHH", page, pointer & 0x7FFF)
        assert info & 0x1FFF == pointer >> 17 == 8
        block = high << 16 | low


@given(height=st.integers(1, 6), filled=st.booleans())
def test_a_heightened_btree_leads_from_its_root_to_its_one_leaf(height: int, filled: bool) -> None:
    content = root_leaf() if filled else bytes(BLOCK_BYTES)
    made = long_files.heightened(content, height)
    way = descended(made)
    assert [level for _, level, _ in way] == [height, 0]
    assert [flags & ROOT for _, _, flags in way] == [ROOT, 0]
    assert struct.unpack_from("<IIII", made, META_AT)[1::2] == (height, height)
    assert way[-1][0] == 1
    assert (b"rows" in made) == filled


def test_a_btree_that_has_grown_by_itself_stays(tmp_path: Path) -> None:
    content = root_leaf() + bytes(BLOCK_BYTES)
    assert long_files.heightened(content, 3) == content


def test_files_are_lengthened_by_holes_in_segments_and_never_cut(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"x" * BLOCK_BYTES)
    (tmp_path / "short").write_bytes(b"y" * 3 * BLOCK_BYTES)
    files = [
        LongFile(path="long", blocks=2 * SEGMENT_BLOCKS + 5),
        LongFile(path="short", blocks=1),
        LongFile(path="index", blocks=9, height=2),
        LongFile(path="gin", blocks=9, pending=5),
    ]
    (tmp_path / "index").write_bytes(root_leaf())
    (tmp_path / "gin").write_bytes(bytes(2 * BLOCK_BYTES))
    assert long_files.is_sparse(tmp_path)
    long_files.lengthen(tmp_path, files)
    sizes = {path.name: path.stat().st_size // BLOCK_BYTES for path in tmp_path.iterdir()}
    assert sizes == {
        "long": SEGMENT_BLOCKS, "long.1": SEGMENT_BLOCKS, "long.2": 5, "short": 3, "index": 9,
        "gin": 9,
    }  # fmt: skip
    assert sum(path.stat().st_blocks for path in tmp_path.iterdir()) * 512 < 1 << 20
    assert len(descended((tmp_path / "index").read_bytes())) == 2
    (pending,) = struct.unpack_from("<I", (tmp_path / "gin").read_bytes(), 24 + 12)
    assert pending == 5


def test_a_link_in_a_files_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "else").write_bytes(b"")
    (tmp_path / "linked").symlink_to(tmp_path / "else")
    with pytest.raises(OSError):
        long_files.lengthen(tmp_path, [LongFile(path="linked", blocks=4)])
    assert (tmp_path / "else").stat().st_size == 0


def test_a_file_system_without_holes_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def filled(file: int, size: int) -> None:
        os.write(file, b"z" * size)

    monkeypatch.setattr(os, "truncate", filled)
    assert not long_files.is_sparse(tmp_path)


@pytest.mark.parametrize(
    ("blocks", "width", "height"),
    [(1, 4, 0), (2, 4, 0), (3, 4, 1), (276, 8, 1), (300_000, 8, 3), (300_000, 200, 4)],
)
def test_heights_are_reckoned_by_pages_and_widths(blocks: int, width: int, height: int) -> None:
    assert reckoned_height(blocks, width) == height


def test_lists_of_common_values_tell_types_that_are_no_catalogs() -> None:
    head = struct.pack("<IIIH", 0xE1A651C2, 1, 3, 2)
    assert not has_own_types(head + struct.pack("<II", 25, 23))
    assert has_own_types(head + struct.pack("<II", 25, 16400))
