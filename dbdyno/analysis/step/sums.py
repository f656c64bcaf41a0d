"""Exact means and standard deviations of times: of sums that the load tells, not of histograms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from dbdyno.analysis.step.evidence import Evidence
from dbdyno.model import Json, ResponseTimes
from dbdyno.model.job import timed_operations


@dataclass(frozen=True, kw_only=True)
class Moments:
    """The mean and the population's standard deviation of some times, in microseconds."""

    mean_us: float
    sd_us: float


def of_roles(evidence: Evidence, roles: Iterable[str], times: str) -> Moments | None:
    """Of what these roles did, each operation once: of `response`, `service` or `late` times.

    None where nothing ended, or where an older result or a program does not tell sums.
    """
    timed = timed_operations(evidence.job)
    return _moments(evidence, roles, times, lambda name: not timed or name in timed)


def of_operation(evidence: Evidence, operation: str, times: str) -> Moments | None:
    """The same of an operation of all roles together: a transaction, or a statement of one."""
    roles = {tick.role for tick in evidence.load.ticks}
    return _moments(evidence, roles, times, operation.__eq__)


def with_moments(found: ResponseTimes, moments: Moments | None) -> ResponseTimes:
    """The times with their mean and standard deviation, where these are known."""
    if moments is None:
        return found
    return replace(found, mean_us=moments.mean_us, sd_us=moments.sd_us)


def _moments(
    evidence: Evidence, roles: Iterable[str], times: str, wanted: Callable[[str], bool]
) -> Moments | None:
    parts = [
        part
        for tick in evidence.load.of(roles)
        for name, part in tick.operations.items()
        if wanted(name) and part["count"]
    ]
    if not parts or any(part.get("sums_us") is None for part in parts):
        return None
    return _of_sums(parts, times)


def _of_sums(parts: Iterable[Json], times: str) -> Moments:
    """sqrt(sum of squares / n - mean^2), as pgbench has it (spec pgbench-cbc-ybio.md 1.9)."""
    known = [(part["count"], *part["sums_us"][times]) for part in parts]
    count = sum(one[0] for one in known)
    mean_us = math.fsum(one[1] for one in known) / count
    variance = math.fsum(one[2] for one in known) / count - mean_us**2
    return Moments(mean_us=mean_us, sd_us=math.sqrt(max(0.0, variance)))
