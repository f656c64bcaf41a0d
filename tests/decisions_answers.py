"""Answers of `decisions`: what is kept of the known ones, and the same of a server's.

The known answers are those that DuckDB gives to the queries of the file for rows of tpchgen-cli
4.0.0: another engine, which no server here shares code with. They are the answers that DuckDB's
repository keeps (its tpch extension), but for addresses and comments, which its generator makes
otherwise.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

import pytest

TOLERANCE = 1e-4
"""Of sums: MySQL and MariaDB divide to four digits more than what they divide has."""
KNOWN = Path(__file__).parent / "decisions_answers.json"


@dataclass(frozen=True)
class Answer:
    """What an answer comes to, whatever the order of its rows.

    Of a column of numbers `sums` has the sum; `texts` has a hash of all others.
    """

    rows: int
    sums: tuple[float, ...]
    texts: str


def summary(rows: Iterable[Sequence[object]]) -> Answer:
    """What rows come to; NULL is an empty text."""
    table = [["" if cell is None else str(cell).strip() for cell in row] for row in rows]
    columns = list(zip(*table, strict=True))
    numeric = [all(map(_is_number, column)) for column in columns]
    sums = [
        float(sum(map(Decimal, column)))
        for column, is_number in zip(columns, numeric, strict=True)
        if is_number
    ]
    texts = sorted(
        "|".join(cell for cell, is_number in zip(row, numeric, strict=True) if not is_number)
        for row in table
    )
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    return Answer(rows=len(table), sums=tuple(sums), texts=digest)


def known(scale: str) -> dict[str, Answer]:
    """The known answers by query."""
    written = json.loads(KNOWN.read_text())[scale]
    return {
        name: Answer(rows=one["rows"], sums=tuple(one["sums"]), texts=one["texts"])
        for name, one in written.items()
    }


def same(first: Answer, second: Answer) -> bool:
    """Whether two answers are the same, but for digits of sums."""
    return (first.rows, first.texts) == (second.rows, second.texts) and first.sums == pytest.approx(
        second.sums, rel=TOLERANCE
    )


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False
