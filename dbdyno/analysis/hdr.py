"""Reads histograms as dyno-loadgen writes them, many at once: HdrHistogram's V2 deflate form.

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

import numpy as np
from numpy.typing import NDArray

from dbdyno.error import ResultError

CELLS = 23_552
"""Cells of an HDR histogram from 1 µs to 1 h with 3 digits, the contract's."""

_OUTER = struct.Struct(">II")  # cookie, length of what is deflated
_INNER = struct.Struct(">IIIIQQd")  # cookie, bytes of counts, offset, digits, range, ratio
_OUTER_COOKIE, _INNER_COOKIE = 0x1C849314, 0x1C849313
_RANGE = (0, 3, 1, 3_600_000_000)  # offset, digits, lowest and highest time in microseconds
_COUNT_BYTES_MAX = 8  # of one count: up to 2^55
_BODY_BYTES_MAX = CELLS * _COUNT_BYTES_MAX
_TOGETHER_MAX = 256
"""So many are decoded at once: more would not be faster, but take memory."""


def counts_of(encoded: Sequence[str]) -> NDArray[np.int64]:
    """The sums of the histograms' cells, up to the last cell in use.

    Raises ResultError where a text is no histogram of 1 µs to 1 h with 3 digits.
    """
    counts = np.zeros(CELLS, dtype=np.int64)
    for first in range(0, len(encoded), _TOGETHER_MAX):
        _add(counts, [_body(text) for text in encoded[first : first + _TOGETHER_MAX]])
    used = np.flatnonzero(counts)
    return counts[: used[-1] + 1 if len(used) else 0].copy()


def _body(text: str) -> bytes:
    """The counts of one histogram, still encoded."""
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
    if tuple(measure[:4]) != _RANGE:
        raise _refused("it is not of 1 µs to 1 h with 3 digits")
    body = inner[_INNER.size :]
    if len(body) != body_length or (body and body[-1] > 127):
        raise _refused("its counts are cut off")
    return body


def _add(counts: NDArray[np.int64], bodies: Sequence[bytes]) -> None:
    """Adds the counts of all bodies to the cells that they are of."""
    found = np.frombuffer(b"".join(bodies), dtype=np.uint8)
    if not len(found):
        return
    last = np.flatnonzero(found < 128)  # a number's last byte has no high bit
    first = np.concatenate(([0], last[:-1] + 1))
    numbers = _numbers(found, first, last)
    cells = np.where(numbers < 0, -numbers, 1)  # how many cells each number is about
    ends = np.searchsorted(last, np.cumsum([len(body) for body in bodies]))
    if cells.max() > CELLS:
        raise _refused("it has too many cells")
    before = np.concatenate(([0], np.cumsum(cells)))
    begins = np.concatenate(([0], ends[:-1]))
    if (before[ends] - before[begins]).max() > CELLS:
        raise _refused("it has too many cells")
    cell = before[:-1] - np.repeat(before[begins], ends - begins)
    full = numbers > 0
    np.add.at(counts, cell[full], numbers[full])


def _numbers(
    found: NDArray[np.uint8], first: NDArray[np.int64], last: NDArray[np.int64]
) -> NDArray[np.int64]:
    """ZigZag LEB128: seven bits a byte, the lowest first; even numbers are not negative."""
    widths = last - first + 1
    if widths.max() > _COUNT_BYTES_MAX:
        raise _refused("a count is too large")
    place = np.arange(len(found)) - np.repeat(first, widths)
    bits = (found & 127).astype(np.int64) << (7 * place)
    numbers = np.add.reduceat(bits, first)
    return (numbers >> 1) ^ -(numbers & 1)


def _refused(why: object) -> ResultError:
    """The error that names the file: histograms stand nowhere else."""
    text = f"events.jsonl: a histogram cannot be decoded ({why}); restore it from a copy"
    return ResultError(text)
