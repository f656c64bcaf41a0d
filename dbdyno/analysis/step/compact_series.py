"""Series in few bytes, unpacked when one is asked for.

Series are most of what a step comes to, and a report draws those of a few runs. An array of numbers
is 64-bit floats, little-endian, deflated, in base64; series over the same times share one.
"""

from __future__ import annotations

import binascii
import zlib
from collections.abc import Iterator, Mapping

import numpy as np

from dbdyno.model import Json, Series

_COMPRESSION = 1  # of deflate: the higher ones take longer and save little
_NUMBER = np.dtype("<f8")


class PackedSeries(Mapping[str, Series]):
    """Series by name; `plain` is all of it: {"arrays": [text, …], "series": {name: [x, y]}}."""

    def __init__(self, plain: Json) -> None:
        self.plain = plain
        self._places: dict[str, list[int]] = plain["series"]
        self._arrays: list[str] = plain["arrays"]

    @classmethod
    def of(cls, series: Mapping[str, Series]) -> PackedSeries:
        """The same series, packed."""
        texts: dict[tuple[float, ...], str] = {}
        for one in series.values():
            for values in (one.x_s, one.y):
                if values not in texts:
                    texts[values] = _packed(values)
        places = {values: place for place, values in enumerate(texts)}
        return cls(
            {
                "arrays": list(texts.values()),
                "series": {name: [places[s.x_s], places[s.y]] for name, s in series.items()},
            }
        )

    def __getitem__(self, name: str) -> Series:
        x, y = self._places[name]
        return Series(x_s=_unpacked(self._arrays[x]), y=_unpacked(self._arrays[y]))

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"PackedSeries({', '.join(self._places)})"


def _packed(values: tuple[float, ...]) -> str:
    data = np.array(values, dtype=_NUMBER).tobytes()
    return binascii.b2a_base64(zlib.compress(data, _COMPRESSION), newline=False).decode()


def _unpacked(text: str) -> tuple[float, ...]:
    data = zlib.decompress(binascii.a2b_base64(text))
    return tuple(np.frombuffer(data, dtype=_NUMBER).tolist())
