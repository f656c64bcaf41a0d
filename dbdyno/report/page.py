"""From a comparison to the page that all formats show. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dbdyno.model import Comparison, StepComparison
from dbdyno.report.colors import Thresholds
from dbdyno.report.parts import Group, Page, Section, Subject, Workload
from dbdyno.report.section import (
    calibration,
    cost_by_owner,
    differences,
    fairness,
    fragmentation,
    groups,
    headline,
    measured_on,
    metrics,
    notices,
    over_time,
    repeat,
    response_times,
    scaling,
    setup,
    state,
    statements,
    summary,
    targets,
    throughput,
    time_ledger,
    verdicts,
    warnings,
    why,
)
from dbdyno.report.section import steps as steps_section

__all__ = ["Page", "make"]

OPENING: tuple[Section, ...] = (
    headline.SECTION,
    warnings.SECTION,
    setup.SECTION,
    differences.SECTION,
)
"""What is said of the whole before its workloads, in reading order."""

CLOSING: tuple[Section, ...] = (calibration.SECTION, measured_on.SECTION, repeat.SECTION)
"""What is said of the whole after its workloads, in reading order."""

WORKLOAD: tuple[Section, ...] = (
    verdicts.SECTION,
    steps_section.SECTION,
    summary.SECTION,
    groups.SECTION,
    fragmentation.SECTION,
    scaling.SECTION,
)
"""What is said of a workload's steps beside each other, in reading order."""

STEP: tuple[Section, ...] = (
    notices.SECTION,
    throughput.SECTION,
    why.SECTION,
    statements.SECTION,
    targets.SECTION,
    metrics.SECTION,
    response_times.SECTION,
    over_time.SECTION,
    time_ledger.SECTION,
    cost_by_owner.SECTION,
    fairness.SECTION,
    state.SECTION,
)
"""What is said of each step, in reading order."""


def make(comparison: Comparison, thresholds: Thresholds | None = None) -> Page:
    """The page of a comparison: strings that are final, in the order in which they are read.

    `thresholds`: the colours of relative throughput; None: those published for each table.
    """
    subject = Subject(comparison=comparison, steps=comparison.steps, anchor="", colors=thresholds)
    return Page(
        title=comparison.title,
        label=comparison.label or "",
        dyno=repeat.version(comparison.plan),
        base=comparison.base,
        arms=comparison.arms,
        opening=tuple(part for section in OPENING for part in section.make(subject)),
        workloads=tuple(_workloads(comparison, thresholds)),
        closing=tuple(part for section in CLOSING for part in section.make(subject)),
    )


def _workloads(comparison: Comparison, thresholds: Thresholds | None) -> Iterable[Workload]:
    by_name: dict[str, list[StepComparison]] = {}
    for step in comparison.steps:
        by_name.setdefault(step.workload, []).append(step)
    return (_workload(comparison, name, thresholds, its) for name, its in by_name.items())


def _workload(
    comparison: Comparison,
    name: str,
    thresholds: Thresholds | None,
    steps: Sequence[StepComparison],
) -> Workload:
    prefix = "".join(c if c.isalnum() else "-" for c in name)
    subject = Subject(comparison=comparison, steps=tuple(steps), anchor=prefix, colors=thresholds)
    return Workload(
        name=prefix,
        title=name,
        overview=Group(
            name=subject.overview,
            title="",
            parts=tuple(part for section in WORKLOAD for part in section.make(subject)),
            level="brief",
            entry="",
        ),
        sections=tuple(
            _step(comparison, step, prefix, thresholds) for step in steps if _worth_showing(step)
        ),
    )


def _worth_showing(step: StepComparison) -> bool:
    """Whether it is measured, or did not end well."""
    runs = [run for result in step.cells for run in result.runs]
    return any(run.measured or run.status != "ok" for run in runs)


def _step(
    comparison: Comparison, step: StepComparison, prefix: str, colors: Thresholds | None
) -> Group:
    """A step with the parts of each section of `STEP`; folded where its steps are in groups."""
    name = f"{prefix}-{step.ordinal:02}-{''.join(c if c.isalnum() else '-' for c in step.step)}"
    subject = Subject(comparison=comparison, steps=(step,), anchor=name, colors=colors)
    return Group(
        name=name,
        title=step.step,
        parts=tuple(part for section in STEP for part in section.make(subject)),
        level="detail" if step.group else "report",
        of="step",
        subtitle=steps_section.subtitle(step),
    )
