"""Derives the response and service times of a step from the histograms of its load."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

from dbdyno.evidence import sums
from dbdyno.evidence.evidence import KINDS, Evidence
from dbdyno.findings.finding import StepFinding
from dbdyno.model import ResponseFacts, ResponseTimes
from dbdyno.model.job.role import Closed
from dbdyno.stats.response_times import Histogram, merged


class _Timed(NamedTuple):
    """A kind of work, or an operation of all roles together."""

    of: Literal["kind", "operation"]
    name: str
    response: Histogram
    service: Histogram
    moments: partial[sums.Moments | None]  # of a sort of times
    paced: bool


def of_step(evidence: Evidence) -> ResponseFacts:
    """The times of the published kinds of work and of each operation, of what was done at all."""
    done = [timed for timed in (*_kinds(evidence), *_operations(evidence)) if timed.response.count]
    return ResponseFacts(
        response=tuple(_times(timed, timed.response, "response") for timed in done),
        service=tuple(
            _times(timed, timed.service, "service") for timed in done if timed.service.count
        ),
    )


FINDING = StepFinding(facts=ResponseFacts, of_step=of_step)


def _kinds(evidence: Evidence) -> Iterable[_Timed]:
    for work in KINDS:
        roles = evidence.roles(work)
        yield _Timed(
            of="kind",
            name=work,
            response=evidence.response(roles),
            service=evidence.service(roles),
            moments=partial(sums.of_roles, evidence, roles),
            paced=not _paced(evidence).isdisjoint(roles),
        )


def _operations(evidence: Evidence) -> Iterable[_Timed]:
    for name in dict.fromkeys(name for _, name in evidence.histograms):
        response, service = (
            merged(part for (_, operation), part in histograms.items() if operation == name)
            for histograms in (evidence.histograms, evidence.services)
        )
        yield _Timed(
            of="operation",
            name=name,
            response=response,
            service=service,
            moments=partial(sums.of_operation, evidence, name),
            paced=any((role, name) in evidence.histograms for role in _paced(evidence)),
        )


def _paced(evidence: Evidence) -> set[str]:
    """The roles whose operations are due by a schedule."""
    return {role.name for role in evidence.job.roles if not isinstance(role.pace, Closed)}


def _times(timed: _Timed, histogram: Histogram, sort: str) -> ResponseTimes:
    times = sums.with_moments(histogram.times(), timed.moments(sort))
    return replace(times, of=timed.of, name=timed.name, paced=timed.paced)
