"""`dyno compare --fail-on`: the verdicts that make it end with status 1, as CI wants it.

A word counts as it stands: `slower` does not mean `slower, within the margin`. The A/A arm
never counts: what it is said to differ by is a false alarm.
"""

import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import get_args

from dbdyno.model import Cell, Comparison
from dbdyno.model.answer_word import AnswerWord
from dbdyno.model.error import DynoError
from dbdyno.model.verdict import CHANGED, Word, shaded
from dbdyno.model.work import Event, WorkComparison
from dbdyno.parts import known, number
from dbdyno.report.json_document import aa_arm

EVENTS = tuple(f"{word} {event}" for event in get_args(Event) for word in ("more", "fewer"))
WORK = ("more work", "less work", *EVENTS)
"""The verdicts on counts, which can be written `more-work`; atomics and system calls are none of
`more work`, which is of instructions."""
ANSWERS: Mapping[AnswerWord, str] = {
    "fails": "fails",
    "times out": "times out",
    "different": "differs",
    "other order": "differs",
    "other type": "differs",
}
"""The words on answers of an application's queries: on the arm alone, or beside the base's."""
UNANSWERED: frozenset[AnswerWord] = frozenset({"fails on both", "not compared"})
"""Words on answers of which nothing is known but that there is none."""
SHADES = ("slower, within the margin", "faster, within the margin")
WORDS: tuple[str, ...] = (*get_args(Word), *SHADES, *WORK, *dict.fromkeys(ANSWERS.values()))
"""The verdicts there are."""
TIMED = (*CHANGED, "same")
"""Verdicts on time that blocks decide."""
BETWEEN = re.compile(r",(?!\s*within the margin)")
"""Separates the words of a list, but not those of `slower, within the margin`."""


def parse(text: str) -> tuple[str, ...]:
    """The verdicts of a list such as `slower,failed`. Raises DynoError where one is none."""
    return tuple(_word(part) for part in BETWEEN.split(text))


def _word(text: str) -> str:
    said = ", ".join(" ".join(part.split()) for part in text.split(","))
    said = said.replace("-", " ")
    if said in WORDS:
        return said
    near = difflib.get_close_matches(said, WORDS, n=1)
    known = ", ".join(f"`{word}`" for word in WORDS)
    hint = f"did you mean `{near[0]}`?" if near else f"there are {known}"
    raise DynoError(f"--fail-on: `{said}`: no such verdict; {hint}")


def remedies(words: Iterable[str]) -> dict[Event, str]:
    """Of words on events, what to do where operations are too few to tell one more of them."""
    return {
        event: f"leave --fail-on {word.replace(' ', '-')} out"
        for word in words
        for event in get_args(Event)
        if word in EVENTS and word.endswith(event)
    }


def found(comparison: Comparison, words: Collection[str]) -> str | None:
    """Which arms have one of the words in which steps, in a line; None where none has."""
    alone = len({step.workload for step in comparison.steps}) < 2
    its: dict[str, dict[str, list[str]]] = {}
    for arm, where, word in _verdicts(comparison):
        if word in words:
            step = where[1] if alone else "/".join(where)
            its.setdefault(arm, {}).setdefault(word, []).append(step)
    lines = (f"{arm}: {_places(by_word)}" for arm, by_word in its.items())
    timed = any(word.partition(",")[0] in TIMED for by_word in its.values() for word in by_word)
    return "; ".join(lines) + (known.on_one_fill(comparison) if timed else "") or None


def _verdicts(comparison: Comparison) -> Iterator[tuple[str, tuple[str, str], str]]:
    """The verdicts of all arms but the A/A arm, on time, counts and answers: arm, step, word."""
    excepted = aa_arm(comparison)
    for step in comparison.steps:
        for cell in step.cells:
            if cell.verdict is not None and cell.arm != excepted:
                yield cell.arm, (step.workload, step.step), shaded(cell.verdict)
    for answer in comparison.queries.answers:
        if answer.place.arm != excepted:
            place = answer.place
            yield place.arm, (place.workload, place.query), ANSWERS.get(answer.word, "same")
    for change in comparison.of(WorkComparison).changes:
        word = change.word if change.word in ("open", "failed") else f"{change.word} work"
        yield change.arm, change.name, word
        for event in change.changed_events:
            yield change.arm, change.name, f"{event.word} {event.event}"


# --- Where there is nothing to be found ----------------------------------------------------------


def uncompared(comparison: Comparison, words: Collection[str] = ()) -> str | None:
    """Why no step, answer or count of any arm stands beside the base's; None where one does.

    A step that fails on the arm or the base alone is compared. `words`: where verdicts on time or
    counts alone are asked for, answers say nothing of them.
    """
    if len(comparison.arms) < 2:
        return "there is no arm beside the base; leave --fail-on out to see what there is"
    timed = any(
        cell.verdict is not None and (_ran(step.cells[0]) or _ran(cell))
        for step in comparison.steps
        for cell in step.cells[1:]
    )
    answers = comparison.queries.answers
    counts = comparison.of(WorkComparison).changes
    counted = any(change.word != "failed" or change.failed_arm == change.arm for change in counts)
    answered = any(answer.word not in UNANSWERED for answer in answers)
    if timed or counted or (answered and (not words or {*words} & {*ANSWERS.values()})):
        return None
    if answered:
        return "its queries were asked, and no step was timed: leave --fail-on out"
    return (
        comparison.incomplete
        if not comparison.blocks and comparison.incomplete
        else _why(comparison)
    )


def _ran(cell: Cell) -> bool:
    return any(run.ending.status == "ok" for run in cell.runs)


def _why(comparison: Comparison) -> str:
    """The commonest reason of what is in no comparison."""
    answers = comparison.queries.answers
    if answers:
        (detail, _), *_ = Counter(answer.detail for answer in answers).most_common(1)
        asked = len({answer.place.query for answer in answers})
        return f"of {number.queries(asked)} none is answered on both: {detail}"
    counts = comparison.of(WorkComparison).changes
    reasons = [change.reason for change in counts]
    reasons += [
        run.ending.reason
        for step in comparison.steps
        for run in step.runs
        if run.ending.status == "failed" and run.ending.reason
    ]
    return next(iter(reasons), comparison.incomplete or "no step that is done has a headline")


def _places(by_word: dict[str, list[str]]) -> str:
    return ", ".join(f"{word} in {' and '.join(steps)}" for word, steps in by_word.items())
