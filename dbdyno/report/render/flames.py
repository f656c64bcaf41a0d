"""The flame graphs of an HTML page: drawn and packed, or the sentence that says why not."""

import base64
import gzip
from collections.abc import Iterable
from dataclasses import dataclass

from dbdyno.model.error import DynoError
from dbdyno.model.flame import Draw
from dbdyno.parts.part import Flame

BYTES_MAX = 1_500_000
"""Of all flame graphs on a page, packed: most of its charts' room stays theirs."""


@dataclass(frozen=True)
class PackedFlame:
    """A flame graph as the page holds it: SVG, gzip, base64; or why it is not there."""

    data: str = ""
    missing: str = ""


def flames(found: Iterable[Flame], draw: Draw | None) -> dict[str, PackedFlame]:
    """Each flame graph of a page by its name; those beyond BYTES_MAX are left out, and say so."""
    made: dict[str, PackedFlame] = {}
    room = BYTES_MAX
    for one in found:
        packed = _drawn(one, draw)
        if len(packed.data) > room:
            packed = PackedFlame(missing=f"The page has no room for it; `{one.command}` draws it.")
        room -= len(packed.data)
        made[one.name] = packed
    return made


def _drawn(flame: Flame, draw: Draw | None) -> PackedFlame:
    if draw is None:
        return PackedFlame(missing=f"This page has no flame graphs; `{flame.command}` draws it.")
    try:
        svg = draw(flame.graph)
    except DynoError as error:
        return PackedFlame(missing=f"Not drawn: {error}.")
    return PackedFlame(data=base64.b64encode(gzip.compress(svg.encode(), mtime=0)).decode())
