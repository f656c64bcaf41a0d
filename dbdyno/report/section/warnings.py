"""Problems of the whole result: missing blocks, inequalities between arms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from dbdyno.model import Comparison
from dbdyno.model.comparison import PLACES_MAX
from dbdyno.parts import number
from dbdyno.parts.part import Callout, Finding, Section, Subject
from dbdyno.report.section.headline import step_name

BRIEF_MAX = 3
"""So many warnings stand on the first screen; the others are counted."""
DETAIL_LENGTH_MAX = 60
"""So long a detail stands on the first screen as it is."""
BLOCK = re.compile(r"\bblock (\d+)")
REST = re.compile(r"\band (\d+) more blocks?\b")
PROCESS_ID = re.compile(r" \(process \d+\)")


def words(comparison: Comparison) -> tuple[str, ...]:
    """Blocks that are missing or void, the analysis's warnings, and what was not alike."""
    unfinished = [f"Not finished: {comparison.incomplete}."] if comparison.incomplete else []
    void = [f"Void, kept and not judged: {reason}" for reason in comparison.void_blocks]
    lines = (*unfinished, *void, *comparison.warnings, *_uneven(comparison))
    return tuple(dict.fromkeys(PROCESS_ID.sub("", line) for line in lines))


def brief(lines: Sequence[str], blocks: int) -> Iterable[str]:
    """The first subjects, each with the blocks that it is of: foreign load in 4 of 4 blocks."""
    subjects: dict[str, list[str]] = {}
    for line in lines:
        subject, _, detail = line.partition(": ")
        subjects.setdefault(subject, []).append(detail)
    for subject, details in list(subjects.items())[:BRIEF_MAX]:
        numbers = {place for detail in details for place in BLOCK.findall(detail)}
        count = len(numbers) + sum(int(rest) for detail in details for rest in REST.findall(detail))
        if count < 2 and len(details) == 1 and len(details[0]) <= DETAIL_LENGTH_MAX:
            yield f"{subject}: {details[0]}".removesuffix(": ")
        elif numbers and blocks:
            yield f"{subject.partition('; ')[0]} in {count} of {number.blocks(blocks)}"
        elif len(details) > 1:
            yield f"{subject}: {details[0].partition('; ')[0]}; and {len(details) - 1} more"
        else:
            yield f"{subject}: {details[0].partition('; ')[0]}"
    if (more := len(subjects) - BRIEF_MAX) > 0:
        yield f"and {more} more"


def _uneven(comparison: Comparison) -> Iterable[str]:
    """The inequalities between arms in some steps, one line for each subject."""
    places: dict[str, list[str]] = {}
    for step in comparison.steps:
        for notice in step.notices:
            subject, _, details = notice.partition(": ")
            place = f"{step_name(comparison, step)} {details}"
            places.setdefault(subject, []).append(place)
    for subject, its in places.items():
        more = len(its) - PLACES_MAX
        yield f"{subject}: {'; '.join(its[:PLACES_MAX])}{f'; and {more} more' if more > 0 else ''}"


def _parts(subject: Subject) -> Iterable[Callout]:
    lines = words(subject.comparison)
    if lines:
        yield Callout(
            name="warnings",
            title="Warnings",
            items=tuple(Finding(text=line) for line in lines),
            depth="answer",
            brief=tuple(brief(lines, subject.comparison.blocks)),
        )


SECTION = Section("page", _parts)
