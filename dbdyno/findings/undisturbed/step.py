"""Derives the profiles of a step's service times from the histograms of its load."""

import math
from collections.abc import Iterable

from dbdyno.evidence.evidence import Evidence
from dbdyno.findings.finding import StepFinding
from dbdyno.model.grouping import grouped
from dbdyno.model.service_profile import ServiceProfile, ServiceProfiles
from dbdyno.stats import undisturbed
from dbdyno.stats.response_times import merged

US_PER_S = 1e6


def of_step(evidence: Evidence) -> ServiceProfiles:
    """The profile of each operation that the step's headline counts."""
    return ServiceProfiles(
        profiles=tuple(_profiles(evidence)),
        waiting=not all(role.does_what_it_can for role in evidence.job.roles),
        connections=evidence.job.connections,
        processors=_processors(evidence),
    )


FINDING = StepFinding(facts=ServiceProfiles, of_step=of_step)


def _profiles(evidence: Evidence) -> Iterable[ServiceProfile]:
    """Each operation of all of the headline's roles together."""
    wanted = evidence.headline_operations
    parts = grouped(
        (operation, histogram)
        for (role, operation), histogram in evidence.services.items()
        if role in evidence.headline_roles and (not wanted or operation in wanted)
        if histogram.count
    )
    for operation, histograms in parts.items():
        yield undisturbed.profile(operation, merged(histograms).cells)


def _processors(evidence: Evidence) -> int | None:
    """The processors of the host, by the time of all of them in the window; None elsewhere."""
    spent, seconds = evidence.host.cpu_us.values(), evidence.host.seconds
    known = [cpu_us for cpu_us in spent if cpu_us is not None]
    if evidence.remote or not known or not seconds:
        return None
    return round(math.fsum(known) / (seconds * US_PER_S)) or None
