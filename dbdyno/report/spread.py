"""A figure over the blocks: its mean, and beside it how far the blocks lie apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from dbdyno.report import number
from dbdyno.report.parts import Cell, Tone

MEANS = "Means of the blocks"
RANGES = ", and from the smallest to the largest"


def cell(
    values: Iterable[float | None],
    words: Callable[[float | None], str] = number.number,
    tone: Tone = "",
) -> Cell:
    """The mean of the values that are known; with several that differ, their range beside it."""
    known = [value for value in values if value is not None]
    if not known:
        return Cell(text=number.MISSING)
    low, high = words(min(known)), words(max(known))
    return Cell(
        text=words(mean(known)),
        detail="" if low == high else reach(low, high),
        tone=tone,
        title=f"by block: {', '.join(words(value) for value in known)}" if low != high else "",
    )


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean; there must be a value."""
    found = list(values)
    return math.fsum(found) / len(found)


def reach(low: str, high: str) -> str:
    """From one figure to another; a unit that both have stands once."""
    number_low, _, unit_low = low.partition(" ")
    _, _, unit_high = high.partition(" ")
    return f"{number_low if unit_low == unit_high else low}{number.EN_DASH}{high}"


def blocks(count: int) -> str:
    """What the figures of a table are, in a sentence; nothing for one block."""
    return "" if count <= 1 else f"{MEANS}{RANGES}."
