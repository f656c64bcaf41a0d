"""What a report is made of: the parts that HTML, Markdown and the terminal show.

Strings are final; formats lay them out. Numbers are raw only where drawn to scale (`Bar`, `Line`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from dbdyno.model import Bound, Comparison, Ratio, Series, Span, StepComparison
from dbdyno.model.flame import FlameGraph
from dbdyno.parts import number
from dbdyno.parts.colors import Scheme, Tone
from dbdyno.parts.density import Densities
from dbdyno.parts.plateaus import Plateaus

Depth = Literal["answer", "brief", "report", "detail"]
"""`answer`: of `dyno compare`; `brief`: of that with `--full`, too; `detail`: folded in a post."""

Form = Literal["list", "sayings", "paragraphs", "pairs", "code", "legend"]
"""How a text's items are set; `sayings` open a report, `code` has its language as its label."""

Scope = Literal["page", "workload", "step"]
"""The subject of a section."""


@dataclass(frozen=True, kw_only=True)
class TableCell:
    """One cell of a table."""

    text: str
    mark: str = ""  # † the target rate was missed, ‡ failed in some blocks
    detail: str = ""  # shown smaller, after the text: an interval, "held in 2 of 3"
    tone: Tone = ""
    shade: int | None = None  # 0..20, the grays of the published response-time table
    title: str = ""  # more words, shown on hover
    link: str = ""  # the address of another page, where there are several


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of a table."""

    text: str
    group: str = ""  # a heading shared with the neighbouring columns of the same group
    title: str = ""
    left: bool = False  # words are set to the left, numbers to the right
    arm: str | None = None  # whose column it is, where the text does not say it

    @classmethod
    def heads(cls, first: str, *others: str | Column) -> tuple[Column, ...]:
        """The columns of a table: what its rows are, then others, or their words alone."""
        columns = (each if isinstance(each, Column) else cls(text=each) for each in others)
        return cls(text=first, left=True), *columns


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table; one cell is its heading: the first, or the table says which."""

    cells: tuple[TableCell, ...]
    group: str = ""  # rows of one group stand together under its name
    arm: str | None = None  # whose row it is

    @classmethod
    def of(cls, *cells: str | TableCell, group: str = "", arm: str | None = None) -> Row:
        """A row of cells, or of words alone."""
        made = (each if isinstance(each, TableCell) else TableCell(text=each) for each in cells)
        return cls(cells=tuple(made), group=group, arm=arm)


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table; `name` is unique on the page."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    depth: Depth = "report"
    look: str = ""  # how closely it is set, for formats that choose: wide, inline, words
    narrow: Literal["whole", "figures", "nothing"] = "whole"
    """How a terminal shows a table: all of it, without details of numbers if too wide."""
    lead: str = ""  # what its note is said under where the note stands for the table
    joins: str = ""  # the group that it stands in where there is width for it
    entry: str = ""  # its word in the contents; none: it has no entry
    explained: bool = False  # whether a post says what its columns are
    colors: str = ""  # what the colours mean, for formats that have them
    note: str = ""  # a legend or a caution, under the table
    arrows: str = ""  # what ▲ and ▼ mean, for formats without colours
    heading: int = 0  # the place of the cell that is its row's heading
    arm: str | None = None  # whose table it is, where it is of one arm beside the base
    short: str = ""  # its title where it is its last heading, and what is above explains it


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


EFFECTS_MAX = 10
"""So many steps are drawn at once."""
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0, 9.0, 99.0)
"""Gains, as shares, that the axis of changes may be marked at."""


@dataclass(frozen=True, kw_only=True)
class ScalePoint:
    """An arm's throughput with some clients, relative to the fewest."""

    arm: str
    clients: int
    ratio: Ratio


@dataclass(frozen=True, kw_only=True)
class ScaleUp:
    """The scale-up of a step, beside the ideal line."""

    clients: tuple[int, ...]  # the fewest first
    points: tuple[ScalePoint, ...]


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
class Finding:
    """A sentence of the headline or of a step, with what it counts, which may have lists too."""

    text: str
    items: tuple[Finding, ...] = ()
    label: str = ""  # what sets it apart: a verdict, a group of steps, the name of a fact
    tone: Tone = ""  # the label's


@dataclass(frozen=True, kw_only=True)
class Text:
    """Sentences, each with what it counts."""

    name: str
    title: str = ""
    items: tuple[Finding, ...]
    depth: Depth = "report"
    form: Form = "list"
    look: str = ""
    entry: str = ""  # its word in the contents; none: it has no entry
    lead: tuple[str, ...] = ()  # said before its items; every second piece is code
    lead_in_post: tuple[str, ...] = ()  # the same in Markdown
    narrow: str = ""  # what a terminal says instead of its items


@dataclass(frozen=True, kw_only=True)
class Callout:
    """A doubt or a failure that readers must not miss."""

    name: str
    title: str
    items: tuple[Finding, ...]
    depth: Depth = "report"
    brief: tuple[str, ...] = ()  # the same in so few lines that `items` are folded below them


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Data to draw, and a sentence of it for those who cannot see the drawing."""

    name: str
    title: str  # with its unit
    describe: str
    data: Effects | Bars | Lines | Layers | Ratios | ScaleUp | Curves | Densities | Plateaus
    depth: Depth = "report"
    of: str = ""  # the step that a picture of it names before the title
    note: str = ""  # what is drawn, which a picture of it has below the title


@dataclass(frozen=True, kw_only=True)
class Flame:
    """A flame graph of an arm, which HTML alone shows; the others say what draws it."""

    name: str
    title: str
    arm: str
    graph: FlameGraph
    command: str  # that draws it into files
    depth: Depth = "report"


@dataclass(frozen=True, kw_only=True)
class Group:
    """Parts that are read together, under a heading where they have one."""

    name: str  # its anchor; none where it only sets parts side by side
    title: str = ""
    parts: tuple[AnyPart, ...]
    depth: Depth = "report"
    of: Scope | Literal[""] = ""
    subtitle: str = ""
    note: str = ""
    colors: str = ""  # what its tables' colours mean, for formats that have them
    arrows: str = ""  # what ▲ and ▼ mean in its tables, for formats without colours
    entry: str | None = None  # its word in the contents; None: its title; "": it has no entry
    look: str = ""
    pair: bool = False  # side by side where there is width for it
    alike: bool = False  # whether all its tables are turned where one must be
    joins: str = ""  # the group that it stands in where there is width for it
    click: str = ""  # what a page unfolds it by; none: it is open
    fold: str = ""  # what a post folds its details under; none: they share a fold with others
    explains: bool = False  # whether a post says after it what the columns of tables are

    @property
    def contents(self) -> str:
        """Returns its word in the contents; none where it has nothing of its own to go to."""
        return (self.title if self.entry is None else self.entry) if self.parts else ""


Leaf = Text | Callout | Table | Chart | Flame
"""A part that is no group."""

AnyPart = Leaf | Group


def flat(parts: Iterable[AnyPart]) -> Iterable[Leaf]:
    """Yields the parts that are no groups, in reading order."""
    for part in parts:
        if isinstance(part, Group):
            yield from flat(part.parts)
        else:
            yield part


def scoped(parts: Iterable[AnyPart], of: Scope) -> Iterable[Group]:
    """Yields the groups that speak of a workload or a step, in reading order."""
    for part in parts:
        if isinstance(part, Group):
            yield from (part,) if part.of == of else scoped(part.parts, of)


def charts(parts: Iterable[AnyPart]) -> Iterable[Chart]:
    """Yields the charts among the parts and in their groups, in reading order."""
    return (part for part in flat(parts) if isinstance(part, Chart))


def anchored(title: str) -> str:
    """Returns a title as a piece of an anchor: letters and digits, all else a hyphen."""
    return "".join(sign if sign.isalnum() else "-" for sign in title)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The subject of a section: the whole, a workload's steps or one of them."""

    comparison: Comparison
    steps: tuple[StepComparison, ...]
    anchor: str  # what the names of its parts begin with
    colors: Scheme = "words"  # of throughput

    @property
    def base(self) -> str:
        """Returns the arm that the others are compared with."""
        return self.comparison.base

    @property
    def overview(self) -> str:
        """Returns the name of the group of what is said of a workload's steps together."""
        return f"{self.anchor}-overview"

    @property
    def workloads(self) -> set[str]:
        """Returns the names of the workloads that its steps are of."""
        return {step.workload for step in self.steps}

    @property
    def step(self) -> StepComparison:
        """Returns the step, where it speaks of one."""
        (step,) = self.steps
        return step


@dataclass(frozen=True)
class Section:
    """What a finding shows, `SECTION` of its show.py: what it makes of a subject, and of which."""

    of: Scope
    make: Callable[[Subject], Iterable[AnyPart]]


@dataclass(frozen=True, kw_only=True)
class Page:
    """A whole report."""

    folder: str = "."  # of the result, as it was named
    title: str
    label: str
    dyno: str  # the version that measured
    base: str
    arms: tuple[str, ...]  # the base first; an arm's place gives its colour
    parts: tuple[AnyPart, ...]  # of the sections of `page.PAGE`
