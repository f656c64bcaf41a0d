"""What a report is made of: the parts that HTML, Markdown and the terminal show.

Strings are final; formats lay them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from dbdyno.model import Comparison, StepComparison
from dbdyno.model.flame import FlameGraph
from dbdyno.parts.colors import Scheme, Tone
from dbdyno.parts.drawing import Drawing
from dbdyno.parts.table import Depth, Table

Form = Literal["list", "sayings", "paragraphs", "pairs", "code", "legend"]
"""How a text's items are set; `sayings` open a report, `code` has its language as its label."""

Scope = Literal["page", "workload", "step"]
"""The subject of a section."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A sentence of the headline or of a step, with what it counts, which may have lists too."""

    text: str
    items: tuple[Finding, ...] = ()
    label: str = ""  # what sets it apart: a verdict, a group of steps, the name of a fact
    tone: Tone = ""  # the label's

    @classmethod
    def each(cls, texts: Iterable[str]) -> tuple[Finding, ...]:
        """A sentence of each text."""
        return tuple(cls(text=text) for text in texts)


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
    data: Drawing
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
    parts: tuple[AnyPart, ...] = ()
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

    @classmethod
    def grouped(
        cls, of: Scope, make: Callable[[Subject], Iterable[AnyPart]], group: Group
    ) -> Section:
        """What is made of a subject, in a group where there is any; an anchor before its name."""

        def within(subject: Subject) -> Iterable[Group]:
            if parts := tuple(make(subject)):
                yield replace(group, name=f"{subject.anchor}{group.name}", parts=parts)

        return cls(of, within)


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
