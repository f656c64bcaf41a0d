"""Series in few bytes, unpacked when one is asked for.

Series are most of what a step comes to, and a report draws those of a few runs. An array of numbers
is 64-bit floats, little-endian, deflated; series over the same times share one.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping

import numpy as np
from msgspec import Struct

from dbdyno.model import Series

_COMPRESSION = 1  # of deflate: the higher ones take longer and save little
_NUMBER = np.dtype("<f8")


class SeriesBytes(Struct, frozen=True):
    """Series; an array of numbers is 64-bit floats, little-endian, deflated."""

    arrays: tuple[bytes, ...]
    series: Mapping[str, tuple[int, int]]  # by name the places of x and of y among the arrays


class PackedSeries(Mapping[str, Series]):
    """Series by name; `content` is all of it."""

    def __init__(self, content: SeriesBytes) -> None:
        self.content = content

    @classmethod
    def of(cls, series: Mapping[str, Series]) -> PackedSeries:
        """The same series, packed."""
        arrays: dict[tuple[float, ...], bytes] = {}
        for curve in series.values():
            for values in (curve.x_s, curve.y):
                if values not in arrays:
                    numbers = np.array(values, dtype=_NUMBER)
                    arrays[values] = zlib.compress(numbers.tobytes(), _COMPRESSION)
        places = {values: place for place, values in enumerate(arrays)}
        return cls(
            SeriesBytes(
                arrays=tuple(arrays.values()),
                series={name: (places[s.x_s], places[s.y]) for name, s in series.items()},
            )
        )

    def __getitem__(self, name: str) -> Series:
        x, y = (self.content.arrays[place] for place in self.content.series[name])
        return Series(x_s=_unpacked(x), y=_unpacked(y))

    def __contains__(self, name: object) -> bool:
        return name in self.content.series

    def __iter__(self) -> Iterator[str]:
        return iter(self.content.series)

    def __len__(self) -> int:
        return len(self.content.series)


def _unpacked(array: bytes) -> tuple[float, ...]:
    return tuple(np.frombuffer(zlib.decompress(array), dtype=_NUMBER).tolist())
