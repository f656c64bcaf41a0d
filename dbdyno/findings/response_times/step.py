"""Derives the response and service times of a step from the histograms of its load."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dbdyno.evidence import sums
from dbdyno.evidence.evidence import KINDS, Evidence
from dbdyno.findings.finding import StepFinding
from dbdyno.model import ResponseFacts, ResponseTimes
from dbdyno.model.job.role import ClosedPace
from dbdyno.stats.response_times import Histogram, merged


def of_step(evidence: Evidence) -> ResponseFacts:
    """Both sorts of times, of what was done at all."""
    return ResponseFacts(
        response=tuple(_times(evidence, evidence.histograms, "response")),
        service=tuple(_times(evidence, evidence.services, "service")),
    )


FINDING = StepFinding(facts=ResponseFacts, of_step=of_step)


def _times(
    evidence: Evidence, histograms: Mapping[tuple[str, str], Histogram], sort: str
) -> Iterable[ResponseTimes]:
    """Of the published kinds of work, then of each operation of all roles together."""
    paced = {role.name for role in evidence.job.roles if not isinstance(role.pace, ClosedPace)}
    for work in KINDS:
        roles = evidence.roles(work)
        whole = evidence.of_roles(histograms, roles)
        if whole.count:
            times = sums.with_moments(whole.times(), sums.of_roles(evidence, roles, sort))
            yield replace(times, of="kind", name=work, paced=not paced.isdisjoint(roles))
    for name in dict.fromkeys(name for _, name in histograms):
        parts = {role: part for (role, operation), part in histograms.items() if operation == name}
        whole = merged(parts.values())
        if whole.count:
            times = sums.with_moments(whole.times(), sums.of_operation(evidence, name, sort))
            yield replace(times, of="operation", name=name, paced=not paced.isdisjoint(parts))
