"""From a comparison to the page that all formats show. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from dbdyno.findings import shown
from dbdyno.findings.application import own_query as own_query
from dbdyno.findings.measured_steps import show as measured_steps
from dbdyno.findings.repeat import show as repeat
from dbdyno.model import Comparison, StepComparison
from dbdyno.model.grouping import grouped
from dbdyno.parts.colors import Scheme
from dbdyno.parts.part import AnyPart, Group, Page, Section, Subject, anchored, flat

__all__ = ["Page", "make"]


def _made(sections: Iterable[Section], subject: Subject) -> tuple[AnyPart, ...]:
    """The parts that the sections yield for a subject, in order."""
    return tuple(part for section in sections for part in section.make(subject))


def _workloads(whole: Subject) -> Iterable[Group]:
    """Each workload of the comparison, with its steps."""
    for name, steps in grouped((step.workload, step) for step in whole.steps).items():
        group = _workload(replace(whole, steps=tuple(steps), anchor=anchored(name)), name)
        if any(True for _ in flat(group.parts)):
            yield group


def _workload(subject: Subject, title: str) -> Group:
    """The sections about its steps together, then each step that is measured or doubted."""
    overview = Group(
        name=subject.overview,
        parts=_made(shown.WORKLOAD, subject),
        depth="brief",
        entry="",
    )
    doubts = subject.comparison.doubts
    steps = [
        step
        for step in subject.steps
        if step.measured or any(group.of_step(step.workload, step.ordinal) for group in doubts)
    ]
    names = own_query.names(subject.comparison, title)
    queries = [_step(subject, step) for step in steps if step.step in names]
    together = Group(name=f"{subject.anchor}-queries", parts=tuple(queries), entry="Each query")
    return Group(
        name=subject.anchor,
        title=title,
        parts=(
            overview,
            *(_step(subject, step) for step in steps if step.step not in names),
            *((together,) if queries else ()),
        ),
        depth="brief",
        of="workload",
    )


def _step(workload: Subject, step: StepComparison) -> Group:
    """A step with the parts of each section about it; folded where its steps are in groups."""
    anchor = f"{workload.anchor}-{step.ordinal:02}-{anchored(step.step)}"
    subject = replace(workload, steps=(step,), anchor=anchor)
    return Group(
        name=subject.anchor,
        title=step.step,
        parts=_made(shown.STEP, subject),
        depth="detail" if step.group else "report",
        of="step",
        subtitle=measured_steps.subtitle(step),
    )


PAGE = (*shown.BEFORE_STEPS, Section("page", _workloads), *shown.AFTER_STEPS)
"""Sections about the whole result, in reading order."""


def make(comparison: Comparison, scheme: Scheme = "words") -> Page:
    """The page of a comparison: strings that are final, in the order in which they are read.

    `scheme`: by what throughput is coloured.
    """
    subject = Subject(comparison=comparison, steps=comparison.steps, anchor="", colors=scheme)
    return Page(
        folder=comparison.folder,
        title=comparison.title,
        label=comparison.label or "",
        dyno=repeat.version(comparison.plan),
        base=comparison.base,
        arms=comparison.arms,
        parts=_made(PAGE, subject),
    )
