"""The functions whose cost surely changed, of all steps of a workload: in brief."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.parts.part import Finding, Section, Subject, Text
from dbdyno.report.section.functions import changed


def _parts(subject: Subject) -> Iterable[Text]:
    """A sentence for each arm and step; nothing where no function is told from chance."""
    told = (
        (step, words)
        for step in subject.steps
        for compared in step.profiles
        if (words := changed(step, compared))
    )
    items = tuple(Finding(text=f"{step.step}, {words}") for step, words in told)
    if items:
        yield Text(
            name=f"{subject.overview}-functions",
            title="Functions whose CPU changed",
            items=items,
            depth="brief",
        )


SECTION = Section("workload", _parts)
