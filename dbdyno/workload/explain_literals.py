"""Statements with sample values in them, for servers whose EXPLAIN wants values.

A sample is a value that a run could send: the middle of its range, and within a repetition values
that are spread evenly over the range, so that the planner sees neither one key many times nor keys
outside of the table.
"""

from collections.abc import Callable, Sequence

from dbdyno.model.job.values import CursorBound, JoinPart, Value
from dbdyno.workload import sql
from dbdyno.workload.computed import evaluate

TIMESTAMP = "2000-01-01 00:00:00"
CURSOR = 1
"""The value in place of a cursor: the first key."""
ITEMS_MAX = 1000
"""Of a longer repetition so many items are shown: a plan does not change with more."""


def statement(
    pieces: Sequence[sql.Piece],
    table: str,
    values: Sequence[Value],
    number_of: Callable[[str], int],
) -> str:
    """The statement for the first table, with a sample literal for each value and cursor.

    `values` are the job's, `number_of` a value's number among them by its name.
    """
    return _text(pieces, table, lambda name, item, of: literal(values, number_of(name), item, of))


Literal = Callable[[str, int, int], str]
"""The literal of a value, by its name, for one of so many items."""


def _text(
    pieces: Sequence[sql.Piece], table: str, literal_of: Literal, item: int = 0, of: int = 1
) -> str:
    text = ""
    for piece in pieces:
        match piece:
            case str():
                text += piece
            case sql.TablePlace():
                text += table
            case sql.NumberPlace():
                text += "1"
            case sql.CursorPlace():
                text += str(CURSOR)
            case sql.ValuePlace(name=name):
                text += literal_of(name, item, of)
            case sql.RepeatedPieces(count=count, pieces=inner, separator=separator):
                shown = min(count, ITEMS_MAX)
                items = (_text(inner, table, literal_of, n, shown) for n in range(shown))
                text += separator.join(items)
    return text


def literal(values: Sequence[Value], number: int, item: int, of: int) -> str:
    """A sample of a value as SQL writes it; `item` counts from 0 among `of` of a repetition."""
    value = values[number]
    if value.join is not None:
        parts = (_part(values, part, item, of) for part in value.join)
        return "'" + "".join(parts).replace("'", "''") + "'"
    if value.text is not None:
        return "'" + value.text.fill * value.text.length[0] + "'"
    if value.pattern is not None:
        return "'" + value.pattern.replace("#", "5").replace("@", "m") + "'"
    if value.clock is not None:
        return f"'{TIMESTAMP}'"
    digits = str(sample(values, number, item, of))
    match value.format:
        case "decimal2":
            return f"{digits}.00"
        case "hundredths":
            whole, part = divmod(abs(int(digits)), 100)
            return f"{'-' * digits.startswith('-')}{whole}.{part:02}"
        case "text" | "timestamp":
            return f"'{digits}'"
    return digits


def _part(values: Sequence[Value], part: str | JoinPart, item: int, of: int) -> str:
    """A part of a joined text; nothing where its condition is not true."""
    if isinstance(part, str):
        return part
    if part.when is not None and not sample(values, part.when, item, of):
        return ""
    if part.value is not None:
        written = literal(values, part.value, item, of)
        return written[1:-1].replace("''", "'") if written.startswith("'") else written
    assert part.at is not None
    return part.of[sample(values, part.at, item, of) % len(part.of)]


def sample(values: Sequence[Value], number: int, item: int, of: int) -> int:
    """A sample of a value that is a number."""
    value = values[number]
    if value.uniform is not None:
        return _within(value.uniform, item, of)
    if ranged := value.distribution or value.permutation:
        return _within(ranged.range, item, of)
    if value.compute is not None:
        return evaluate(value.compute.expression, lambda base: sample(values, base, item, of))
    if value.add is not None:
        first = sample(values, value.add.value, item, of)
        if value.add.other is not None:
            return first + sample(values, value.add.other, item, of)
        return first + (value.add.plus or 0)
    if value.item is not None:
        return value.item.first + item
    if value.constant is not None:
        return value.constant
    if value.newest is not None:
        return sample(values, value.newest.value, item, of) - 1
    counted = value.sequence or value.count or value.client
    assert counted is not None, "a row's number is in no statement"
    return counted.first


def _within(bounds: tuple[int | CursorBound, int | CursorBound], item: int, of: int) -> int:
    """The middle of the item's share of the range; behind a cursor the next keys."""
    low, high = bounds
    if isinstance(low, int) and isinstance(high, int):
        return low + (high - low) * (2 * item + 1) // (2 * of)
    return CURSOR + item
