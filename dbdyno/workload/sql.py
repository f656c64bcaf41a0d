"""SQL with values, cursors, tables and repetitions in it, cut into pieces.

`:name` is a value, `:cursor.name` a cursor, `[[50: (:a, :b)]]` a repetition with commas between,
`[[10 ' OR ': a=:a]]` one with ` OR `. In single quotes nothing is replaced but the table; `::` is a
cast.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

from dbdyno.workload.scope import NUMBER_MARK, TABLE_MARK, Scope

REPEAT_MAX = 100_000
REPEAT = re.compile(r"\[\[([^\[\]:]*):(.*?)\]\]", re.DOTALL)
HEAD = re.compile(r"(\d+)(?:\s*'([^']*)')?")
"""The beginning of a repetition: how often, and the separator if it is no comma."""
TOKEN = re.compile(
    rf"(?P<quote>')|(?P<cast>::)|(?<![\w\]]):cursor\.(?P<cursor>\w+)"
    rf"|(?<![\w\]]):(?P<value>[A-Za-z_]\w*)|(?P<table>{TABLE_MARK})|(?P<number>{NUMBER_MARK})"
)
EXPLAINABLE = ("select", "insert", "update", "delete", "with", "merge")


@dataclass(frozen=True)
class ValuePlace:
    """A value's place in a statement."""

    name: str


@dataclass(frozen=True)
class VariablePlace:
    """The place of what a statement before it returned, or of what was computed from that."""

    name: str


@dataclass(frozen=True)
class CursorPlace:
    """A cursor's place in a statement."""

    name: str


@dataclass(frozen=True)
class TablePlace:
    """The table's place in a statement."""


@dataclass(frozen=True)
class NumberPlace:
    """The place of the table's number in a statement."""


@dataclass(frozen=True)
class RepeatedPieces:
    """Pieces that are written `count` times, joined by the separator; values are drawn anew."""

    count: int
    pieces: tuple[Piece, ...]
    separator: str = ","


Piece = str | ValuePlace | VariablePlace | CursorPlace | TablePlace | NumberPlace | RepeatedPieces


def cut(sql: str, scope: Scope) -> tuple[Piece, ...]:
    """The pieces of one statement whose braces have been filled in."""
    pieces: list[Piece] = []
    end = 0
    for match in REPEAT.finditer(sql):
        head = HEAD.fullmatch(match[1].strip())
        if head is None or not 1 <= int(head[1]) <= REPEAT_MAX:
            raise scope.error(
                f"a repetition begins with a number, as `[[50:` or `[[50 ' OR ':`, "
                f"from 1 to {REPEAT_MAX}, not {match[1].strip()!r}"
            )
        separator = "," if head[2] is None else head[2]
        pieces += _cut_plain(sql[end : match.start()])
        pieces.append(RepeatedPieces(int(head[1]), tuple(_cut_plain(match[2].strip())), separator))
        end = match.end()
    pieces += _cut_plain(sql[end:])
    return tuple(pieces)


def _cut_plain(sql: str) -> list[Piece]:
    """The pieces of SQL without repetitions."""
    pieces: list[Piece] = []
    text, end, quoted = "", 0, False
    for match in TOKEN.finditer(sql):
        here = _piece(match, quoted)
        quoted ^= match.lastgroup == "quote"
        text += sql[end : match.start()]
        end = match.end()
        if isinstance(here, str):
            text += here
            continue
        pieces += [text, here] if text else [here]
        text = ""
    text += sql[end:]
    return [*pieces, text] if text else pieces


def _piece(match: re.Match[str], quoted: bool) -> Piece:
    if match["table"]:
        return TablePlace()
    if match["number"]:
        return NumberPlace()
    if quoted or match["quote"] or match["cast"]:
        return match[0]
    return CursorPlace(match["cursor"]) if match["cursor"] else ValuePlace(match["value"])


def with_variables(pieces: tuple[Piece, ...], names: Container[str]) -> tuple[Piece, ...]:
    """The pieces with variables in place of values of these names."""
    made: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, ValuePlace) and piece.name in names:
            made.append(VariablePlace(piece.name))
        elif isinstance(piece, RepeatedPieces):
            made.append(replace(piece, pieces=with_variables(piece.pieces, names)))
        else:
            made.append(piece)
    return tuple(made)


def walk(pieces: tuple[Piece, ...]) -> Iterator[Piece]:
    """Every piece once, those within repetitions too."""
    for piece in pieces:
        yield piece
        if isinstance(piece, RepeatedPieces):
            yield from walk(piece.pieces)


def written(pieces: tuple[Piece, ...]) -> Iterator[Piece]:
    """The pieces as one execution writes them: repetitions repeated, with what is between."""
    for piece in pieces:
        if isinstance(piece, RepeatedPieces):
            for number in range(piece.count):
                if number:
                    yield piece.separator
                yield from written(piece.pieces)
        else:
            yield piece


def bound(pieces: tuple[Piece, ...], once: Container[str]) -> tuple[Piece, ...]:
    """The pieces as parameters with numbers: each value of `once` is one, wherever it stands."""
    made: list[Piece] = []
    numbers: dict[str, int] = {}
    count = 0
    for piece in pieces:
        if isinstance(piece, ValuePlace) and piece.name in numbers:
            made.append(f"${numbers[piece.name]}")
            continue
        count += sum(1 for _ in parameters((piece,)))
        if isinstance(piece, ValuePlace) and piece.name in once:
            numbers[piece.name] = count
        made.append(piece)
    return tuple(made)


def parameters(pieces: tuple[Piece, ...]) -> Iterator[ValuePlace | VariablePlace | CursorPlace]:
    """What one execution binds, in order."""
    for piece in written(pieces):
        if isinstance(piece, (ValuePlace, VariablePlace, CursorPlace)):
            yield piece


def explainable(sql: str) -> bool:
    """Whether EXPLAIN takes the statement."""
    return sql.split(None, 1)[0].lower() in EXPLAINABLE


def numbered(pieces: tuple[Piece, ...], table: str, types: Sequence[str] = ()) -> str:
    """The statement for the first table, with $1, $2 … in the place of values and cursors.

    Where their `types` are known, each is cast to its own, so that the server infers no other.
    """
    number = 0
    text = ""
    for piece in written(pieces):
        if isinstance(piece, str):
            text += piece
        elif isinstance(piece, TablePlace):
            text += table
        elif isinstance(piece, NumberPlace):
            text += "1"
        else:
            number += 1
            type_ = types[number - 1] if types else ""
            text += f"${number}::{type_}" if type_ else f"${number}"
    return text


def nominal_rows(sql: str, pieces: tuple[Piece, ...]) -> int:
    """The rows of one execution where the file does not say: a lone repetition's count, else 1.

    Statements that EXPLAIN does not take (CREATE INDEX, VACUUM) have none.
    """
    repeats = [piece.count for piece in pieces if isinstance(piece, RepeatedPieces)]
    if len(repeats) == 1:
        return repeats[0]
    return int(explainable(sql))
