"""Tables: headings and rows of cells, whose strings are final."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dbdyno.parts.colors import Tone

Depth = Literal["answer", "brief", "report", "detail"]
"""`answer`: of `dyno compare`; `brief`: of that with `--full`, too; `detail`: folded in a post."""


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

    @classmethod
    def words(cls, *texts: str) -> tuple[Column, ...]:
        """Columns of words."""
        return tuple(cls(text=text, left=True) for text in texts)

    @classmethod
    def under(cls, group: str, *texts: str, title: str = "") -> tuple[Column, ...]:
        """Columns of numbers under a heading that they share."""
        return tuple(cls(text=text, group=group, title=title) for text in texts)


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
