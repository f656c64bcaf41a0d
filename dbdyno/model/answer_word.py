"""How the answers of two servers to the same query differ, in a word. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Literal

from dbdyno.model.answer import Answer, AnswerColumn

AnswerWord = Literal[
    "fails",
    "fails on the base",
    "times out",
    "times out on the base",
    "different",
    "other order",
    "other type",
    "not determined",
    "fails on both",
    "not compared",
    "same",
]
WORDS: tuple[AnswerWord, ...] = (
    "fails",
    "fails on the base",
    "times out",
    "times out on the base",
    "different",
    "other order",
    "other type",
    "not determined",
    "fails on both",
    "not compared",
    "same",
)
"""The words, the gravest first."""
DIFFER: frozenset[AnswerWord] = frozenset({"different", "other order"})
"""Words after which is asked whether the answer is determined at all."""


@dataclass(frozen=True)
class Compared:
    """How an arm's answer stands to the base's."""

    word: AnswerWord
    detail: str = ""  # "12 rows for 10"


def compared(base: Answer, arm: Answer, ordered: Sequence[int] = ()) -> Compared:
    """The word for two answers to one tuple; `ordered`: the columns that ORDER BY names."""
    unasked = [answer for answer in (base, arm) if answer.outcome == "not asked"]
    if unasked:
        return Compared("not compared", unasked[0].reason)
    late = [answer for answer in (base, arm) if answer.outcome == "timed out"]
    if len(late) > 1:
        return Compared("not compared", "no answer in time on both")
    if late:
        return Compared("times out on the base" if base.outcome == "timed out" else "times out")
    failed = [answer.outcome == "failed" for answer in (base, arm)]
    if any(failed):
        return _failing(base, arm, failed)
    differs = _rows(base, arm, ordered)
    if differs.word != "same" and (base.cut or arm.cut):
        return Compared("not compared", "more rows than are read")
    return differs


def failure(answer: Answer) -> str:
    """A failure in words: `42601 syntax error`."""
    return " ".join(filter(None, (answer.code, answer.reason)))


def _failing(base: Answer, arm: Answer, failed: Sequence[bool]) -> Compared:
    if all(failed):
        said, other = failure(base), failure(arm)
        return Compared("fails on both", said if said == other else f"{said}; the arm: {other}")
    if failed[1]:
        return Compared("fails", failure(arm))
    return Compared("fails on the base", failure(base))


def _rows(base: Answer, arm: Answer, ordered: Sequence[int]) -> Compared:
    if base.rows != arm.rows:
        return Compared("different", f"{arm.rows:,} rows for {base.rows:,}")
    if len(base.columns) != len(arm.columns):
        return Compared("different", f"{len(arm.columns)} columns for {len(base.columns)}")
    pairs = list(zip(base.columns, arm.columns, strict=True))
    columns = list(starmap(_column, pairs))
    worst = min(columns, key=lambda compared: WORDS.index(compared.word), default=Compared("same"))
    if worst.word == "same" and base.whole != arm.whole:
        return Compared("different", "the same values in other rows")
    if worst.word == "same":
        for first, second in (pairs[place] for place in ordered if place < len(pairs)):
            if not _same_order(first, second):
                return Compared("other order", f"by `{first.name}`")
    return worst


def _column(base: AnswerColumn, arm: AnswerColumn) -> Compared:
    exact, near = base.values == arm.values, base.rounded is not None
    near = near and base.rounded == arm.rounded
    if not exact and not near:
        typed = "" if base.type == arm.type else f", {arm.type} for {base.type}"
        return Compared("different", f"other values of `{base.name}`{typed}")
    changed = [
        f"`{base.name}` is called `{arm.name}`" if base.name != arm.name else "",
        f"`{base.name}`: {base.type} became {arm.type}" if base.type != arm.type else "",
    ]
    if any(changed):
        return Compared("other type", "; ".join(filter(None, changed)))
    if exact:
        return Compared("same")
    if base.inexact:
        return Compared("same", "same within 1e-9")
    return Compared("different", f"other values of `{base.name}`, from the tenth digit")


def _same_order(base: AnswerColumn, arm: AnswerColumn) -> bool:
    if base.order == arm.order:
        return True
    return base.rounded_order is not None and base.rounded_order == arm.rounded_order
