"""Exact means and standard deviations of times: of sums that the load tells, not of histograms."""

import math
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace

from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.raw_files import OperationSums
from dbdyno.model import ResponseTimes


@dataclass(frozen=True, kw_only=True)
class Moments:
    """The mean and the population's standard deviation of some times, in microseconds."""

    mean_us: float
    sd_us: float


def of_roles(
    evidence: Evidence, roles: Iterable[str], times: str, named: Container[str] = ()
) -> Moments | None:
    """Of what these roles did, each operation once: of `response`, `service` or `late` times.

    Of `named` operations alone where there are such.

    None where nothing ended, or where an older result or a program does not tell sums.
    """
    timed, wanted = named or evidence.job.timed_operations(), set(roles)
    return _moments(
        times,
        (
            part
            for (role, name), part in evidence.load.sums.items()
            if role in wanted and (not timed or name in timed)
        ),
    )


def of_operation(evidence: Evidence, operation: str, times: str) -> Moments | None:
    """The same of an operation of all roles together: a transaction, or a statement of one."""
    sums = evidence.load.sums.items()
    return _moments(times, (part for (_, name), part in sums if name == operation))


def with_moments(times: ResponseTimes, moments: Moments | None) -> ResponseTimes:
    """The times with their mean and standard deviation, where these are known."""
    if moments is None:
        return times
    return replace(times, mean_us=moments.mean_us, sd_us=moments.sd_us)


def _moments(times: str, parts: Iterable[OperationSums | None]) -> Moments | None:
    """sqrt(sum of squares / n - mean^2), as pgbench has it (spec pgbench-cbc-ybio.md 1.9)."""
    every = list(parts)
    known = [(part.count, *part.by_times[times]) for part in every if part is not None]
    if not known or len(known) < len(every):
        return None
    count, total, squares = (math.fsum(column) for column in zip(*known, strict=True))
    mean_us = total / count
    return Moments(mean_us=mean_us, sd_us=math.sqrt(max(0.0, squares / count - mean_us**2)))
