"""Colours of a report: what for, and from which ratios on: the published studies' or others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dbdyno.model.error import DynoError
from dbdyno.report import number

Tone = Literal[
    "",
    "red",
    "green",
    "gray",
    "blue",
    "yellow",
    "faster",
    "slower",
    "alike",
    "failed",
    "quiet",
    "notice",
    "total",
]
"""The reason for the colour of a cell or a callout."""
ARROWS: Mapping[str, str] = {"blue": "▲", "yellow": "▼", "faster": "▲", "slower": "▼"}
"""The mark beside a number, for formats without colour."""

DIGITS = 2
"""Digits of a ratio in a table, by which its colour is chosen: what a reader sees decides."""


@dataclass(frozen=True)
class Thresholds:
    """Red at or below `low`, green at or above `high`, gray between."""

    low: float
    high: float

    def tone(self, value: float) -> Tone:
        """The colour of a ratio, as it is rounded in the table."""
        if math.isnan(value) or math.isinf(value):
            return ""
        shown = round(value, DIGITS)
        return "slower" if shown <= self.low else "faster" if shown >= self.high else "alike"

    @property
    def colors(self) -> str:
        """The meaning of the colours, without the end of the sentence."""
        return f"Red ▼: up to {_words(self.low)}; green ▲: from {_words(self.high)}; gray: between"

    @property
    def arrows(self) -> str:
        """The meaning of the arrows in formats without colour."""
        down, up = ARROWS["slower"], ARROWS["faster"]
        return f"{up}: from {_words(self.high)}; {down}: up to {_words(self.low)}."


PUBLISHED = Thresholds(0.97, 1.03)
"""Those of the studies that compare versions with sysbench (seed 001); others have 0.95, 1.05."""


def parse(text: str) -> Thresholds:
    """Thresholds from words such as `0.97,1.03`. Raises DynoError where they are none."""
    try:
        low, high = (float(word) for word in text.split(","))
    except ValueError:
        low = high = math.nan
    if not 0 < low <= 1 <= high < math.inf or low == high:
        raise DynoError(
            f"--colors: `{text}`: give two ratios, red up to the one and green from the other, "
            "around 1, as in `--colors 0.97,1.03`"
        )
    return Thresholds(low, high)


def _words(value: float) -> str:
    return number.number(value, max(DIGITS, len(f"{value:.6g}".partition(".")[2])))
