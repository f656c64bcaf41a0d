"""Doubts: all of them, of which the first screen names the heaviest, and those of a step."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from dbdyno.model import Comparison
from dbdyno.model.doubt import DoubtGroup
from dbdyno.model.grouping import grouped
from dbdyno.parts import number
from dbdyno.parts.number import listed, of_blocks
from dbdyno.parts.part import Callout, Finding, Section, Subject

BRIEF_MAX = 3
"""So many subjects stand on the first screen; the others are counted."""
WORDS_LENGTH_MAX = 60
"""So long are words that stand behind a subject's count."""


def parts(comparison: Comparison) -> Iterator[Callout]:
    """Every subject with the blocks of which it is true; steps have their own doubts in full."""
    by_subject = groupby(comparison.doubts, lambda group: group.subject)
    subjects = [list(alike) for _, alike in by_subject]
    if subjects:
        more = len(subjects) - BRIEF_MAX
        brief = [counted(alike, comparison.blocks) for alike in subjects[:BRIEF_MAX]]
        texts = (text for alike in subjects for text in full(alike, comparison))
        yield Callout(
            name="doubts",
            title="Doubts",
            items=Finding.each(texts),
            depth="answer",
            brief=(*brief, *([f"and {more} more"] if more > 0 else [])),
        )


def counted(alike: Sequence[DoubtGroup], blocks: int) -> str:
    """`foreign load: pg17 and pg18 in 4 of 6 blocks`; with words that are short and alone.

    Why something is withheld is said in any case, and whatever is of the whole.
    """
    subject, items = alike[0].subject, [item for group in alike for item in group.items]
    where, first = _where(alike, blocks), items[0].words
    alone = len(items) == 1 and len(first) <= WORDS_LENGTH_MAX
    more = f"; and {len(items) - 1} more" if len(items) > 1 else ""
    if not where:
        return f"{subject}: {_who(alike[0].arm, ())}{first}{more}"
    words = f": {first}{more}" if alone or subject.grade == "withheld" else ""
    return f"{subject}{' ' if where.startswith('in ') else ': '}{where}{words}"


def _where(alike: Sequence[DoubtGroup], blocks: int) -> str:
    """The blocks of each arm: counted, or named where they are void. Empty: it is of the whole."""
    if alike[0].subject.grade == "void":
        return of_blocks([block for group in alike for block in group.blocks])
    arms = grouped((group.blocks, group.arm or "") for group in alike if group.blocks)
    each = [f"{listed(filter(None, names))} in {len(of)}".strip() for of, names in arms.items()]
    return f"{', '.join(each)} of {number.blocks(blocks)}" if each else ""


def full(alike: Sequence[DoubtGroup], comparison: Comparison) -> Iterator[str]:
    """The count with the steps, which have the words; whatever is of no step in its words."""
    subject = alike[0].subject
    places = [(group, item) for group in alike for item in group.items]
    steps = [
        comparison.name_of(step)
        for step in comparison.steps
        if any(group.of_step(step.workload, step.ordinal) for group in alike)
    ]
    if steps:
        yield f"{counted(alike, comparison.blocks)}; in {', '.join(steps)}"
    for group, item in places:
        if not item.step:
            yield f"{subject}: {_who(group.arm, item.blocks)}{item.words}"


def of_step(subject: Subject) -> Iterable[Callout]:
    """A step's doubts, those of several blocks once."""
    step = subject.step
    texts = [
        f"{_who(group.arm, item.blocks)}{group.subject}: {item.words}"
        for group in subject.comparison.doubts
        for item in group.of_step(step.workload, step.ordinal)
    ]
    if texts:
        yield Callout(name=f"{subject.anchor}-doubts", title="", items=Finding.each(texts))


def _who(arm: str | None, blocks: Sequence[int]) -> str:
    """`pg18, blocks 1, 2: `"""
    words = ", ".join(filter(None, (arm, of_blocks(blocks))))
    return f"{words}: " if words else ""


SECTION = Section("page", lambda subject: parts(subject.comparison))
OF_STEP = Section("step", of_step)
