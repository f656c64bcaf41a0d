"""Colours of a report: what is decided has one, and nothing else, unless `--colors` says so."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from dbdyno.model import Cell
from dbdyno.model.error import DynoError
from dbdyno.model.verdict import CHANGED, Aims, Calibration, Verdict, Word
from dbdyno.parts import number

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
UP, DOWN = "▲", "▼"
ARROWS: Mapping[str, str] = {"blue": UP, "yellow": DOWN, "faster": UP, "slower": DOWN}
"""The mark beside a number, for formats without colour."""

DIGITS = 2
"""Digits of a ratio in a table, by which its colour is chosen: what a reader sees decides."""


_TONES: dict[Word, Tone] = {
    "slower": "slower",
    "faster": "faster",
    "same": "alike",
    "failed": "failed",
}


def trusted(calibration: Calibration | None, aims: Aims) -> bool:
    """Whether nothing speaks against the rate of false alarms that was aimed at.

    Something does where the interval of the measured rate lies above it, of tests by themselves or
    of comparisons by the whole procedure.
    """
    if calibration is None:
        return True
    return calibration.rate_low <= aims.level and calibration.false_low <= aims.level


def tone(verdict: Verdict, sure: bool) -> Tone:
    """A verdict's colour; none where nothing is decided."""
    if verdict.word in CHANGED and not sure:
        return ""
    return (
        "alike" if verdict.word == "same" or verdict.within_margin else _TONES.get(verdict.word, "")
    )


@dataclass(frozen=True, kw_only=True)
class Colors:
    """The colours of throughput relative to the base in a table, and what they mean."""

    tone: Callable[[Cell, float], Tone]  # of an arm in a step, and how often it is as fast
    meaning: str
    arrows: str  # the same of formats without colours


def by_word(sure: bool) -> Colors:
    """The colours of verdicts: what is open has none."""
    return Colors(
        tone=lambda cell, _: "" if cell.verdict is None else tone(cell.verdict, sure),
        meaning="Colours are those of the verdicts: what is open has none.",
        arrows=f"{UP}: faster; {DOWN}: slower.",
    )


def whether(blocks: int) -> str:
    """The end of a sentence on published colours: what they do not say where there are blocks."""
    return "." if blocks <= 1 else ", whether or not the interval includes 1."


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

    def colors(self, blocks: int) -> Colors:
        """The same for a table of so many blocks."""
        low, high = _words(self.low), _words(self.high)
        return Colors(
            tone=lambda _, speed: self.tone(speed),
            meaning=f"Red ▼: up to {low}; green ▲: from {high}; gray: between{whether(blocks)}",
            arrows=f"{UP}: from {high}; {DOWN}: up to {low}.",
        )


Scheme = Thresholds | Literal["words", "published"]
"""By what throughput is coloured: the verdicts, each table's published rule, or other ratios."""


def of_scheme(scheme: Scheme, *, sure: bool, blocks: int, published: Colors) -> Colors:
    """The colours of a scheme; `published`: those of a table's published rule."""
    if scheme == "words":
        return by_word(sure)
    return published if scheme == "published" else scheme.colors(blocks)


PUBLISHED = Thresholds(0.97, 1.03)
"""Those of the studies that compare versions with sysbench (seed 001); others have 0.95, 1.05."""


def parse(text: str) -> Scheme:
    """The scheme of `published` or words such as `0.97,1.03`. Raises DynoError of others."""
    if text == "published":
        return "published"
    try:
        low, high = (float(word) for word in text.split(","))
    except ValueError:
        low = high = math.nan
    if not 0 < low <= 1 <= high < math.inf or low == high:
        raise DynoError(
            f"--colors: `{text}`: give `published` or two ratios, red up to the one and green "
            "from the other, around 1, as in `--colors 0.97,1.03`"
        )
    return Thresholds(low, high)


def _words(value: float) -> str:
    return number.number(value, max(DIGITS, len(f"{value:.6g}".partition(".")[2])))
