"""Why arms are faster or slower in a step: each one's explanation, and what it had no room for."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.model import StepComparison
from dbdyno.model.verdict import Explanation
from dbdyno.report import number
from dbdyno.report.parts import Finding, Section, Subject, Text


def findings(step: StepComparison) -> Iterable[Finding]:
    """A finding for each arm whose change was looked into, in the order of the arms."""
    for result in step.cells:
        told = result.explanation
        if told is not None:
            items = tuple(Finding(text=f"also {words}") for words in _others(told))
            yield Finding(text=number.unbroken(f"{result.arm}: {told.text}."), items=items)


def _others(told: Explanation) -> Iterable[str]:
    """The causes that the sentence does not name; it leaves out what they are counted by."""
    for cause in told.causes:
        if cause.words.partition(" per ")[0] not in told.text:
            yield cause.words


def _parts(subject: Subject) -> Iterable[Text]:
    items = tuple(findings(subject.step))
    if items:
        yield Text(name=f"{subject.anchor}-why", title="Why", items=items, look="why", entry="why")


SECTION = Section("step", _parts)
