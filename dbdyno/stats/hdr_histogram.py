"""Reads and writes histograms as dyno-loadgen does, many at once: HdrHistogram's V2 deflate form.

A step of half an hour has some 25,000 of them, and the library that decodes one at a time takes
0.1 ms for each. Here the bytes of all are decoded together and only their sum is kept; the tests
hold it against that library. Layout: "Encoding" of HdrHistogram's `EncodableHistogram` (Java,
2.1.12): cookie, length, zlib of (header of 40 bytes, counts as ZigZag LEB128; a negative number
is so many empty cells).
"""

from __future__ import annotations

import binascii
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dbdyno.model.error import ResultError

Counts = NDArray[np.int64]

HIGHEST_US = 31 * 86_400_000_000
"""Longer times count as this."""


@dataclass(frozen=True)
class CellScale:
    """The cells of HDR histograms with 3 digits: 2,048 alike, then 1,024 for each doubling."""

    count: int
    width: int  # of the first cells, in the scale's unit; each doubling is twice as wide
    unit_us: float

    @cached_property
    def bounds_us(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The smallest and the largest time of each cell, in microseconds."""
        index = np.arange(self.count, dtype=np.int64)
        doubling = np.maximum((index >> 10) - 1, 0)
        within = np.where(index < 1024, index, (index & 1023) + 1024)
        lower = (within << doubling) * self.width
        upper = lower + (np.int64(self.width) << doubling) - 1
        return lower * self.unit_us, upper * self.unit_us

    def cells_of(self, times_us: NDArray[np.float64] | Counts) -> Counts:
        """The cell of each time in microseconds; a time above all cells is in the last."""
        return np.searchsorted(self.bounds_us[0], times_us, side="right").astype(np.int64) - 1


MICROSECONDS = CellScale(count=33_792, width=1, unit_us=1.0)
"""From 1 µs to 31 days, the contract's for all but service times."""
NANOSECONDS = CellScale(count=41_984, width=4, unit_us=1e-3)
"""From 4 ns to 31 days, the contract's for service times."""
CELLS = MICROSECONDS.count


class CellCounts(NamedTuple):
    """How many times are in each cell of a scale, up to the last cell in use."""

    scale: CellScale
    counts: Counts

    def on(self, scale: CellScale) -> CellCounts:
        """The same on another scale, each cell's times in the cell that has its middle."""
        if scale == self.scale:
            return self
        used = np.flatnonzero(self.counts)
        lower, upper = (bounds[used] for bounds in self.scale.bounds_us)
        counts = np.bincount(scale.cells_of((lower + upper) / 2), weights=self.counts[used])
        return CellCounts(scale, counts.astype(np.int64))


_OUTER = struct.Struct(">II")  # cookie, length of what is deflated
_INNER = struct.Struct(">IIIIQQd")  # cookie, bytes of counts, offset, digits, range, ratio
_OUTER_COOKIE, _INNER_COOKIE = 0x1C849314, 0x1C849313
_RANGES = {  # offset, digits, lowest and highest time
    (0, 3, 1, HIGHEST_US): MICROSECONDS,
    (0, 3, 4, 1000 * HIGHEST_US): NANOSECONDS,
    # Of older results; the cells are the same, as far as they go.
    (0, 3, 1, 3_600_000_000): MICROSECONDS,
}
_COUNT_BYTES_MAX = 8  # of one count: up to 2^55
_CELLS_MAX = NANOSECONDS.count
_BODY_BYTES_MAX = _CELLS_MAX * _COUNT_BYTES_MAX
_TOGETHER_MAX = 256
"""So many are decoded at once: more would not be faster, but take memory."""


def counts_of_each(groups: Sequence[Sequence[str]]) -> list[CellCounts]:
    """The sums of the cells of each group's histograms, up to the last cell in use.

    Of a group on two scales the sums are on the coarser one. Raises ResultError where a text is no
    histogram of one of the contract's scales (in older results up to 1 h).
    """
    sums: list[dict[CellScale, Counts]] = [{} for _ in groups]
    texts = [(place, text) for place, group in enumerate(groups) for text in group]
    for first in range(0, len(texts), _TOGETHER_MAX):
        some = texts[first : first + _TOGETHER_MAX]
        bodies = [_body(text) for _, text in some]
        cells, counts, ends = _decoded([body for _, body in bodies])
        parts = [(place, scale) for (place, _), (scale, _) in zip(some, bodies, strict=True)]
        begin = 0
        for number, (place, scale) in enumerate(parts):
            if number + 1 == len(some) or parts[number + 1] != (place, scale):
                end = int(ends[number])
                whole = sums[place].get(scale, np.zeros(0, dtype=np.int64))
                sums[place][scale] = _added(whole, cells[begin:end], counts[begin:end])
                begin = end
    return [_on_one_scale(by_scale) for by_scale in sums]


def _on_one_scale(by_scale: dict[CellScale, Counts]) -> CellCounts:
    every = [CellCounts(scale, counts) for scale, counts in by_scale.items()]
    used = [part for part in every if len(part.counts)]
    if not every:
        return CellCounts(MICROSECONDS, np.zeros(0, dtype=np.int64))
    return reduce(added, used or every)


def added(first: CellCounts, second: CellCounts) -> CellCounts:
    """Both together; of two scales on the coarser one."""
    scale = first.scale if first.scale == second.scale else MICROSECONDS
    longer, shorter = (part.on(scale).counts for part in (first, second))
    if len(longer) < len(shorter):
        longer, shorter = shorter, longer
    whole = longer.copy()
    whole[: len(shorter)] += shorter
    return CellCounts(scale, whole)


def encoded(cells: Counts, counts: Counts) -> str:
    """The histogram of microseconds with these counts in these cells, which ascend."""
    return _encoded([(MICROSECONDS, cells, counts)])[0]


def sums(groups: Sequence[Sequence[str]]) -> list[str]:
    """Of each group one histogram that has counted what all of its histograms have.

    Raises ResultError as `counts_of_each` does.
    """
    texts = ["" if len(group) > 1 else group[0] for group in groups]
    several = [place for place, text in enumerate(texts) if not text]
    whole = counts_of_each([groups[place] for place in several])
    parts = [(scale, np.flatnonzero(counts), counts[counts > 0]) for scale, counts in whole]
    for place, text in zip(several, _encoded(parts), strict=True):
        texts[place] = text
    return texts


def _encoded(parts: Sequence[tuple[CellScale, Counts, Counts]]) -> list[str]:
    """The histograms with these counts in these cells, made together."""
    lists = [_interleaved(cells, counts) for _, cells, counts in parts]
    numbers = np.concatenate([*lists, np.zeros(0, dtype=np.int64)])
    body, ends = _written((numbers << 1) ^ (numbers >> 63))
    begin, texts = 0, []
    following = np.cumsum(list(map(len, lists))).tolist()
    for (scale, _, _), last in zip(parts, following, strict=True):
        end = int(ends[last - 1]) if last else 0
        texts.append(_text(body[begin:end], scale))
        begin = end
    return texts


def _interleaved(cells: Counts, counts: Counts) -> Counts:
    """The counts, each after the number of empty cells before it, as a negative one, if any are."""
    empty = np.diff(cells, prepend=-1) - 1
    both: Counts = np.column_stack((-empty, counts)).ravel()
    written: NDArray[np.bool_] = np.column_stack((empty > 0, np.ones_like(empty, dtype=bool)))
    return both[written.ravel()]


def _written(numbers: Counts) -> tuple[bytes, Counts]:
    """Numbers, none of which is negative, as LEB128, and where each of them ends."""
    widths = np.ones(len(numbers), dtype=np.int64)
    for width in range(1, _COUNT_BYTES_MAX):
        more = numbers >> (7 * width) > 0
        if not more.any():
            break
        widths += more
    ends = np.cumsum(widths)
    written = np.zeros(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    for place in range(int(widths.max(initial=0))):
        some = widths > place
        bits = (numbers[some] >> (7 * place)) & 127
        written[(ends - widths)[some] + place] = bits | (128 * (widths[some] > place + 1))
    return written.tobytes(), ends


def _text(body: bytes, scale: CellScale) -> str:
    measure = next(measure for measure, known in _RANGES.items() if known == scale)
    inner = _INNER.pack(_INNER_COOKIE, len(body), *measure, 1.0) + body
    deflated = zlib.compress(inner)
    text = binascii.b2a_base64(_OUTER.pack(_OUTER_COOKIE, len(deflated)) + deflated, newline=False)
    return text.decode("ascii")


def _added(whole: Counts, cells: Counts, counts: Counts) -> Counts:
    """The sums with some counts more, grown where they reach further."""
    full = counts > 0
    if not full.any():
        return whole
    grown = np.zeros(max(len(whole), int(cells[full].max()) + 1), dtype=np.int64)
    grown[: len(whole)] = whole
    np.add.at(grown, cells[full], counts[full])
    return grown


def _body(text: str) -> tuple[CellScale, bytes]:
    """The scale of one histogram, and its counts, still encoded."""
    try:
        raw = binascii.a2b_base64(text)
        cookie, length = _OUTER.unpack_from(raw)
        unzip = zlib.decompressobj()
        inner = unzip.decompress(raw[_OUTER.size :], _INNER.size + _BODY_BYTES_MAX)
        inner_cookie, body_length, *measure = _INNER.unpack_from(inner)
    except (ValueError, TypeError, struct.error, zlib.error) as error:
        raise _refused(error) from error
    whole = unzip.eof and length == len(raw) - _OUTER.size
    if not whole or (cookie, inner_cookie) != (_OUTER_COOKIE, _INNER_COOKIE):
        raise _refused("cut off, or of another form")
    scale = _RANGES.get(tuple(measure[:4]))
    if scale is None:
        raise _refused("its cells are neither of 1 µs nor of 4 ns to 31 days with 3 digits")
    body = inner[_INNER.size :]
    if len(body) != body_length or (body and body[-1] > 127):
        raise _refused("its counts are cut off")
    return scale, body


def _decoded(bodies: Sequence[bytes]) -> tuple[Counts, Counts, Counts]:
    """The cells, their counts (negative: so many are empty), and where each body ends in these."""
    octets = np.frombuffer(b"".join(bodies), dtype=np.uint8)
    none = np.zeros(0, dtype=np.int64)
    if not len(octets):
        return none, none, np.zeros(len(bodies), dtype=np.int64)
    last = np.flatnonzero(octets < 128)  # a number's last byte has no high bit
    first = np.concatenate(([0], last[:-1] + 1))
    numbers = _numbers(octets, first, last)
    steps = np.where(numbers < 0, -numbers, 1)  # how many cells each number is about
    ends = np.searchsorted(last, np.cumsum([len(body) for body in bodies]))
    if steps.max() > _CELLS_MAX:
        raise _refused("it has too many cells")
    before = np.concatenate(([0], np.cumsum(steps)))
    begins = np.concatenate(([0], ends[:-1]))
    if (before[ends] - before[begins]).max() > _CELLS_MAX:
        raise _refused("it has too many cells")
    return before[:-1] - np.repeat(before[begins], ends - begins), numbers, ends


def _numbers(
    octets: NDArray[np.uint8], first: NDArray[np.int64], last: NDArray[np.int64]
) -> NDArray[np.int64]:
    """ZigZag LEB128: seven bits a byte, the lowest first; even numbers are not negative."""
    widths = last - first + 1
    if widths.max() > _COUNT_BYTES_MAX:
        raise _refused("a count is too large")
    place = np.arange(len(octets)) - np.repeat(first, widths)
    bits = (octets & 127).astype(np.int64) << (7 * place)
    numbers = np.add.reduceat(bits, first)
    return (numbers >> 1) ^ -(numbers & 1)


def _refused(why: object) -> ResultError:
    """The error that names the file: histograms stand nowhere else."""
    text = f"events.jsonl: a histogram cannot be decoded ({why}); restore it from a copy"
    return ResultError(text)
