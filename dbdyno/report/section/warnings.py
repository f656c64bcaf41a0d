"""Problems of the whole result: missing blocks, inequalities between arms."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.model import Comparison
from dbdyno.model.comparison import PLACES_MAX
from dbdyno.report.parts import Callout, Finding, Section, Subject
from dbdyno.report.section.headline import step_name


def words(comparison: Comparison) -> tuple[str, ...]:
    """Blocks that are missing or void, the analysis's warnings, and what was not alike."""
    unfinished = [f"Not finished: {comparison.incomplete}."] if comparison.incomplete else []
    void = [f"Void, kept and not judged: {reason}" for reason in comparison.void_blocks]
    return (*unfinished, *void, *comparison.warnings, *_uneven(comparison))


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
    items = tuple(Finding(text=text) for text in words(subject.comparison))
    if items:
        yield Callout(name="warnings", title="Warnings", items=items, depth="brief")


SECTION = Section("page", _parts)
