"""The page as Markdown to paste into a post, a pull request or a wiki, with its pictures.

Tables are GitHub's, and wide ones stand on their side; what only some readers want is folded.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from urllib.parse import quote

from dbdyno.parts.colors import ARROWS
from dbdyno.parts.drawing import Bar, Bars, Effects
from dbdyno.parts.part import AnyPart, Callout, Chart, Finding, Flame, Group, Leaf, Page, Text, flat
from dbdyno.parts.table import Column, Table, TableCell
from dbdyno.parts.table_layout import plain, transposed

COLUMNS_MAX = 9
"""A table of more columns stands on its side where it has fewer rows than columns."""

Pictures = Mapping[str, str]
"""Where the picture of a chart lies, by the chart's name: a path relative to the Markdown."""


def render(page: Page, pictures: Pictures | None = None) -> str:
    """The page as Markdown with GitHub's tables; a chart is shown where it has a picture."""
    return "\n".join(_page(page, pictures or {})).rstrip() + "\n"


def post(page: Page, pictures: Pictures, command: str) -> str:
    """The page of a post as Markdown; `command` is what makes the rest."""
    return f"{render(page, pictures)}\nAll tables and charts: `{command}`\n"


def not_shown(group: Group) -> Iterable[str]:
    """Yields the charts of a folded group that have no picture: its line has the bars already."""
    for leaf, _, folded in _leaves(group):
        if isinstance(leaf, Chart) and (folded or isinstance(leaf.data, Bars)):
            yield leaf.name


def escape(text: str) -> str:
    """Words that mean nothing but themselves, on one line, also within a table."""
    return _plain_words(" ".join(text.split()))


def _plain_words(text: str) -> str:
    for sign in "\\`*_[]<>|#~":
        text = text.replace(sign, f"\\{sign}" if sign not in "<>" else f"&{_ENTITIES[sign]};")
    return text


_ENTITIES = {"<": "lt", ">": "gt"}


# --- Parts -----------------------------------------------------------------------------------


def _page(page: Page, pictures: Pictures) -> Iterable[str]:
    yield f"# {escape(page.title)}"
    if page.label:
        yield f"\n**{escape(page.label)}**"
    for part in page.parts:
        yield from _together((part,), pictures, 2)
        if isinstance(part, Group) and part.explains:
            yield from _folded("What the metrics are", _metrics(page))


def _item(finding: Finding, indent: str) -> Iterable[str]:
    """An item of the headline, and those below it."""
    label = f"**{escape(finding.label)}**" if finding.label else ""
    yield f"{indent}- {': '.join(filter(None, (label, escape(finding.text))))}"
    for item in finding.items:
        yield from _item(item, f"{indent}  ")


def _together(parts: Iterable[AnyPart], pictures: Pictures, heading: int) -> Iterable[str]:
    """Parts that are read together: details under their folds' words, the others openly."""
    for words, some in groupby(
        parts, lambda part: part.fold if isinstance(part, Group) and part.depth == "detail" else ""
    ):
        lines = [line for part in some for line in _part(part, pictures, heading)]
        yield from _folded(words, lines) if words else lines


def _part(part: AnyPart, pictures: Pictures, heading: int) -> Iterable[str]:
    if not isinstance(part, Group):
        # a table of words goes on with what stands above it
        below = isinstance(part, Table) and "words" in part.look.split()
        yield from _leaf(part, pictures, heading + below)
    elif part.of == "step":
        lines = _step(part, pictures)
        yield from _folded(_summary(part), lines) if part.depth == "detail" else lines
    else:
        yield from _group(part, pictures, heading)


def _group(group: Group, pictures: Pictures, heading: int) -> Iterable[str]:
    """Parts below their heading; what explains them stands above them, in a fold below them."""
    if group.click and group.depth == "answer":
        lines = [line for part in group.parts for line in _part(part, pictures, heading)]
        yield from _folded(group.click, lines)
        return
    folded = group.depth == "detail"
    headed = group.of != "" and group.title != "" and not folded
    if headed:
        yield f"\n{'#' * heading} {escape(group.title)}"
    told = " ".join((group.note, group.arrows)).strip()
    note = (f"\n{escape(told)}",) if told else ()
    yield from () if folded else note
    if group.alike:
        tables = [one for one in flat(group.parts) if isinstance(one, Table)]
        turned = any(map(_wide, tables))
        yield from (line for table in tables for line in _table(table, heading, turned=turned))
    else:
        deeper = headed or (folded and group.name != "")
        yield from _together(group.parts, pictures, heading + deeper)
    yield from note if folded else ()


# --- Steps -----------------------------------------------------------------------------------


def _leaves(group: Group) -> Iterable[tuple[Leaf, Group, bool]]:
    """Yields what is no group in reading order, its part, and whether it is folded."""
    for part in group.parts:
        whole = part if isinstance(part, Group) else group
        for leaf, folded in _below(part, folded=False):
            yield leaf, whole, folded


def _below(part: AnyPart, *, folded: bool) -> Iterable[tuple[Leaf, bool]]:
    folded = folded or part.depth == "detail"
    if isinstance(part, Group):
        for one in part.parts:
            yield from _below(one, folded=folded)
    else:
        yield part, folded


def _summary(group: Group) -> str:
    """A group that is folded, in a line: its title, and the bars."""
    data = (part.data for part in group.parts if isinstance(part, Chart))
    bars = (bar for one in data if isinstance(one, Bars) for bar in one.bars)
    return " · ".join(
        (group.title, *(" ".join(filter(None, (bar.arm, bar.text, bar.detail))) for bar in bars))
    )


def _step(group: Group, pictures: Pictures) -> Iterable[str]:
    """A step: what it came to, what a reader of the published reports looks for, then all else."""
    yield f"\n## {escape(group.title)}\n"
    yield escape(group.subtitle)
    found = list(_leaves(group))
    for leaf, _, _ in found:
        if _is_bars(leaf):
            yield from _leaf(leaf, pictures, 3)
    shown = [leaf for leaf, _, folded in found if not folded and not _is_bars(leaf)]
    for drawn, some in groupby(shown, lambda leaf: isinstance(leaf, Chart)):
        leaves = list(some)
        yield from (line for leaf in leaves for line in _leaf(leaf, pictures, 3))
        if drawn and pictures:
            notes = dict.fromkeys(leaf.note for leaf in leaves if isinstance(leaf, Chart))
            yield from (f"\n{escape(note)}" for note in notes)
    leads = (leaf for leaf, _, folded in found if folded and isinstance(leaf, Table) and leaf.lead)
    yield from (f"\n**{leaf.lead}.** {escape(leaf.note)}" for leaf in leads)
    yield from _folds(group, found, pictures)


def _folds(
    group: Group, found: Sequence[tuple[Leaf, Group, bool]], pictures: Pictures
) -> Iterable[str]:
    """The details: each part's under its own words, then the rest under the tables' titles."""
    folded = [(leaf, part) for leaf, part, folded in found if folded]
    for words, some in groupby(folded, lambda one: one[1].fold):
        if words:
            lines = [line for leaf, _ in some for line in _leaf(leaf, pictures, 4)]
            yield from _folded(f"{group.title}: {words}", lines)
    begun = [part for leaf, part, folded in found if not folded and isinstance(leaf, Table)]
    rest = [(leaf, part) for leaf, part in folded if isinstance(leaf, Table) and not part.fold]
    # What goes on with something above comes first, what stands beside something else last.
    rest.sort(key=lambda one: 2 if one[0].joins else one[1] not in begun)
    titles = ", ".join(leaf.title[:1].lower() + leaf.title[1:] for leaf, _ in rest)
    yield from _folded(
        f"{group.title}: {titles}", (line for leaf, _ in rest for line in _table(leaf, 4))
    )


def _is_bars(leaf: AnyPart) -> bool:
    return isinstance(leaf, Chart) and isinstance(leaf.data, Bars)


def _leaf(leaf: Leaf, pictures: Pictures, heading: int) -> Iterable[str]:
    match leaf:
        case Table():
            yield from _table(leaf, heading)
        case Chart(data=Bars(bars=bars)):
            named = f"{leaf.of}: {leaf.title}" if leaf.of else leaf.title
            yield f"\n{escape(named)}: {' · '.join(map(_bar, bars))}"
            words = "; ".join(f"{bar.arm} {bar.text}" for bar in bars)
            yield from _picture(leaf.name, f"{leaf.title}: {words}", pictures)
        case Chart(data=Effects(effects=effects, price=price, common=common)):
            yield from _picture(leaf.name, leaf.describe, pictures)
            yield f"\n{_line(('step', '', 'change', 'why'))}\n{_line([':--'] * 4)}"
            for effect in effects:
                change = f"{effect.figures}{effect.also}"
                yield _line(map(escape, (effect.step, effect.word, change, effect.reason)))
            yield f"\nAll: {escape(common)}" if common else ""
            yield f"\nOpen: {escape(price)}" if price else ""
        case Chart():
            yield from _picture(leaf.name, leaf.describe, pictures)
        case Text():
            yield from _text(leaf, heading)
        case Flame():
            yield f"\n{escape(leaf.title)}: `{leaf.command}` draws it."
        case Callout():
            yield f"\n{'#' * heading} {escape(leaf.title)}\n" if leaf.title else ""
            yield from (f"- {escape(line)}" for line in leaf.brief)
            full = [f"- {escape(item.text)}" for item in leaf.items]
            yield from _folded("in full", full) if leaf.brief else full


def _text(text: Text, heading: int) -> Iterable[str]:
    match text.form:
        case "sayings":
            for finding in text.items:
                yield f"\n**{escape(finding.text)}**\n"
                yield from (line for item in finding.items for line in _item(item, ""))
        case "paragraphs":
            yield from (f"\n{'#' * heading} {escape(text.title)}",) if text.title else ()
            yield from (f"\n{escape(finding.text)}" for finding in text.items)
        case "pairs":
            yield from (f"\n{text.lead_in_post[0]}\n",) if text.lead_in_post else ()
            yield from (f"- {escape(fact.label)}: {escape(fact.text)}" for fact in text.items)
        case "legend":
            yield from (f"{escape(line)}  " for line in ("", *(one.text for one in text.items)))
        case "code":
            yield f"\n{_lead(text.lead_in_post)}"
            yield from (line for one in text.items for line in _fenced(one.text, one.label))
        case "list":
            yield f"\n**{escape(text.title)}**\n" if text.title else ""
            items = (told for one in text.items for told in (one, *one.items))
            yield from (f"- {escape(told.text)}" for told in items)


def _lead(pieces: Sequence[str]) -> str:
    """Words before some items; every second piece is code."""
    return "".join(
        f"`{piece}`" if place % 2 else _plain_words(piece) for place, piece in enumerate(pieces)
    )


def _metrics(page: Page) -> Iterable[str]:
    """The meanings of the published metrics' columns, each once."""
    tables = (one for one in flat(page.parts) if isinstance(one, Table) and one.explained)
    columns = (column for table in tables for column in table.columns)
    meanings = {column.text: column.title for column in columns if column.title}
    yield from (f"- **{escape(name)}**: {escape(text)}" for name, text in meanings.items())


def _fenced(text: str, language: str) -> Iterable[str]:
    """Words as they are, in a fence longer than any within them."""
    fence = "```"
    while fence in text:
        fence += "`"
    yield f"\n{fence}{language}\n{text}\n{fence}"


def _folded(title: str, lines: Iterable[str]) -> Iterable[str]:
    """A fold that readers may open; empty if it has nothing to show."""
    found = list(lines)
    if found:
        yield f"\n<details>\n<summary>{escape(title)}</summary>\n"
        yield from found
        yield "\n</details>"


def _picture(name: str, describe: str, pictures: Pictures) -> Iterable[str]:
    if name in pictures:
        yield f"\n![{escape(describe)}]({quote(pictures[name])})"


def _bar(bar: Bar) -> str:
    detail = f" {escape(bar.detail)}" if bar.detail else ""
    return f"{escape(bar.arm)} **{escape(bar.text)}**{detail}"


# --- Tables ----------------------------------------------------------------------------------


def _table(table: Table, heading: int, *, turned: bool = False) -> Iterable[str]:
    """A table that fits a post: as it is, on its side, or that in pieces."""
    yield f"\n{'#' * heading} {escape(table.short or table.title)}\n"
    for place, shape in enumerate(_shapes(table, turned=turned)):
        if place:
            yield ""
        yield _line(_headings(shape.columns))
        yield from _body(shape)
    if table.note:
        yield f"\n{escape(table.note)}"
    tones = {cell.tone for row in table.rows for cell in row.cells}
    if tones & ARROWS.keys() and table.arrows:
        yield f"\n{table.arrows}"


def _wide(table: Table) -> bool:
    turns = table.heading == 0
    return turns and len(table.columns) > COLUMNS_MAX and len(table.rows) + 1 < len(table.columns)


def _shapes(table: Table, *, turned: bool) -> list[Table]:
    """The table itself; a wide one on its side, and where that is wide too by groups of rows."""
    if not (turned or _wide(table)):
        return [table]
    if len(table.rows) + 1 <= COLUMNS_MAX:
        return [transposed(table)]
    groups = groupby(table.rows, lambda row: row.group)
    return [transposed(replace(table, rows=tuple(rows))) for _, rows in groups]


def _body(table: Table) -> Iterable[str]:
    yield _line(":--" if column.left else "--:" for column in table.columns)
    for group, rows in groupby(table.rows, lambda row: row.group):
        if group:
            yield _line([f"*{escape(group)}*", *[""] * (len(table.columns) - 1)])
        yield from (_line(_cell(cell) for cell in row.cells) for row in rows)


def _headings(columns: Iterable[Column]) -> Iterable[str]:
    """A column's name; the first of a group bears the group's name above it."""
    for group, some in groupby(columns, lambda column: column.group):
        for place, column in enumerate(some):
            above = f"{escape(group)}<br>" if group and place == 0 else ""
            yield f"{above}{escape(column.text)}"


def _cell(cell: TableCell) -> str:
    bare = not cell.detail or cell.detail.startswith("[")
    text = escape(plain(cell if bare else replace(cell, detail=f"({cell.detail})")))
    return f"**{text}**" if cell.tone in ("total", "notice") and text else text


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
