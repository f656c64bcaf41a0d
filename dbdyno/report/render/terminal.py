"""The page in a terminal: tables that fit its width, in colour where it has colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from dbdyno.parts import cells, hints, number, table_layout
from dbdyno.parts.colors import Tone
from dbdyno.parts.drawing import Bar, Bars, Effects, Layers, Lines
from dbdyno.parts.part import (
    AnyPart,
    Callout,
    Chart,
    Finding,
    Flame,
    Group,
    Page,
    Text,
    flat,
    scoped,
)
from dbdyno.parts.table import Column, Row, Table, TableCell

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text as Words

STYLES: dict[Tone, str] = {
    "red": "black on #ff9a9a",
    "green": "black on #81ffa6",
    "gray": "black on #d7d7d7",
    "blue": "black on #81fff9",
    "yellow": "black on #ffdd81",
    "faster": "black on #81ffa6",
    "slower": "black on #ff9a9a",
    "alike": "black on #d7d7d7",
    "failed": "italic",
    "quiet": "dim",
    "notice": "bold",
    "total": "bold",
}
EFFECT_STYLES: dict[Tone, str] = {"faster": "green", "slower": "red", "failed": "red", "alike": ""}
BAR_WIDTH = 30
AXIS_WIDTH = 21
NAME_WIDTH_MAX = 26
REASONS_MAX = 3
"""So many steps have a line that says why, on the first screen."""


def print_answer(page: Page, console: Console) -> None:
    """Prints the first screen: each arm's answer, the picture of its steps, three doubts.

    Without an answer, as of one arm, prints what `print_page` does.
    """
    parts = [part for part in page.parts if part.depth == "answer"]
    if all(isinstance(part, Callout) for part in parts):
        print_page(page, console)
        return
    if page.label:
        _line(console, page.label, "bold yellow")
    for part in parts:
        _part(part, console, full=False)
    _line(console, f"All tables: {hints.full(page.folder)}", "dim")


def print_page(page: Page, console: Console, *, full: bool = False) -> None:
    """Prints the headline, the doubts and the summary tables; with `full` all the rest too."""
    _line(console, page.title, "bold")
    if page.label:
        _line(console, page.label, "bold yellow")
    lone = not full and len(list(scoped(page.parts, "workload"))) == 1
    for part in page.parts:
        if full or part.depth in ("answer", "brief"):
            untitled = lone and isinstance(part, Group) and part.of == "workload"
            shown = replace(part, title="") if untitled else part
            _part(shown, console, full=full)


def _line(console: Console, text: str, style: str = "") -> None:
    """A line of words as they are: no markup, nothing highlighted."""
    console.print(text, style=style or None, markup=False, highlight=False)


def _item(console: Console, text: str, style: str = "") -> None:
    """A list item, wrapped under itself."""
    for line in _words(number.unbroken(text), style).wrap(console, console.width - 2):
        line.rstrip()
        console.print(_words("  ") + line)


def _words(text: str = "", style: str = "") -> Words:
    """Text of a style, to which more can be added."""
    from rich.text import Text as Words

    return Words(text, style=style)


def _finding(finding: Finding, console: Console, *, depth: int) -> None:
    """An item of the headline and those below it, each wrapped under itself."""
    words = _words(number.unbroken(": ".join(filter(None, (finding.label, finding.text)))))
    if finding.label:
        words.stylize(STYLES.get(finding.tone, "") or "bold", 0, len(finding.label))
    indent = "  " * depth
    for line in words.wrap(console, console.width - len(indent)):
        line.rstrip()
        console.print(_words(indent) + line)
    for item in finding.items:
        _finding(item, console, depth=depth + 1)


# --- Steps -----------------------------------------------------------------------------------


def _group(group: Group, console: Console, *, full: bool) -> None:
    """A group's parts; what charts say comes before the tables beside which they stand."""
    if group.click and group.depth == "answer":
        _line(console, f"\n{group.click}", "bold")
        if not full:
            return
    if group.of and group.title:
        long = any(not isinstance(one, Text) for one in group.parts)
        _line(console, f"\n{group.title}", "bold underline" if long else "bold")
    if group.subtitle:
        _line(console, group.subtitle, "dim")
    parts = group.parts if group.of else sorted(group.parts, key=lambda part: not _drawn(part))
    tables = [part for part in parts if isinstance(part, Table)]
    if group.alike:
        on_its_side = any(table_layout.total(table) > console.width for table in tables)
        for table in tables:
            _table(table, console, on_its_side=on_its_side)
        return
    for part in parts:
        if full or part.depth in ("answer", "brief"):
            _part(part, console, full=full)
    if group.note and not _drawn(group):
        _line(console, f"{group.note} {group.colors}".strip(), "dim")


def _drawn(part: AnyPart) -> bool:
    """Whether it is a chart, or charts alone."""
    return all(isinstance(one, Chart) for one in flat((part,)))


def _part(part: AnyPart, console: Console, *, full: bool) -> None:
    match part:
        case Group():
            _group(part, console, full=full)
        case Table():
            _shown(part, console)
        case Chart(data=Effects() as data):
            _effects(data, console, full=full)
        case Chart(data=Bars(bars=bars)):
            _bars(bars, console)
        case Chart(data=Lines() | Layers()):
            _item(console, part.describe)
        case Text():
            _text(part, console)
        case Flame():
            _item(console, f"{part.title}: {part.command} draws it.")
        case Callout():
            _told(part, console, full=full)


def _text(text: Text, console: Console) -> None:
    match text.form:
        case "sayings":
            for finding in text.items:
                _line(console, f"\n{finding.text}", "bold")
                for item in finding.items:
                    _finding(item, console, depth=1)
        case "pairs":
            for fact in text.items:
                _item(console, f"{fact.label}: {fact.text}")
        case "legend":
            for line in ("", *(one.text for one in text.items)) if text.items else ():
                _line(console, line)
        case "code":
            _item(console, text.narrow)
        case "paragraphs":
            _told(text, console, "bold underline")
        case "list":
            _told(text, console)


def _told(
    part: Text | Callout, console: Console, style: str = "bold", *, full: bool = True
) -> None:
    if part.title:
        _line(console, f"\n{part.title}", style)
    if isinstance(part, Callout) and part.brief and not full:
        for line in part.brief:
            _item(console, line)
        return
    for finding in part.items:
        for one in (finding, *finding.items):
            _item(console, one.text)


def _shown(table: Table, console: Console) -> None:
    """A table as narrow lines have it: whole, without details, or its note."""
    if table.lead:
        _line(console, f"\n{table.title}", "bold")
        _item(console, table.note)
    elif table.short:
        # A table whose last heading is its title, as published.
        for part in table_layout.fitting(table, console.width):
            console.print()
            _body(part, console)
        if table.note:
            _line(console, table.note, "dim")
    elif "words" in table.look.split():
        _words_table(table, console)
    elif table.narrow != "nothing":
        narrow = table.narrow == "figures"
        _table(_brief(table, console.width) if narrow else table, console)


def _brief(table: Table, room: int) -> Table:
    """The table without what stands smaller beside its numbers, where it is too wide with that."""
    if table_layout.total(table) <= room:
        return table
    rows = (
        replace(row, cells=tuple(replace(cell, detail="") for cell in row.cells))
        for row in table.rows
    )
    return replace(table, rows=tuple(rows), note=table.note.replace(cells.RANGES, ""))


def _effects(data: Effects, console: Console, *, full: bool) -> None:
    """A line for each step: name, its change on the axis, word and figures; then its reason."""
    shown, rest = (data.effects, ()) if full else data.parted
    longest = max(len(effect.step) for effect in shown)
    name = min(longest, NAME_WIDTH_MAX)
    reasoned = [effect for effect in sorted(shown, key=lambda each: each.rank) if effect.reason]
    for effect in shown:
        style = STYLES.get(effect.tone, "")
        line = _words(number.few_signs(effect.step, name).ljust(name + 1))
        line.append(data.drawn(effect, AXIS_WIDTH), style=EFFECT_STYLES.get(effect.tone, "dim"))
        line.append(" ").append(effect.word, style=style or "bold")
        figures = f"{effect.figures}{effect.also}"
        if line.cell_len + 1 + len(figures) <= console.width:
            line.append(f" {figures}")
            figures = ""
        console.print(line, soft_wrap=True)
        if figures:
            _item(console, figures)
        if effect.reason and (full or effect in reasoned[:REASONS_MAX]):
            _item(console, effect.reason, "dim")
    if rest:
        _line(console, data.counted(rest))
    (low, low_words), _, (high, high_words) = data.ticks()
    axis = [" "] * (AXIS_WIDTH + 8)
    for place, words in ((low, low_words), (high, high_words), (0.5, "0")):
        start = max(0, round(place * (AXIS_WIDTH - 1)) - len(words) // 2)
        if not "".join(axis[max(0, start - 1) : start + len(words) + 1]).strip():
            axis[start : start + len(words)] = words
    _line(console, " " * (name + 1) + "".join(axis).rstrip(), "dim")
    if data.common:
        _item(console, f"all: {data.common}")
    if data.price:
        _line(console, f"open: {data.price}")


def _bars(bars: Sequence[Bar], console: Console) -> None:
    name = max((len(bar.arm) for bar in bars), default=0)
    value = max((len(bar.text) for bar in bars), default=0)
    for bar in bars:
        drawn = ("█" * round((bar.share or 0) * BAR_WIDTH)).ljust(BAR_WIDTH)
        line = f"{bar.arm.ljust(name)}  {drawn}  {bar.text.rjust(value)}  {bar.detail}"
        _line(console, line.rstrip())


# --- Tables ----------------------------------------------------------------------------------


def _table(table: Table, console: Console, *, on_its_side: bool = False) -> None:
    _line(console, f"\n{table.title}", "bold")
    for part in table_layout.fitting(
        table_layout.transposed(table) if on_its_side else table, console.width
    ):
        _body(table_layout.without_blank_rows(part), console)
    note = f"{table.note} {table.colors}".strip()
    if note:
        _line(console, note, "dim")


def _body(table: Table, console: Console) -> None:
    from rich.cells import cell_len

    for line in _lines(table, table_layout.part_widths(table, cell_len)):
        console.print(line, soft_wrap=True)


def _lines(table: Table, sizes: Sequence[Sequence[int]]) -> Iterable[Words]:
    wide = [table_layout.width(size) for size in sizes]
    if any(column.group for column in table.columns):
        yield _words(_group_line(table.columns, wide), "dim")
    headings = [TableCell(text=column.text) for column in table.columns]
    yield _row(headings, table, [(size, 0, 0, 0) for size in wide], "bold")
    for group, rows in groupby(table.rows, lambda row: row.group):
        if group:
            yield _words(group, "dim italic")
        for row in rows:
            yield _row(row.cells, table, sizes, "")


def _group_line(columns: Sequence[Column], sizes: Sequence[int]) -> str:
    """The headings that columns share, each over its columns."""
    line = ""
    for group, some in groupby(range(len(columns)), lambda place: columns[place].group):
        places = list(some)
        room = sum(sizes[place] for place in places) + table_layout.GAP * (len(places) - 1)
        words = number.few_signs(group, room)
        line += (
            words.rjust(room) if len(places) == 1 else words.ljust(room)
        ) + " " * table_layout.GAP
    return line.rstrip()


def _row(
    cells: Sequence[TableCell], table: Table, sizes: Sequence[Sequence[int]], style: str
) -> Words:
    from rich.cells import cell_len

    line = _words(style=style)
    for place, (cell, column, size) in enumerate(zip(cells, table.columns, sizes, strict=True)):
        line.append(" " * table_layout.GAP if place else "")
        words = table_layout.aligned(cell, size, column.left or place == table.heading, cell_len)
        line.append(words, style=STYLES.get(cell.tone, ""))
    line.rstrip()
    return line


def _words_table(table: Table, console: Console) -> None:
    """A table of words as a list, since words do not fit side by side."""
    _line(console, f"\n{table.title}", "bold")
    arms = [column.text for column in table.columns[1:]]
    for group, rows in groupby(table.rows, lambda row: row.group):
        if group:
            _line(console, group, "dim italic")
        for row in rows:
            _words_row(row, arms, console)
    if table.note:
        _line(console, table.note, "dim")


def _words_row(row: Row, arms: Sequence[str], console: Console) -> None:
    texts = [table_layout.plain(cell) for cell in row.cells[1:]]
    if len(set(texts)) == 1:
        _item(console, f"{row.cells[0].text}: {texts[0]}")
        return
    for arm, text in zip(arms, texts, strict=True):
        _item(console, f"{row.cells[0].text}, {arm}: {text}")
