"""How the answers of two servers to the same query differ, in a word. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from dbdyno.model.answer import Answer, AnswerColumn, OpenQueryPart

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
WORDS: tuple[AnswerWord, ...] = get_args(AnswerWord)
"""The words, the gravest first."""
PARENT = (
    "alone it breaks a foreign key: the other row is of its own transaction, or the copy lacks it"
)
DOUBLE = "the copy has its row already"
ALONE = {"23503": PARENT, "1216": PARENT, "1217": PARENT, "1451": PARENT, "1452": PARENT,
         "23505": DOUBLE, "1022": DOUBLE, "1062": DOUBLE}  # fmt: skip
"""Failures on both arms of what ran well in its application: by SQLSTATE or number, what it lacks
when it runs again, and without the rest of its transaction."""
DIFFER: frozenset[AnswerWord] = frozenset({"different", "other order"})
"""Words after which is asked whether the answer is determined at all."""


@dataclass(frozen=True)
class AnswerMatch:
    """How an arm's answer stands to the base's."""

    word: AnswerWord
    detail: str = ""  # "12 rows for 10"


def compared(
    base: Answer, arm: Answer, ordered: Sequence[int] = (), open_parts: Sequence[OpenQueryPart] = ()
) -> AnswerMatch:
    """The word for two answers to one tuple.

    `ordered`: the columns that ORDER BY names; `open_parts`: those of any query.
    """
    unasked = [answer for answer in (base, arm) if answer.outcome == "not asked"]
    if unasked:
        return AnswerMatch("not compared", unasked[0].reason)
    late = [answer for answer in (base, arm) if answer.outcome == "timed out"]
    if len(late) > 1:
        return AnswerMatch("not compared", "no answer in time on both")
    if late:
        return AnswerMatch("times out on the base" if base.outcome == "timed out" else "times out")
    failed = [answer.outcome == "failed" for answer in (base, arm)]
    if any(failed):
        return _failing(base, arm, failed)
    own = [
        part for part in open_parts if part.query == base.query and part.place in (None, base.place)
    ]
    differs = _rows(base, arm, ordered, own)
    whole = [part for part in own if part.columns is None]
    if whole and differs.word in DIFFER:
        differs = AnswerMatch("not determined", whole[0].reason)
    if differs.word != "same" and (base.cut or arm.cut):
        return AnswerMatch("not compared", "more rows than are read")
    return differs


def failure(answer: Answer) -> str:
    """A failure in words: `42601 syntax error`."""
    return " ".join(filter(None, (answer.code, answer.reason)))


def _failing(base: Answer, arm: Answer, failed: Sequence[bool]) -> AnswerMatch:
    if all(failed):
        if base.code == arm.code and base.code in ALONE:
            return AnswerMatch("not compared", f"{ALONE[base.code]} ({base.code})")
        said, other = failure(base), failure(arm)
        return AnswerMatch("fails on both", said if said == other else f"{said}; the arm: {other}")
    if failed[1]:
        return AnswerMatch("fails", failure(arm))
    return AnswerMatch("fails on the base", failure(base))


def _rows(
    base: Answer, arm: Answer, ordered: Sequence[int], open_parts: Sequence[OpenQueryPart]
) -> AnswerMatch:
    if base.rows != arm.rows:
        return AnswerMatch("different", f"{arm.rows:,} rows for {base.rows:,}")
    if len(base.columns) != len(arm.columns):
        return AnswerMatch("different", f"{len(arm.columns)} columns for {len(base.columns)}")
    values = _by_column(open_parts, order=False)
    pairs = list(zip(base.columns, arm.columns, strict=True))
    columns = [
        _undoubted(_column(*pair), values.get(place, "")) for place, pair in enumerate(pairs)
    ]
    worst = min(
        columns, key=lambda compared: WORDS.index(compared.word), default=AnswerMatch("same")
    )
    if worst.word == "same" and base.whole != arm.whole:
        differs = AnswerMatch("different", "the same values in other rows")
        return _undoubted(differs, next(iter(values.values()), ""))
    if worst.word == "same":
        orders = values | _by_column(open_parts, order=True)
        for place in ordered:
            if place < len(pairs) and not _same_order(*pairs[place]):
                differs = AnswerMatch("other order", f"by `{pairs[place][0].name}`")
                return _undoubted(differs, orders.get(place, ""))
    return worst


def _by_column(open_parts: Sequence[OpenQueryPart], *, order: bool) -> dict[int, str]:
    """By column, from 0, why its values or their order are open."""
    return {
        place: part.reason
        for part in open_parts
        for place in part.columns or ()
        if part.order == order
    }


def _undoubted(compared: AnswerMatch, reason: str) -> AnswerMatch:
    """The word, or that what differs is open for a reason."""
    return AnswerMatch("not determined", reason) if reason and compared.word in DIFFER else compared


def _column(base: AnswerColumn, arm: AnswerColumn) -> AnswerMatch:
    exact, near = base.values == arm.values, base.rounded is not None
    near = near and base.rounded == arm.rounded
    if not exact and not near:
        typed = "" if base.type == arm.type else f", {arm.type} for {base.type}"
        return AnswerMatch("different", f"other values of `{base.name}`{typed}")
    changed = [
        f"`{base.name}` is called `{arm.name}`" if base.name != arm.name else "",
        f"`{base.name}`: {base.type} became {arm.type}" if base.type != arm.type else "",
    ]
    if any(changed):
        return AnswerMatch("other type", "; ".join(filter(None, changed)))
    if exact:
        return AnswerMatch("same")
    if base.inexact:
        return AnswerMatch("same", "same within 1e-9")
    return AnswerMatch("different", f"other values of `{base.name}`, from the tenth digit")


def _same_order(base: AnswerColumn, arm: AnswerColumn) -> bool:
    if base.order == arm.order:
        return True
    return base.rounded_order is not None and base.rounded_order == arm.rounded_order
