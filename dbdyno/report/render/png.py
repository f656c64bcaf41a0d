"""PNG files made smaller without changing a pixel: those of vl-convert are packed for speed."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable

SIGNATURE = b"\x89PNG\r\n\x1a\n"
LEVEL = 6  # a third of the bytes; 9 takes five times as long for another fiftieth


def packed(content: bytes) -> bytes:
    """The same picture with its data compressed better."""
    chunks = list(_chunks(content))
    data = b"".join(body for kind, body in chunks if kind == b"IDAT")
    small = zlib.compress(zlib.decompress(data), LEVEL)
    head = [chunk for chunk in chunks if chunk[0] not in (b"IDAT", b"IEND")]
    return SIGNATURE + b"".join(_chunk(*one) for one in (*head, (b"IDAT", small), (b"IEND", b"")))


def _chunks(content: bytes) -> Iterable[tuple[bytes, bytes]]:
    """The kind and the body of each chunk (PNG, third edition, section 5)."""
    place = len(SIGNATURE)
    while place < len(content):
        length, kind = struct.unpack_from(">I4s", content, place)
        yield kind, content[place + 8 : place + 8 + length]
        place += length + 12


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I4s", len(body), kind) + body + struct.pack(">I", zlib.crc32(kind + body))
