"""From a comparison to the page that all formats show. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dbdyno.findings.answers import show as answers
from dbdyno.findings.application import show as application
from dbdyno.findings.device import show as device
from dbdyno.findings.differences import show as differences
from dbdyno.findings.fairness import show as fairness
from dbdyno.findings.fragmentation import show as fragmentation
from dbdyno.findings.groups import show as groups
from dbdyno.findings.highest_rate import show as highest_rate
from dbdyno.findings.measured_on import show as measured_on
from dbdyno.findings.measured_steps import show as steps_section
from dbdyno.findings.metrics import show as metrics
from dbdyno.findings.network import show as network
from dbdyno.findings.outcomes import show as outcomes
from dbdyno.findings.own_query import show as own_query
from dbdyno.findings.owners import show as owners
from dbdyno.findings.placement import show as placement
from dbdyno.findings.profiles import show as profiles
from dbdyno.findings.query_plans import show as query_plans
from dbdyno.findings.repeat import show as repeat
from dbdyno.findings.response_times import show as response_times
from dbdyno.findings.scaling import show as scaling
from dbdyno.findings.setup import show as setup
from dbdyno.findings.state import show as state
from dbdyno.findings.statements import show as statements
from dbdyno.findings.summary import show as summary
from dbdyno.findings.suspects import show as suspects
from dbdyno.findings.sweeps import show as sweeps
from dbdyno.findings.targets import show as targets
from dbdyno.findings.throughput import show as throughput
from dbdyno.findings.told import show as told
from dbdyno.findings.unseen import show as unseen
from dbdyno.findings.verdicts import show as verdicts
from dbdyno.findings.waits import show as waits
from dbdyno.findings.why import show as why
from dbdyno.model import Comparison, StepComparison
from dbdyno.parts.colors import Scheme
from dbdyno.parts.part import AnyPart, Group, Page, Section, Subject, anchored, flat
from dbdyno.report.section import (
    answer,
    attribution,
    calibration,
    fill_noise,
    headline,
    nodes,
    notices,
    over_time,
    queries,
    warnings,
    work,
)

__all__ = ["Page", "make"]

WORKLOAD: tuple[Section, ...] = (
    verdicts.SECTION,
    steps_section.SECTION,
    summary.SECTION,
    profiles.OVERVIEW,
    groups.SECTION,
    fragmentation.SECTION,
    sweeps.SECTION,
    highest_rate.SECTION,
    scaling.SECTION,
)
"""Sections about the steps of a workload together, in reading order."""

STEP: tuple[Section, ...] = (
    notices.SECTION,
    throughput.SECTION,
    placement.SECTION,
    why.SECTION,
    told.SECTION,
    outcomes.SECTION,
    statements.SECTION,
    targets.SECTION,
    metrics.SECTION,
    device.SECTION,
    response_times.SECTION,
    over_time.SECTION,
    waits.SECTION,
    owners.SECTION,
    profiles.SECTION,
    suspects.SECTION,
    fairness.SECTION,
    state.SECTION,
)
"""Sections about each step, in reading order."""


def _made(sections: Iterable[Section], subject: Subject) -> tuple[AnyPart, ...]:
    """The parts that the sections yield for a subject, in order."""
    return tuple(part for section in sections for part in section.make(subject))


def _workloads(whole: Subject) -> Iterable[Group]:
    """Each workload of the comparison, with its steps."""
    by_name: dict[str, list[StepComparison]] = {}
    for step in whole.steps:
        by_name.setdefault(step.workload, []).append(step)
    for name, steps in by_name.items():
        group = _workload(replace(whole, steps=tuple(steps), anchor=anchored(name)), name)
        if any(True for _ in flat(group.parts)):
            yield group


def _workload(subject: Subject, title: str) -> Group:
    """The sections about its steps together, then each step worth showing."""
    overview = Group(
        name=subject.overview,
        title="",
        parts=_made(WORKLOAD, subject),
        depth="brief",
        entry="",
    )
    shown = [
        step
        for step in subject.steps
        if step.measured or any(run.ending.status != "ok" for run in step.runs)
    ]
    names = own_query.names(subject.comparison, title)
    queries = [_step(subject, step) for step in shown if step.step in names]
    together = Group(
        name=f"{subject.anchor}-queries", title="", parts=tuple(queries), entry="Each query"
    )
    return Group(
        name=subject.anchor,
        title=title,
        parts=(
            overview,
            *(_step(subject, step) for step in shown if step.step not in names),
            *((together,) if queries else ()),
        ),
        depth="brief",
        of="workload",
    )


def _step(workload: Subject, step: StepComparison) -> Group:
    """A step with the parts of each section of `STEP`; folded where its steps are in groups."""
    anchor = f"{workload.anchor}-{step.ordinal:02}-{anchored(step.step)}"
    subject = replace(workload, steps=(step,), anchor=anchor)
    return Group(
        name=subject.anchor,
        title=step.step,
        parts=_made(STEP, subject),
        depth="detail" if step.group else "report",
        of="step",
        subtitle=steps_section.subtitle(step),
    )


PAGE: tuple[Section, ...] = (
    attribution.SECTION,
    application.SECTION,
    answer.SECTION,
    warnings.SECTION,
    queries.SECTION,
    answers.SECTION,
    query_plans.SECTION,
    headline.SECTION,
    unseen.SECTION,
    setup.SECTION,
    differences.SECTION,
    Section("page", _workloads),
    work.SECTION,
    nodes.SECTION,
    calibration.SECTION,
    fill_noise.SECTION,
    network.SECTION,
    measured_on.SECTION,
    repeat.SECTION,
)
"""Sections about the whole result, in reading order."""


def make(comparison: Comparison, scheme: Scheme = "words") -> Page:
    """The page of a comparison: strings that are final, in the order in which they are read.

    `scheme`: by what throughput is coloured.
    """
    subject = Subject(comparison=comparison, steps=comparison.steps, anchor="", colors=scheme)
    return Page(
        title=comparison.title,
        label=comparison.label or "",
        dyno=repeat.version(comparison.plan),
        base=comparison.base,
        arms=comparison.arms,
        parts=_made(PAGE, subject),
    )
