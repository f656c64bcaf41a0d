"""answers.json of a run (docs/results.md): what an application's queries answered on one arm.

No value is kept: rows are counted, and hashed under a key that is forgotten with the lab.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

Outcome = Literal["rows", "failed", "timed out", "not asked"]
EXPECTED_S = 0.5
"""A guess of what the answers and plans of a query take on an arm."""
ROWS_MAX = 1_000_000
"""Rows of an answer that are read; of more the first so many."""


class AnswerColumn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A column of an answer: its name and type, and hashes of what stands in it."""

    name: str
    type: str
    values: str  # of all values, in whichever order
    order: str  # of all values as they came
    rounded: str | None = None  # of numbers to ten digits, in whichever order; None: no number
    rounded_order: str | None = None  # the same as they came
    inexact: bool = False  # a floating-point type, whose last digits mean nothing


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a query answered for one tuple of values."""

    query: str
    place: int = 1  # of the tuple among the tuples that were tried, the heaviest first
    outcome: Outcome = "rows"
    code: str = ""  # of the failure, as the server has it: "42601"
    reason: str = ""  # the failure's class, or why nothing was asked: "syntax error"
    rows: int = 0  # that came, or that a write has changed
    cut: bool = False  # whether there were more than ROWS_MAX
    columns: tuple[AnswerColumn, ...] = ()
    whole: str = ""  # a hash of all rows, in whichever order
    seconds: float = 0.0


class OpenQueryPart(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a query's answer is not determined by its text and the data."""

    query: str
    reason: str  # "`LIMIT 5` has no ORDER BY"
    place: int | None = None  # of the tuple of which it was seen; None: the text says it of all
    columns: tuple[int, ...] | None = None  # whose values are open, from 0; None: the whole answer
    order: bool = False  # of these only the order in which they come


class Answers(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """answers.json of a run."""

    workload: str
    answers: tuple[Answer, ...] = ()
    open_parts: tuple[OpenQueryPart, ...] = field(default=(), name="doubts")  # of the base alone
    ordered: Mapping[str, tuple[int, ...]] = {}  # by query, the columns that ORDER BY names, from 0
