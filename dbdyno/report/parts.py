"""What a report shows, ready to show: the view that HTML, Markdown and the terminal share.

Strings are final; a format only lays them out. Numbers appear raw only where something is drawn
to scale (`Bar`, `Line`, `RatioPoint`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dbdyno.model import Bound, Ratio, Series, Span

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

ARROWS: Mapping[str, str] = {"blue": "▲", "yellow": "▼", "faster": "▲", "slower": "▼"}
"""What stands beside a number for its colour in formats that have no colour."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of a table."""

    text: str
    mark: str = ""  # † the target rate was missed, ‡ failed in some blocks
    detail: str = ""  # shown smaller, after the text: an interval, "held in 2 of 3"
    tone: Tone = ""
    shade: int | None = None  # 0..20, the gray levels of the published response-time table
    title: str = ""  # more words, shown on hover


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of a table."""

    text: str
    group: str = ""  # a heading shared with the neighbouring columns of the same group
    title: str = ""
    left: bool = False  # words are set to the left, numbers to the right
    arm: str | None = None  # whose column it is, where the text does not say it


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table; one cell is its heading: the first, or the table says which."""

    cells: tuple[Cell, ...]
    group: str = ""  # rows of one group stand together under its name
    arm: str | None = None  # whose row it is


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table; `name` is unique on the page."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    colors: str = ""  # what the colours mean, for formats that have them
    note: str = ""  # a legend or a caution, under the table
    arrows: str = ""  # what ▲ and ▼ mean, for formats without colours
    heading: int = 0  # the place of the cell that is its row's heading
    arm: str | None = None  # whose table it is, where it is of one arm beside the base


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
class SecondsChart:
    """A quantity over time in all runs of a step; every arm on one scale."""

    name: str  # unique on the page
    title: str  # with its unit
    describe: str  # the same in a sentence, for those who cannot see it
    logarithmic: bool
    scale: float  # what the series' values are multiplied by to be in the title's unit
    lines: tuple[Line, ...]


@dataclass(frozen=True, kw_only=True)
class Stack:
    """What sessions of one run did over time, by kind: the layers of a panel."""

    arm: str
    block: int
    layers: Mapping[str, Series]  # by kind, the lowest first


@dataclass(frozen=True, kw_only=True)
class StackChart:
    """How many sessions did what over time in all runs of a step; every arm on one scale."""

    name: str  # unique on the page
    title: str
    describe: str
    kinds: tuple[str, ...]  # the lowest layer first
    stacks: tuple[Stack, ...]
    logarithmic: bool = False  # never: layers add up


@dataclass(frozen=True, kw_only=True)
class RatioPoint:
    """An arm's ratio to the base in one step."""

    arm: str
    step: str
    ratio: Ratio
    bound: Bound  # what the ratio is to the true one


@dataclass(frozen=True, kw_only=True)
class RatioChart:
    """Ratios to the base of every step."""

    name: str
    title: str
    describe: str
    steps: tuple[str, ...]
    points: tuple[RatioPoint, ...]


@dataclass(frozen=True, kw_only=True)
class Group:
    """Steps that are read together, as the published reports group them."""

    name: str  # its anchor
    title: str
    relative: Table | None  # to the base, as published; None with a lone arm
    absolute: Table
    ratios: RatioChart | None
    per_operation: Table  # what an operation costs, as published


@dataclass(frozen=True, kw_only=True)
class Grouped:
    """The groups of a workload, with what their tables have in common."""

    legend: tuple[str, ...]  # "Relative to: pg17", "col-1 : pg18"
    note: str
    colors: str  # what the colours mean, for formats that have them
    arrows: str  # what ▲ and ▼ mean, for those that have none
    groups: tuple[Group, ...]
    per_operation_note: str
    fairness: Table | None


@dataclass(frozen=True, kw_only=True)
class ScalePoint:
    """What an arm did with so many clients, by what it did with the fewest."""

    arm: str
    clients: int
    ratio: Ratio


@dataclass(frozen=True, kw_only=True)
class ScaleChart:
    """What more clients bring in a step, beside the line of as many times as there are clients."""

    name: str  # unique on the page
    title: str
    describe: str
    clients: tuple[int, ...]  # the fewest first
    points: tuple[ScalePoint, ...]


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """A step at several numbers of clients."""

    table: Table
    chart: ScaleChart | None


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A sentence of the headline or of a step, with what it counts, which may have lists too."""

    text: str
    items: tuple[Finding, ...] = ()
    label: str = ""  # what stands before it and sets it apart: a verdict, a group of steps
    tone: Tone = ""  # the label's


@dataclass(frozen=True, kw_only=True)
class Section:
    """One step."""

    name: str  # its anchor
    title: str
    subtitle: str
    notices: tuple[str, ...]  # what failed or was skipped, and warnings
    bars: tuple[Bar, ...]
    bars_title: str
    metrics: tuple[Table, ...]
    response: tuple[Table, ...]
    charts: tuple[SecondsChart, ...]
    charts_note: str
    costs: tuple[Table, ...]
    fairness: tuple[Table, ...] = ()  # finish times, Jain's index, rates of each client, stalls
    clients: tuple[SecondsChart, ...] = ()  # the rate of each client over time
    targets: tuple[Table, ...] = ()  # the rates asked for, and how they were held
    state: tuple[Table, ...] = ()  # sizes and debt before and after
    statements: tuple[Table, ...] = ()  # what was sent, and throughput counted in other ways
    why: tuple[Finding, ...] = ()  # of each arm that is faster or slower, what explains it
    ledger: tuple[Table, ...] = ()  # where the time of an operation goes
    waits: tuple[Table, ...] = ()  # what sessions were seen to do
    stacks: tuple[StackChart, ...] = ()  # the same over time
    group: str = ""  # the group of steps that it belongs to


@dataclass(frozen=True, kw_only=True)
class Workload:
    """The steps of one workload with the tables that sum them up.

    `summary` and `ratios` are of the steps that belong to no group.
    """

    name: str  # its anchor
    title: str
    summary: tuple[Table, ...]
    ratios: RatioChart | None
    sections: tuple[Section, ...]
    verdicts: tuple[Table, ...] = ()  # one for each arm beside the base, of all its steps
    steps: Table | None = None  # who takes part in each step, how much is done, for how long
    grouped: Grouped | None = None  # steps that are many, in groups
    fragmentation: Table | None = None  # the same steps before and after the writes
    scaling: tuple[Scaling, ...] = ()
    scale_up: Table | None = None  # all of those in one table, where they are several


@dataclass(frozen=True, kw_only=True)
class Repeat:
    """What it takes to run the same again."""

    command: str
    dyno: str
    plan_name: str
    plan_text: str
    pinned: tuple[tuple[str, str], ...]  # what the plan leaves open and the first run settled


@dataclass(frozen=True, kw_only=True)
class Page:
    """A whole report."""

    title: str
    label: str
    base: str
    arms: tuple[str, ...]  # the base first; an arm's place gives its colour
    headline: tuple[Finding, ...]
    introduction: tuple[str, ...]  # paragraphs: hardware, builds, what differs, how often
    warnings: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]  # the machine and the runs, in a few pairs
    servers: Table
    differences: Table | None
    workloads: tuple[Workload, ...]
    repeat: Repeat
    calibration: Table | None = None  # how much the base differs from itself
