"""Weighs drawn values so that a call finds as many rows as it did at the source, or says why not.

A query whose values cannot be weighed so is no query of the application: what it would cost says
nothing about production.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.stats import tilted

ROWS_TIMES_MAX = 2.0
"""Rows of a call differ by less, or the values are not like the source's."""
TIME_TIMES_MAX = 10.0
"""The mean time differs by less: hosts, caches and load differ, too."""
TIME_APART_S = 0.005
"""Times that are so close are alike by any factor."""
FEW_ROWS = 0.01
WEIGHT = 1000
"""The sum of all weights, about."""


@dataclass(frozen=True, kw_only=True)
class TupleTrial:
    """What a call with one tuple has found in the lab."""

    values: tuple[str, ...]  # as JSON
    rows: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class CallFit:
    """Tuples with their weights, and the rows and the time of a call by them."""

    samples: tuple[tuple[tuple[str, ...], int], ...]
    rows: float
    seconds: float  # of the median call: a mean is one call's that something else delayed
    problem: str = ""  # why they are not like the source's; empty: they are

    @property
    def words(self) -> str:
        """What a call finds and takes, for a person."""
        return f"{self.rows:.3g} rows and {1e3 * self.seconds:.3g} ms a call"


def fit(tried: Sequence[TupleTrial], rows: float | None, seconds: float) -> CallFit:
    """The weights by which a call finds as many rows as at the source; else takes its time.

    `rows`, `seconds`: of a call at the source; None or 0: not known. There is something tried.
    """
    counts = [float(each.rows) for each in tried]
    if rows is not None and min(counts) < max(counts):
        of_all = tilted.weights(counts, rows)
    elif seconds:
        of_all = tilted.weights([each.seconds for each in tried], seconds)
    else:
        of_all = [1 / len(tried)] * len(tried)
    kept = [
        (each, weight)
        for each, share in zip(tried, of_all, strict=True)
        if (weight := round(WEIGHT * share))
    ]
    whole = sum(weight for _, weight in kept)
    now_rows = sum(each.rows * weight for each, weight in kept) / whole
    now_s = _median([(each.seconds, weight) for each, weight in kept])
    return CallFit(
        samples=tuple((each.values, weight) for each, weight in kept),
        rows=now_rows,
        seconds=now_s,
        problem=_rows_problem(now_rows, rows) or _time_problem(now_s, seconds),
    )


def _median(seconds: Sequence[tuple[float, int]]) -> float:
    """The median of values with weights."""
    left = sum(weight for _, weight in seconds) / 2
    for value, weight in sorted(seconds):
        left -= weight
        if left <= 0:
            return value
    raise AssertionError("there is a value")


def _rows_problem(now: float, source: float | None) -> str:
    if source is None or max(now, source) < FEW_ROWS:
        return ""
    if min(now, source) * ROWS_TIMES_MAX >= max(now, source):
        return ""
    return f"a call finds {now:.3g} rows where the source's found {source:.3g}"


def _time_problem(now_s: float, source_s: float) -> str:
    if not source_s or abs(now_s - source_s) < TIME_APART_S:
        return ""
    if min(now_s, source_s) * TIME_TIMES_MAX >= max(now_s, source_s):
        return ""
    return f"a call takes {1e3 * now_s:.3g} ms where the source's took {1e3 * source_s:.3g} ms"
