"""Reads what was published (docs/published/*.toml): studies, tables, what each figure says.

A file is the tables of one post that share a machine and a size. Its plain keys are facts; `plan`
names the plan that repeats it (`dyno plan list`), `here` maps that plan's arms to published ones.
Each table of the file is a table of the post: its title, then figures by step, or by step and
metric, one for each of `arms`. `base`, `arms`, `figures` and `workload` (ours; any if missing) hold
for the file, or for one table:

- `figures = "relative"`: by those of `base`; "absolute": as measured, divided here by `base`, or by
  the first of each two in `compared`;
- `by = "STEP"`: figures of one arm's steps, to be divided by that step's;
- `values = true`: shown beside ours; nothing follows from them.

A figure is a number, the two ends of what a text gives, or a word: "up", "flat", "down", "not up",
"not down".
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dbdyno.model.error import ResultError
from dbdyno.parts import number

MARGIN = 0.03
"""A ratio that is off 1 by less is flat; the published posts colour from the same 3 % on."""
PUBLISHED_DIGITS = 2  # of a published ratio

Direction = Literal["down", "flat", "up"]
"""What a published ratio says."""
Figure = float | tuple[float, float] | str

WORDS: Mapping[str, tuple[Direction, ...]] = {
    "down": ("down",),
    "not up": ("down", "flat"),
    "flat": ("flat",),
    "not down": ("flat", "up"),
    "up": ("up",),
}
SIGNS: Mapping[tuple[Direction, ...], str] = {
    ("down",): " ▼",
    ("down", "flat"): " ▼ or flat",
    ("flat",): "",
    ("flat", "up"): " ▲ or flat",
    ("up",): " ▲",
}
OPTIONS = {
    "base",
    "arms",
    "figures",
    "compared",
    "workload",
    "by",
    "values",
}  # of a file or of a table


class Key(NamedTuple):
    """Where a figure stands; None: any workload, the step's headline."""

    workload: str | None
    step: str
    metric: str | None


@dataclass(frozen=True, kw_only=True)
class Said:
    """What was published of a ratio: it is one of `directions`."""

    directions: tuple[Direction, ...]
    value: float | None  # where it is a number
    text: str  # as a table shows it


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table of a study."""

    title: str
    base: str | None  # the arm to divide by
    arms: tuple[str, ...]
    compared: tuple[tuple[str, str], ...]  # base and arm of each comparison that the table is of
    relative: bool
    by: str | None  # the step to divide by
    values: bool
    figures: Mapping[Key, tuple[Figure, ...]]  # by arm

    def figure(self, key: Key, arm: str) -> Figure | None:
        """As it stands in the file; 1 for the base of relative figures."""
        if key not in self.figures:
            return None
        if self.relative and arm == self.base:
            return 1.0
        return self.figures[key][self.arms.index(arm)] if arm in self.arms else None

    def said(self, key: Key, base: str, arm: str) -> Said | None:
        """A step's figure in `arm` by that in `base`, rounded as the posts round it.

        A table that says what it compares tells nothing of other arms, and 0 divides nothing.
        """
        if self.compared and not {(base, arm), (arm, base)} & set(self.compared):
            return None
        below, above = self.figure(key, base), self.figure(key, arm)
        if below is None or above is None:
            return None
        if self.relative and base == self.base:
            return said(above)
        if not (isinstance(below, float) and isinstance(above, float)) or below == 0:
            return None
        return said(above / below)

    def said_by_step(self, key: Key, arm: str) -> Said | None:
        """A step's figure by that of the step `by`; as it stands if that one has none."""
        above = self.figure(key, arm)
        below = self.figure(key._replace(step=str(self.by)), arm)
        if above is None or below is None:
            return None if above is None else said(above)
        assert isinstance(above, float) and isinstance(below, float), (self.title, key)
        return said(above / below)


@dataclass(frozen=True, kw_only=True)
class Study:
    """The tables of one post that share a machine and a size."""

    name: str  # of its file
    title: str
    url: str
    author: str
    date: str  # year and month, or day
    label: str
    machine: str
    clients: int
    build: str | None = None
    tables: int | None = None
    rows: int | None = None  # in each table, or of each client
    read_s: int | None = None  # what a step lasts; None: the source does not say
    write_s: int | None = None
    reused: tuple[str, ...] = ()  # arms whose figures are those of an earlier study
    plan: str | None = None  # its plan among the shipped studies, and its page in docs/studies
    preset: str | None = None  # of the workload, with the published sizes
    configs: tuple[str, ...] = ()  # of the servers, with the published sizes
    here: Mapping[str, str] = field(default_factory=dict)  # the plan's arm -> published arm
    groups: tuple[Table, ...]

    @property
    def arms(self) -> tuple[str, ...]:
        """All published arms, as they come first; from old to new if they are versions."""
        every = [arm for group in self.groups for arm in (group.base, *group.arms)]
        return tuple(dict.fromkeys(arm for arm in every if arm is not None))

    def newest(self, major: int) -> str | None:
        """Its newest arm that is a major version and nothing else."""
        return next((arm for arm in reversed(self.arms) if major_of(arm) == major), None)

    def said(self, key: Key, base: str, arm: str) -> Said | None:
        """The first table's that has both arms."""
        found = (group.said(key, base, arm) for group in self.groups)
        return next((one for one in found if one is not None), None)

    def ratio(self, step: str, base: str, arm: str) -> float | None:
        """A step's headline in `arm` by that in `base`."""
        found = self.said(Key(None, step, None), base, arm)
        return found.value if found is not None else None


def major_of(version: str) -> int | None:
    """12 of 12.22, 18 of 18rc1; None of anything else, such as `18beta1 x10b`."""
    found = re.fullmatch(r"(\d+)(\.\d+|beta\d+|rc\d+)*", version)
    return int(found[1]) if found is not None else None


def direction(ratio: float) -> Direction:
    """Up or down from 3 % on, as the posts colour it; both ends of the margin count."""
    if round(ratio, PUBLISHED_DIGITS) <= round(1 - MARGIN, PUBLISHED_DIGITS):
        return "down"
    if round(ratio, PUBLISHED_DIGITS) >= round(1 + MARGIN, PUBLISHED_DIGITS):
        return "up"
    return "flat"


def said(figure: Figure) -> Said:
    """What a published ratio, the ends of several, or a word says."""
    if isinstance(figure, str):
        return Said(directions=WORDS[figure], value=None, text=figure)
    ends = figure if isinstance(figure, tuple) else (figure, figure)
    order: tuple[Direction, ...] = ("down", "flat", "up")
    low, high = (order.index(direction(end)) for end in ends)
    directions = order[low : high + 1]
    shown = "–".join(dict.fromkeys(number.ratio(round(end, PUBLISHED_DIGITS)) for end in ends))
    one = ends[0] == ends[1]
    return Said(
        directions=directions,
        value=round(ends[0], PUBLISHED_DIGITS) if one else None,
        text=f"{shown}{SIGNS[directions]}",
    )


# --- The files -------------------------------------------------------------------------------


def read(folder: Path) -> tuple[Study, ...]:
    """All studies: fewest clients first, since ours has one, and the newest first among those."""
    studies = [_study(path) for path in sorted(folder.glob("*.toml"), reverse=True)]
    return tuple(sorted(studies, key=lambda study: study.clients))


def _study(path: Path) -> Study:
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    here = content.pop("here", {})
    facts = {key: value for key, value in content.items() if not isinstance(value, dict)}
    common = {key: facts.pop(key) for key in OPTIONS & set(facts)}
    facts |= {key: tuple(facts.get(key, ())) for key in ("reused", "configs")}
    groups = tuple(
        _table(title, common | table) for title, table in content.items() if isinstance(table, dict)
    )
    try:
        return Study(name=path.stem, here=here, groups=groups, **facts)
    except TypeError as error:
        raise ResultError(f"{path.name}: {error}") from None


def _table(title: str, content: Mapping[str, Any]) -> Table:
    base, arms = content.get("base"), tuple(content["arms"])
    alone = content.get("by") is not None or content.get("values", False) or base is None
    by_base = [] if alone else [(base, arm) for arm in arms if arm != base]
    figures = {
        Key(content.get("workload"), step, metric): tuple(_figure(value) for value in values)
        for step, its in content.items()
        if step not in OPTIONS
        for metric, values in (its.items() if isinstance(its, dict) else [(None, its)])
    }
    for key, values in figures.items():
        if len(values) != len(arms):
            raise ResultError(f"`{title}`, {key.step}: {len(values)} figures for {len(arms)} arms")
    return Table(
        title=title,
        base=base,
        arms=arms,
        compared=tuple((below, above) for below, above in content.get("compared", by_base)),
        relative=content["figures"] == "relative",
        by=content.get("by"),
        values=bool(content.get("values")),
        figures=figures,
    )


def _figure(value: float | list[float] | str) -> Figure:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        low, high = value
        return (float(low), float(high))
    return float(value)
