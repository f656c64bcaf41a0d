"""A chart as a picture that stands by itself: SVG or PNG, with its title, on a white ground."""

import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from dbdyno.model import Json
from dbdyno.model.extra import library
from dbdyno.parts.part import Page
from dbdyno.report import chart
from dbdyno.report.chart import style

POINTS_MAX = 240  # of one arm in one chart within a page
PADDING = 10  # pixels around a chart within a page, as readers' fonts may be wider than ours
PNG_SCALE = 2.0  # pixels of a picture for each of the chart's, for sharp screens and for paper


def svg(spec: Json, arms: Sequence[str]) -> bytes:
    """A chart of `chart.specs` as SVG; `arms` are those of its page."""
    text: str = _converter().vegalite_to_svg(_whole(spec, arms))
    return text.encode()


def png(spec: Json, arms: Sequence[str], scale: float = PNG_SCALE) -> bytes:
    """A chart of `chart.specs` as PNG; `arms` are those of its page."""
    made: bytes = _converter().vegalite_to_png(_whole(spec, arms), scale=scale)
    return made


def drawn(page: Page, width: int) -> dict[str, str]:
    """The charts of a page as SVG within it: without titles, in the colours of its style sheet."""
    converter = _converter()
    config = style.page(len(page.arms)) | {"padding": PADDING}
    return {
        name: converter.vegalite_to_svg(chart.standalone(spec, config, width, titled=False))
        for name, spec in chart.specs(page, POINTS_MAX).items()
    }


def _converter() -> Any:
    return library("vl_convert", extra="pictures")


def _whole(spec: Json, arms: Sequence[str]) -> Json:
    return chart.standalone(spec, style.picture(len(arms)))


# --- Smaller files --------------------------------------------------------------------------------

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COMPRESSION = 6  # a third of the bytes; 9 takes five times as long for another fiftieth


def packed(content: bytes) -> bytes:
    """Compresses a PNG's data better, without changing a pixel: vl-convert packs for speed."""
    chunks = list(_chunks(content))
    data = b"".join(body for kind, body in chunks if kind == b"IDAT")
    small = zlib.compress(zlib.decompress(data), COMPRESSION)
    head = [chunk for chunk in chunks if chunk[0] not in (b"IDAT", b"IEND")]
    whole = (*head, (b"IDAT", small), (b"IEND", b""))
    return SIGNATURE + b"".join(_chunk(kind, body) for kind, body in whole)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I4s", len(body), kind) + body + struct.pack(">I", zlib.crc32(kind + body))


def _chunks(content: bytes) -> Iterable[tuple[bytes, bytes]]:
    """The kind and the body of each chunk (PNG, third edition, section 5)."""
    place = len(SIGNATURE)
    while place < len(content):
        length, kind = struct.unpack_from(">I4s", content, place)
        yield kind, content[place + 8 : place + 8 + length]
        place += length + 12
