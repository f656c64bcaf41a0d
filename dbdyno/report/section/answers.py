"""Whether an application's queries fail or answer otherwise: what no timing outweighs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dbdyno.model import Comparison
from dbdyno.model.answer_word import WORDS, AnswerWord
from dbdyno.model.query_change import AnswerChange
from dbdyno.report import number
from dbdyno.report.colors import Tone
from dbdyno.report.parts import AnyPart, Callout, Finding, Section, Text

GRAVE: Sequence[AnswerWord] = ("fails", "times out", "different", "other order", "other type")
"""Words that stand on the first screen, in this order."""
SAID: Mapping[AnswerWord, str] = {
    "fails": "fails on {arm} alone",
    "fails on the base": "fails on {base} alone",
    "times out": "is ended by its limit on {arm} alone",
    "times out on the base": "is ended by its limit on {base} alone",
    "different": "answers differently on {arm}",
    "other order": "answers in another order on {arm}",
    "other type": "answers by another type on {arm}",
    "not determined": "answers differently, which neither its text nor the data exclude",
    "fails on both": "fails on both",
    "not compared": "is not compared",
    "same": "answers the same",
}
TONES: Mapping[AnswerWord, Tone] = {
    "fails": "failed",
    "times out": "failed",
    "different": "slower",
}
LATE: frozenset[AnswerWord] = frozenset({"times out", "times out on the base"})
"""Words of which is always said how many calls they are of."""
NAMED_MAX = 10
"""So many queries are named on the first screen; the others are counted."""


def parts(comparison: Comparison) -> Iterable[AnyPart]:
    """Of each arm what is grave, then all else; nothing where no query was asked."""
    by_arm: dict[str, list[AnswerChange]] = {}
    for change in comparison.queries.answers:
        by_arm.setdefault(change.place.arm, []).append(change)
    for place, (arm, changes) in enumerate(by_arm.items()):
        grave = [change for word in GRAVE for change in _of(changes, word)]
        if grave:
            yield Callout(
                name=f"answers-{place}",
                title=f"Answers of {arm}",
                items=tuple(Finding(text=sentence(comparison, change)) for change in grave),
                depth="answer",
                brief=tuple(_brief(comparison, grave)) if len(grave) > NAMED_MAX else (),
            )
        yield Text(
            name=f"answers-{place}-all",
            title=f"Answers of {arm} beside those of {comparison.base}",
            items=(Finding(text=summary(changes)), *_rest(comparison, changes)),
            depth="brief",
            entry="" if place else "Answers",
        )


def _brief(comparison: Comparison, grave: Sequence[AnswerChange]) -> Iterator[str]:
    """The gravest, and how many more there are."""
    yield from (sentence(comparison, change) for change in grave[:NAMED_MAX])
    yield f"and {number.queries(len(grave) - NAMED_MAX)} more"


def _rest(comparison: Comparison, changes: Sequence[AnswerChange]) -> Iterator[Finding]:
    """The other queries that are not simply the same."""
    for word in WORDS:
        for change in _of(changes, word) if word not in GRAVE else ():
            if word != "same" or change.detail:
                yield Finding(text=sentence(comparison, change), tone=TONES.get(word, ""))


def summary(changes: Sequence[AnswerChange]) -> str:
    """`of 40 queries: 1 fails, 1 different, 38 same`."""
    counted = Counter(change.word for change in changes)
    words = ", ".join(f"{counted[word]} {word}" for word in WORDS if counted[word])
    return (
        f"Of {number.queries(len(changes))}: {words}. Each was asked on both before anything was "
        "timed; answers are compared by hashes, and none is kept."
    )


def _of(changes: Sequence[AnswerChange], word: AnswerWord) -> list[AnswerChange]:
    return [change for change in changes if change.word == word]


def sentence(comparison: Comparison, change: AnswerChange) -> str:
    """`select-f-3f9c02ab answers differently on pg18: 12 rows for 10 (in 2 of 5 calls)`."""
    said = SAID[change.word].format(arm=change.place.arm, base=comparison.base)
    some = change.tuples < change.of or change.word in LATE
    often = f" (in {change.tuples} of {change.of} calls)" if some else ""
    detail = f": {change.detail}" if change.detail else ""
    return f"{number.unbroken(change.place.query)} {said}{detail}{often}"


SECTION = Section("page", lambda subject: parts(subject.comparison))
