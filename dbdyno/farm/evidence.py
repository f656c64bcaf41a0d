"""Evidence that a series changed, for many series at once, head by head. Pure arithmetic.

Two e-values stand beside each other. The *step* compares a head with the previous one, in one
plan. The *level* compares all heads since a candidate with all before it, each by its ratio to the
pinned release, and adds up over candidates. Reasons stand in docs/farm.md.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dbdyno.farm.chain import Against

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Rows = slice | npt.NDArray[np.int64]

MARGIN = 0.003
"""A smaller change of a log ratio is no news: two fills of one server differ by half as much
(docs/counts.md)."""
SPREAD = 0.02
"""Beyond the margin, changes are expected to be of this size: the deviation of a half normal."""
LENT_MAX = 6.0
"""Degrees of freedom that earlier heads lend to the scatter between blocks: what nights tell of
each other whose deviations differ by a factor of 1.35 (Smyth 2004, as `stats.moderation`)."""
KEPT = 0.97
"""A head's scatter weighs so much less with each later head, so that some 33 are remembered."""
LAYOUT_DEGREES = 10.0
"""So many heads the expected scatter between builds weighs."""
LAYOUT_SHARE_MIN = 0.04
"""Of the expected variance between builds; less is not believed, however like heads look."""
WITHIN = 3.0
"""What is further off counts as so many deviations in the scatter between builds: it changed."""
UNLIKE = 4.0
"""Readings of one head whose squared deviations are larger than this, in units of their variances,
disagree: something disturbed one of them."""
CANDIDATES_MAX = 128
"""A change of the level is sought to begin at one of so many of the last heads."""
CREDIBLE = 0.95
"""It began at the named heads with this probability, if each was as likely before."""


@dataclass(frozen=True, kw_only=True)
class SeriesRatios:
    """Log ratios of many series in one plan; NaN where a series was not measured."""

    values: Numbers
    standard_errors: Numbers
    degrees: Numbers


@dataclass(frozen=True, kw_only=True)
class SeriesEvidence:
    """ln of the evidence that each series changed, at one head; -inf where there is none."""

    step: Numbers
    level: Numbers


@dataclass(frozen=True, kw_only=True)
class SeriesChange:
    """How large the change of a series is, and where it began: heads are numbered from 0."""

    value: float
    variance: float  # widened to the quantile of Student's distribution
    earliest: int
    latest: int
    seen: int  # the last head so far


def log_evidence(changes: Numbers, variances: Numbers, margin: float = MARGIN) -> Numbers:
    """ln of the e-value that changes are beyond the margin, in either direction.

    The mean of two: the likelihood of margin + |N(0, SPREAD²)|, up or down, over that of the
    margin. So its expectation is at most 1 for every change within the margin; as a process in the
    number of measurements it is a supermartingale. -inf where the variance is infinite.
    """
    from scipy.special import log_ndtr

    measured = np.isfinite(variances)
    variance = np.where(measured, variances, 1.0)
    whole = variance + SPREAD**2
    share = SPREAD**2 / whole
    up, down = (
        0.5 * share * reach**2 + log_ndtr(np.sqrt(share) * reach)
        for reach in (
            (sign * np.where(measured, changes, 0.0) - margin) / np.sqrt(variance)
            for sign in (1.0, -1.0)
        )
    )
    logs: Numbers = np.logaddexp(up, down) + 0.5 * np.log(variance / whole)
    return np.where(measured, logs, -np.inf)


class Detector:
    """Follows the series of a branch from head to head; each array has a row for each series."""

    def __init__(self, layouts: Numbers, heads_max: int, tail: float) -> None:
        """`layouts`: the deviation by which builds of one commit are expected to differ.

        `tail`: a probability; where a deviation is known by few degrees of freedom, it is widened
        so that Student's quantile beyond it is the normal one.
        """
        rows = len(layouts)
        self._builds = _Builds(layouts)
        self._scatters = (_Scatter(rows), _Scatter(rows))
        self._tail = tail
        self._place = -1
        self._now = (_Readings(rows), _Readings(rows))  # of the head, beside previous and pinned
        self._level = np.zeros((2, rows, heads_max))  # weights, weighted sums
        self._evidence = SeriesEvidence(step=np.full(rows, -np.inf), level=np.full(rows, -np.inf))

    def head(self, previous: SeriesRatios, pinned: SeriesRatios) -> SeriesEvidence:
        """What the first reading of the next head shows."""
        self._place += 1
        self._now = (_Readings(len(previous.values)), _Readings(len(pinned.values)))
        errors = self._read(previous, pinned)
        self._builds.learn(previous.values, errors)
        for ratios, scatter in zip((previous, pinned), self._scatters, strict=True):
            scatter.learn(ratios)
        self._evidence = self._of(slice(None))
        return self._evidence

    def repetition(self, previous: SeriesRatios, pinned: SeriesRatios) -> SeriesEvidence:
        """What the head shows after it was measured again, by builds with another layout."""
        self._read(previous, pinned)
        rows = np.flatnonzero(np.isfinite(previous.values) | np.isfinite(pinned.values))
        again, known = self._of(rows), self._evidence
        step, level = known.step.copy(), known.level.copy()
        step[rows], level[rows] = again.step, again.level
        self._evidence = SeriesEvidence(step=step, level=level)
        return self._evidence

    def begin_anew(self, rows: Flags) -> None:
        """Leaves behind what was seen of these series: their level is another one now."""
        for readings in self._now:
            readings.forget(rows)
        self._level[:, rows] = 0.0

    def change(self, row: int, against: Against) -> SeriesChange:
        """The change of a series by its evidence so far."""
        if against == "previous":
            weight, total = self._now[0].sums()[:, row]
            return SeriesChange(
                value=float(total / weight),
                variance=float(1 / weight),
                earliest=self._place,
                latest=self._place,
                seen=self._place,
            )
        changes, variances, first = self._candidates(slice(row, row + 1))
        likely = log_evidence(changes, variances)[0]
        best = int(np.argmax(likely))
        order = np.argsort(-likely)
        shares = np.exp(likely[order] - np.logaddexp.reduce(likely))
        named = order[: int(np.searchsorted(np.cumsum(shares), CREDIBLE)) + 1]
        return SeriesChange(
            value=float(changes[0, best]),
            variance=float(variances[0, best]),
            earliest=first + int(named.min()),
            latest=first + int(named.max()),
            seen=self._place,
        )

    def _read(self, previous: SeriesRatios, pinned: SeriesRatios) -> Numbers:
        """Adds a reading; returns the variance that blocks give its step."""
        builds_that_differ = (2.0, 1.0)  # the pinned release stays as it was built
        by_blocks = []
        for place, ratios in enumerate((previous, pinned)):
            errors, degrees = self._scatters[place].variances(ratios)
            layouts = builds_that_differ[place] * self._builds.variances
            variances = errors + layouts
            freedom = variances**2 / (errors**2 / degrees + layouts**2 / self._builds.degrees)
            self._now[place].add(ratios.values, 1 / (variances * _widening(freedom, self._tail)))
            by_blocks.append(errors)
        self._level[:, :, self._place] = self._now[1].sums()
        return by_blocks[0]

    def _of(self, rows: Rows) -> SeriesEvidence:
        weights, totals = self._now[0].sums()[:, rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            step = log_evidence(totals / weights, 1 / weights)
        changes, variances, _ = self._candidates(rows)
        level = np.logaddexp.reduce(log_evidence(changes, variances), axis=1)
        return SeriesEvidence(step=step, level=level)

    def _candidates(self, rows: Rows) -> tuple[Numbers, Numbers, int]:
        """By where the level changed: by how much, and its variance; and the first such place."""
        weights, totals = self._level[:, rows, : self._place + 1]
        first = max(0, self._place + 1 - CANDIDATES_MAX)
        whole = weights.sum(axis=1, keepdims=True), totals.sum(axis=1, keepdims=True)
        before = [(parts.cumsum(axis=1) - parts)[:, first:] for parts in (weights, totals)]
        since = [all_of - parts for all_of, parts in zip(whole, before, strict=True)]
        with np.errstate(divide="ignore", invalid="ignore"):
            changes = since[1] / since[0] - before[1] / before[0]
            variances = 1 / since[0] + 1 / before[0]
        measured = (weights[:, first:] > 0) & (before[0] > 0)
        return changes, np.where(measured, variances, np.inf), first


class _Readings:
    """All readings of one head, of each series."""

    def __init__(self, rows: int) -> None:
        self._sums = np.zeros((3, rows))  # of weights, weighted values, and weighted squares
        self._readings = np.zeros(rows)

    def add(self, values: Numbers, weights: Numbers) -> None:
        """Adds a reading, by the inverse of its variance; NaN: there is none."""
        measured = np.isfinite(values)
        own = np.where(measured, weights, 0.0)
        value = np.where(measured, values, 0.0)
        self._sums += np.stack((own, own * value, own * value**2))
        self._readings += measured

    def forget(self, rows: Flags) -> None:
        """Leaves the readings of these series out."""
        self._sums[:, rows] = 0.0
        self._readings[rows] = 0.0

    def sums(self) -> Numbers:
        """The weights and weighted values; lowered where readings of one head disagree.

        By the square of Birge's ratio, chi² / (n - 1), where that is beyond UNLIKE (Birge, The
        calculation of errors by the method of least squares, Physical Review 40, 1932).
        """
        weights, totals, squares = self._sums
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (squares - totals**2 / weights) / (self._readings - 1)
        scale = np.where((self._readings > 1) & (ratio > UNLIKE), ratio, 1.0)
        return self._sums[:2] / scale


class _Scatter:
    """What is known of the scatter between blocks of each series, by all heads so far."""

    def __init__(self, rows: int) -> None:
        self._squares = np.zeros(rows)
        self._degrees = np.zeros(rows)

    def variances(self, ratios: SeriesRatios) -> tuple[Numbers, Numbers]:
        """The variance of each log ratio with what earlier heads lend, and its degrees."""
        blocks = ratios.degrees + 1
        lent = np.minimum(LENT_MAX, self._degrees)
        with np.errstate(invalid="ignore", divide="ignore"):
            common = np.where(self._degrees > 0, self._squares / self._degrees, 0.0)
        own = ratios.degrees * ratios.standard_errors**2 * blocks
        degrees = lent + ratios.degrees
        return (lent * common + own) / degrees / blocks, degrees

    def learn(self, ratios: SeriesRatios) -> None:
        """Adds a head."""
        measured = np.isfinite(ratios.values)
        own = ratios.degrees * ratios.standard_errors**2 * (ratios.degrees + 1)
        self._squares = KEPT * self._squares + np.where(measured, own, 0.0)
        self._degrees = KEPT * self._degrees + np.where(measured, ratios.degrees, 0.0)


class _Builds:
    """By how much builds differ that should not, of each series: what heads scatter by beyond
    their blocks, less what is plainly a change."""

    def __init__(self, layouts: Numbers) -> None:
        self._expected = layouts**2
        self._squares = LAYOUT_DEGREES * self._expected
        self.degrees = np.full(len(layouts), LAYOUT_DEGREES)

    @property
    def variances(self) -> Numbers:
        """The variance of one build."""
        least = LAYOUT_SHARE_MIN * self._expected
        variances: Numbers = np.maximum(self._squares / self.degrees, least)
        return variances

    def learn(self, steps: Numbers, errors: Numbers) -> None:
        """Adds a head beside the previous one: two builds."""
        measured = np.isfinite(steps)
        most = WITHIN**2 * (errors + 2 * self.variances)
        squares: Numbers = (np.minimum(steps**2, most) - errors) / 2
        self._squares = self._squares + np.where(measured, squares, 0.0)
        self.degrees = self.degrees + measured


def _widening(degrees: Numbers, tail: float) -> Numbers:
    """The squared ratio of Student's quantile to the normal one, beyond which `tail` is."""
    from scipy.special import ndtri, stdtrit

    quantiles: Numbers = stdtrit(degrees, 1 - tail) / ndtri(1 - tail)
    return quantiles**2
