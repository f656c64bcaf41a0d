"""Tables in other shapes: on their side, or cut into pieces that fit a width. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from dbdyno.parts.colors import ARROWS
from dbdyno.parts.table import Column, Row, Table, TableCell

GAP = 2  # characters between columns


def parts(cell: TableCell) -> tuple[str, str, str, str]:
    """A cell's number, its mark, an arrow for its colour, and its detail."""
    return (cell.text, cell.mark, ARROWS.get(cell.tone, ""), cell.detail)


def plain(cell: TableCell) -> str:
    """A cell's words for a format without colour."""
    text, mark, arrow, detail = parts(cell)
    return " ".join(word for word in (text + mark, arrow, detail) if word)


def aligned(
    cell: TableCell, sizes: Sequence[int], left: bool, measure: Callable[[str], int]
) -> str:
    """A cell's parts set below those of the other cells of its column, which take `sizes`."""
    text, mark, arrow, detail = parts(cell)
    blank = " " * (sizes[0] - measure(text))
    number = text + blank if left else blank + text
    words = number + mark.ljust(sizes[1])
    for word, size in ((arrow, sizes[2]), (detail, sizes[3])):
        words += f" {word.ljust(size)}" if size else ""
    return words


def transposed(table: Table) -> Table:
    """The table with columns for rows; groups of the one become groups of the other.

    A table whose rows have their heading elsewhere than first stays as it is.
    """
    if table.heading:
        return table
    columns = tuple(
        Column(text=row.cells[0].text, group=row.group, title=row.cells[0].title, arm=row.arm)
        for row in table.rows
    )
    rows = tuple(
        Row.of(
            TableCell(text=column.text, title=column.title),
            *(row.cells[place] for row in table.rows),
            group=column.group,
        )
        for place, column in enumerate(table.columns)
        if place > 0
    )
    return replace(table, columns=Column.heads("", *columns), rows=rows)


def standing(table: Table, characters_max: int) -> Table:
    """The table on its side where its headings take more than this, and would take less so."""
    wide = sum(len(column.text) for column in table.columns)
    turned = transposed(table)
    narrower = len(turned.columns) < len(table.columns)
    return turned if wide > characters_max and narrower else table


def without_blank(table: Table) -> Table:
    """The table without the columns in which no row has anything."""
    filled = [
        place
        for place in range(len(table.columns))
        if place != table.heading and any(row.cells[place].text for row in table.rows)
    ]
    return _part(table, filled)


def without_blank_rows(table: Table) -> Table:
    """The table without the rows that have nothing beside their heading."""
    rows = (
        row
        for row in table.rows
        if any(cell.text for place, cell in enumerate(row.cells) if place != table.heading)
    )
    return replace(table, rows=tuple(rows))


def without_blank_columns(table: Table) -> Table:
    """The table without the columns that have nothing in any row."""
    filled = [
        place
        for place in range(len(table.columns))
        if any(row.cells[place].text for row in table.rows)
    ]
    return replace(
        table,
        columns=tuple(table.columns[place] for place in filled),
        rows=tuple(
            replace(row, cells=tuple(row.cells[place] for place in filled)) for row in table.rows
        ),
    )


def part_widths(table: Table, measure: Callable[[str], int] = len) -> list[list[int]]:
    """The characters that each part of each column takes; headings stand over all parts."""
    sizes = []
    for place, column in enumerate(table.columns):
        cells = [parts(row.cells[place]) for row in table.rows]
        size = [max((measure(cell[part]) for cell in cells), default=0) for part in range(4)]
        size[0] += max(0, measure(column.text) - width(size))
        sizes.append(size)
    _widen(sizes, table.columns, measure)
    return sizes


def _widen(
    sizes: list[list[int]], columns: Sequence[Column], measure: Callable[[str], int]
) -> None:
    """Makes room for the headings that columns share."""
    for group, some in groupby(range(len(columns)), lambda place: columns[place].group):
        places = list(some)
        room = _sum([width(sizes[place]) for place in places])
        lacking = max(0, measure(group) - room)
        for turn, place in enumerate(places):
            sizes[place][0] += (lacking + turn) // len(places)


def width(sizes: Sequence[int]) -> int:
    """The characters that a column takes whose parts take `sizes`."""
    return sizes[0] + sizes[1] + sum(size + 1 for size in sizes[2:] if size)


def widths(table: Table, measure: Callable[[str], int] = len) -> list[int]:
    """The characters that each column takes."""
    return [width(sizes) for sizes in part_widths(table, measure)]


def fitting(table: Table, room: int) -> list[Table]:
    """The table as it is, on its side, or in pieces: whatever first fits `room` characters."""
    for shape in (table, transposed(table)):
        if total(shape) <= room:
            return [shape]
    return min((pieces(shape, room) for shape in (table, transposed(table))), key=len)


def total(table: Table) -> int:
    """The characters that a line of the table takes."""
    return _sum(widths(table))


def _sum(sizes: Sequence[int]) -> int:
    return sum(sizes) + GAP * (len(sizes) - 1)


def pieces(table: Table, room: int) -> list[Table]:
    """The table cut between columns, each piece with the headings; too wide ones alone."""
    cuts: list[list[int]] = [[]]
    for place in range(len(table.columns)):
        if place == table.heading:
            continue
        if cuts[-1] and total(_part(table, [*cuts[-1], place])) > room:
            cuts.append([])
        cuts[-1].append(place)
    return [_part(table, cut) for cut in cuts]


def _part(table: Table, some: Sequence[int]) -> Table:
    """Some columns of a table beside the headings of its rows."""
    places = sorted([table.heading, *some])
    rows = tuple(
        replace(row, cells=tuple(row.cells[place] for place in places)) for row in table.rows
    )
    return replace(
        table,
        columns=tuple(table.columns[place] for place in places),
        rows=rows,
        heading=places.index(table.heading),
    )
