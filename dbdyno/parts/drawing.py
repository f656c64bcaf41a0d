"""What charts draw: the only numbers of a page that are raw, as they are drawn to scale."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dbdyno.model import Bound, Ratio, Series, Span
from dbdyno.parts import number
from dbdyno.parts.colors import Tone

EFFECTS_MAX = 10
"""So many steps are drawn at once."""
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0, 9.0, 99.0)
"""Gains, as shares, that the axis of changes may be marked at."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """An arm's throughput in a step, to scale (shares of the largest value of the step)."""

    arm: str
    text: str
    share: float | None  # 0..1; None: no value
    blocks: tuple[float, ...]  # each block's own value, as a share as well
    detail: str = ""  # the ratio to the base and its interval
    ratio: Ratio | None = None  # the same, to draw
    tone: Tone = ""
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A quantity over time in one run."""

    arm: str
    block: int
    series: Series
    spans: tuple[Span, ...]
    label: str = ""  # which of several lines of an arm in a block: "client 3"


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Throughput of each arm in a step, from zero."""

    bars: tuple[Bar, ...]


@dataclass(frozen=True, kw_only=True)
class Lines:
    """A quantity over time in all runs of a step; every arm on one scale."""

    logarithmic: bool
    scale: float  # what the series' values are multiplied by to be in the title's unit
    lines: tuple[Line, ...]


@dataclass(frozen=True, kw_only=True)
class Stack:
    """Activity of one run's sessions over time, by kind: the layers of a panel."""

    arm: str
    block: int
    layers: Mapping[str, Series]  # by kind, the lowest first


@dataclass(frozen=True, kw_only=True)
class Layers:
    """How many sessions did what over time in all runs of a step; every arm on one scale."""

    kinds: tuple[str, ...]  # the lowest layer first
    stacks: tuple[Stack, ...]


@dataclass(frozen=True, kw_only=True)
class RatioPoint:
    """An arm's ratio to the base in one step."""

    arm: str
    step: str
    ratio: Ratio
    bound: Bound  # what the ratio is to the true one


@dataclass(frozen=True, kw_only=True)
class Ratios:
    """Ratios to the base of every step."""

    steps: tuple[str, ...]
    points: tuple[RatioPoint, ...]


@dataclass(frozen=True, kw_only=True)
class ArmEffect:
    """An arm's change in a step, as its verdict has it."""

    step: str
    word: str
    tone: Tone
    figures: str  # the change with its interval
    also: str  # that of another metric by which the word is said
    speed: Ratio | None  # the same to draw, above 1 where the arm is better; None: no figure
    reason: str = ""  # why it changed, or what is excluded and what would settle it
    rank: int = 0  # its place where what is decided comes first, and the largest before others


@dataclass(frozen=True, kw_only=True)
class Effects:
    """An arm's changes in all steps on one axis, which has its middle at no change."""

    arm: str
    margin: float  # a change up to this matters to nobody; a share
    reach: float  # the ratio at the axis's end
    effects: tuple[ArmEffect, ...]
    price: str = ""  # what a check of the open steps takes
    common: str = ""  # a reason that all steps with a reason share

    def place(self, ratio: float) -> float:
        """The share of the axis up to a ratio; 0 and 1 are its ends, and of all beyond."""
        share = 0.5 + 0.5 * math.log(ratio) / math.log(self.reach)
        return min(1.0, max(0.0, share))

    def drawn(self, effect: ArmEffect, width: int) -> str:
        """The change in characters, on the axis with the margin shaded: ░░├──●──┤░│."""
        ends = (1 / (1 + self.margin), 1 + self.margin)
        first, last = (self._column(end, width) for end in ends)
        line = ["░" if first <= place <= last else " " for place in range(width)]
        line[width // 2] = "│"
        if effect.speed is not None:
            low, high = effect.speed.low, effect.speed.high
            if low is not None and high is not None:
                start, end = self._column(low, width), self._column(high, width)
                line[start : end + 1] = "─" * (end + 1 - start)
                line[start] = "├" if low * self.reach >= 1 else "◂"
                line[end] = "┤" if high <= self.reach else "▸"
            line[self._column(effect.speed.value, width)] = "●"
        return "".join(line)

    def _column(self, ratio: float, width: int) -> int:
        return round(self.place(ratio) * (width - 1))

    @property
    def zone(self) -> tuple[float, float]:
        """The percent of the axis to the left and to the right of what the margin covers."""
        low, high = self.place(1 / (1 + self.margin)), self.place(1 + self.margin)
        return round(100 * low, 2), round(100 - 100 * high, 2)

    @property
    def parted(self) -> tuple[tuple[ArmEffect, ...], tuple[ArmEffect, ...]]:
        """The steps that are shown at once, and those that are counted first, in their order."""
        most = len(self.effects) if len(self.effects) <= EFFECTS_MAX else EFFECTS_MAX - 1
        ranked = sorted(range(len(self.effects)), key=lambda place: self.effects[place].rank)
        parts = sorted(ranked[:most]), sorted(ranked[most:])
        shown, rest = (tuple(self.effects[place] for place in places) for places in parts)
        return shown, rest

    @staticmethod
    def counted(rest: Iterable[ArmEffect]) -> str:
        """And 28 more steps: 26 open, 2 same."""
        words = Counter(effect.word for effect in rest)
        parts = (f"{count} {word}" for word, count in words.items())
        return f"and {words.total()} more steps: {', '.join(parts)}"

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Places on the axis with their words: a loss, no change, the same in gain."""
        size = max(size for size in TICKS if size == TICKS[0] or 1 + size < self.reach**0.9)
        ends = (1 / (1 + size), 1 + size)
        low, high = ((self.place(end), number.brief(end)) for end in ends)
        return (low, (0.5, "0"), high)


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """A figure of an arm at one value of what is swept, with its interval."""

    arm: str
    x: float
    figure: Ratio


@dataclass(frozen=True, kw_only=True)
class Curves:
    """A figure over what a sweep varies, a line for each arm."""

    axis: str  # what is swept
    doubling: bool  # whether its values are as far apart as they multiply
    scale: float  # what figures are multiplied by to be in the title's unit
    logarithmic: bool  # whether the figures, all above 0, have a logarithmic scale
    points: tuple[CurvePoint, ...]


@dataclass(frozen=True, kw_only=True)
class ScaleUp:
    """The scale-up of a step, beside the ideal line."""

    clients: tuple[int, ...]  # the fewest first
    points: tuple[CurvePoint, ...]  # by the fewest


@dataclass(frozen=True, kw_only=True)
class DensityPoint:
    """How many of an arm's operations take about this time."""

    arm: str
    us: float
    share: float  # of its operations, in one percent of the time
    compared: bool  # whether it lies in the mode that is compared


@dataclass(frozen=True, kw_only=True)
class Densities:
    """Service times of arms over each other."""

    points: tuple[DensityPoint, ...]


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A figure of an arm in one result."""

    arm: str
    x: float  # milliseconds of Unix time, or a place in their order
    y: float
    low: float  # of its blocks
    high: float
    shown: Mapping[str, str]  # on hover, by name


@dataclass(frozen=True, kw_only=True)
class PlateauLine:
    """The mean of dots among which there is no change point."""

    arm: str | None  # whose they are; None: of several
    x: float
    x2: float
    y: float


@dataclass(frozen=True, kw_only=True)
class Plateaus:
    """A figure over many results in their order, its plateaus, and the change points between."""

    marks: Mapping[float, str]  # names along x by place; none: x is time
    scale: float  # what figures are multiplied by to be in the title's unit
    dots: tuple[Dot, ...]
    plateaus: tuple[PlateauLine, ...]
    changes: tuple[float, ...]  # where they lie, between two dots


Drawing = Effects | Bars | Lines | Layers | Ratios | ScaleUp | Curves | Densities | Plateaus
"""The data of any chart."""
