"""All answers of an application's queries in a sentence, and those that no first screen has."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dbdyno.findings.application import own_query as own_query
from dbdyno.findings.application import show as application
from dbdyno.model import Comparison
from dbdyno.model.answer_word import WORDS, AnswerWord
from dbdyno.model.grouping import grouped
from dbdyno.model.query_change import AnswerChange
from dbdyno.parts import number
from dbdyno.parts.part import AnyPart, Finding, Section, Text

SAID: Mapping[AnswerWord, str] = {
    "fails on the base": "fails on {base} alone",
    "times out on the base": "is ended by its limit on {base} alone",
    "not determined": "answers differently, which neither its text nor the data exclude",
    "fails on both": "fails on both",
    "not compared": "is not compared",
    "same": "answers the same",
}
"""What is said of a query; the other words stand on the first screen."""


def parts(comparison: Comparison) -> Iterable[AnyPart]:
    """Of each arm a sentence, then what the first screen does not say; nothing where none asked."""
    by_arm = grouped((change.place.arm, change) for change in comparison.queries.answers)
    for place, (arm, changes) in enumerate(by_arm.items()):
        yield Text(
            name=f"answers-{place}",
            items=(
                Finding(
                    text=f"Answers of {arm} beside those of {comparison.base}",
                    items=(Finding(text=summary(changes)), *_rest(comparison, changes)),
                ),
            ),
            depth="brief",
            form="sayings",
            look="answer application",
            entry="" if place else "Answers",
        )


def _rest(comparison: Comparison, changes: Sequence[AnswerChange]) -> Iterator[Finding]:
    """The other queries that are not simply the same."""
    for word, said in SAID.items():
        for change in (each for each in changes if each.word == word):
            if word != "same" or change.detail:
                words = said.format(base=comparison.base)
                detail = f": {change.detail}" if change.detail else ""
                line = f"{words}{detail}{application.often(change)}"
                yield own_query.finding(comparison, change.place, line)


def summary(changes: Sequence[AnswerChange]) -> str:
    """`of 40 queries: 1 fails, 1 different, 38 same`."""
    counted = Counter(change.word for change in changes)
    words = ", ".join(f"{counted[word]} {word}" for word in WORDS if counted[word])
    return (
        f"Of {number.queries(len(changes))}: {words}. Each was asked on both before anything was "
        "timed; answers are compared by hashes, and none is kept."
    )


SECTION = Section("page", lambda subject: parts(subject.comparison))
