"""When a farm raises an alarm: one error budget over all its steps, metrics, branches and nights.

Per head and series two tests are made (`farm.evidence`), each of which has an expected evidence of
at most 1 where nothing changed; the level's grows by 1 with each head. An alarm is raised from a
limit on, and the series begins anew. So N heads of S series raise 2 · N · S / limit false alarms at
most, whatever the series have in common (Shin, Ramdas and Rinaldo, E-detectors, New England Journal
of Statistics in Data Science 2, 2024). Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from dbdyno.farm.chain import Against, Alarm, Budget, HeadSeries, Instrument, LogRatio, Reading
from dbdyno.farm.evidence import Detector, Flags, SeriesChange, SeriesEvidence, SeriesRatios

KNOWN = 10_000.0
"""Degrees of freedom of a variance that is widened already."""
SUSPECT_MIN = 30.0
"""Less evidence is no suspect, however few series share the budget."""
TESTS = 2
"""Of a series at each head."""
LAYOUT: Mapping[Instrument, float] = {"work": 0.0003, "time": 0.007}
"""By how much builds of equal code are expected to differ, before heads have shown it: in time by
their layout (docs/bisect.md), in counts by what a commit moves by the way."""


@dataclass(frozen=True, kw_only=True)
class EvidenceLimits:
    """From which evidence on an alarm is raised, as logarithms."""

    suspect: float
    sure: float


def limits(series: int, budget: Budget) -> EvidenceLimits:
    """The limits by which so many series keep to the budget."""
    tests = max(1.0, TESTS * series * budget.heads_a_quarter)
    return EvidenceLimits(
        suspect=math.log(max(SUSPECT_MIN, tests / budget.suspects_a_quarter)),
        sure=math.log(max(1.0, tests / budget.false_reports_a_quarter)),
    )


def detector(series: Sequence[HeadSeries], heads_max: int, limit: EvidenceLimits) -> Detector:
    """A detector of these series."""
    layouts = np.array([LAYOUT[of.instrument] for of in series])
    return Detector(layouts, heads_max, tail=math.exp(-limit.sure) / 2)


def above(evidence: SeriesEvidence, limit: float) -> Flags:
    """Which series have an alarm."""
    raised: Flags = np.maximum(evidence.step, evidence.level) >= limit
    return raised


def sure_at_once(series: Sequence[HeadSeries]) -> Flags:
    """Which series can be sure by the first reading of a head.

    Time cannot: whatever disturbs one plan, or the layout of one build, is no news of the code.
    """
    return np.array([of.instrument == "work" for of in series], dtype=bool)


def judge(readings: Sequence[Reading], budget: Budget) -> list[Alarm]:
    """The sure alarms of all heads, and the suspects of each branch's last head.

    `readings`: all of the farm, each branch's in the order of its heads, from the first night on. A
    series begins anew after a sure alarm. A suspect that its repetitions do not bear out is none
    any more.
    """
    limit = limits(len({reading.series for reading in readings}), budget)
    ordered = sorted(readings, key=_branch)
    by_branch = groupby(ordered, key=_branch)
    return [alarm for _, own in by_branch for alarm in _judged(tuple(own), limit)]


def _branch(reading: Reading) -> str:
    return reading.series.branch


def _judged(readings: Sequence[Reading], limit: EvidenceLimits) -> Iterator[Alarm]:
    """The alarms of one branch, the strongest of a head first."""
    series = sorted({reading.series for reading in readings})
    heads = [tuple(own) for _, own in groupby(readings, key=lambda reading: reading.head)]
    followed = detector(series, len(heads), limit)
    reported: list[_SuspectSeries] = []
    for place, own in enumerate(heads):
        evidence, sure = _followed(followed, own, series, limit)
        shown = sure
        if place == len(heads) - 1:
            shown = sure | above(evidence, limit.suspect)
        strength = np.maximum(evidence.step, evidence.level)
        for row in sorted(np.flatnonzero(shown).tolist(), key=lambda row: -strength[row]):
            raised = _raised(followed, evidence, limit, series[row], row)
            known = any(raised.is_known_by(earlier) for earlier in reported)
            yield raised.alarm(heads, limit, sure=bool(sure[row]), known=known)
            if sure[row]:
                reported.append(raised)
        followed.begin_anew(sure)


def _followed(
    followed: Detector, own: Sequence[Reading], series: Sequence[HeadSeries], limit: EvidenceLimits
) -> tuple[SeriesEvidence, Flags]:
    """The evidence after all readings of a head, and whether any of them made a series sure."""
    first, *again = (
        [reading for reading in own if reading.repetition == number]
        for number in sorted({reading.repetition for reading in own})
    )
    evidence = _said(followed.head(*_sides(first, series)), first, series)
    sure = above(evidence, limit.sure) & sure_at_once(series)
    for plan in again:
        evidence = _said(followed.repetition(*_sides(plan, series)), plan, series)
        repeated = {reading.series for reading in plan}
        measured = np.array([of in repeated for of in series])
        sure = sure | (above(evidence, limit.sure) & measured)
    return evidence, sure


def borne_out(evidence: SeriesEvidence, step: Flags, level: Flags) -> SeriesEvidence:
    """The evidence of those series whose ratio to the previous head, or the pinned, may be news."""
    return SeriesEvidence(
        step=np.where(step, evidence.step, -np.inf), level=np.where(level, evidence.level, -np.inf)
    )


def _said(
    evidence: SeriesEvidence, plan: Sequence[Reading], series: Sequence[HeadSeries]
) -> SeriesEvidence:
    """The evidence where the rule of counts says more or less work, too."""
    return borne_out(evidence, _news(plan, series, "previous"), _news(plan, series, "pinned"))


def _news(plan: Sequence[Reading], series: Sequence[HeadSeries], against: Against) -> Flags:
    ratios = {reading.series: reading.against(against) for reading in plan}
    given = [ratios.get(of) for of in series]
    return np.array([ratio is None or ratio.may_be_news for ratio in given])


def _sides(
    plan: Sequence[Reading], series: Sequence[HeadSeries]
) -> tuple[SeriesRatios, SeriesRatios]:
    """The readings of one plan, a row for each series: beside the previous head, and the pinned."""
    known = {reading.series: reading for reading in plan}
    readings = [known.get(of) for of in series]
    return (
        _ratios([None if each is None else each.against("previous") for each in readings]),
        _ratios([None if each is None else each.against("pinned") for each in readings]),
    )


def _ratios(ratios: Sequence[LogRatio | None]) -> SeriesRatios:
    missing = LogRatio(value=math.nan, standard_error=0.0, degrees=1.0)
    given = [missing if ratio is None else ratio for ratio in ratios]
    return SeriesRatios(
        values=np.array([ratio.value for ratio in given]),
        standard_errors=np.array([ratio.standard_error for ratio in given]),
        degrees=np.array([ratio.degrees for ratio in given]),
    )


@dataclass(frozen=True, kw_only=True)
class _SuspectSeries:
    """A series whose evidence is beyond a limit, and what shows its change most."""

    series: HeadSeries
    against: Against
    change: SeriesChange
    evidence: float

    def is_known_by(self, earlier: _SuspectSeries) -> bool:
        """Whether an earlier one tells of the same step that it changed at the same heads."""
        return (
            self.series.step == earlier.series.step
            and self.change.earliest <= earlier.change.latest
            and earlier.change.earliest <= self.change.latest
        )

    def alarm(
        self, heads: Sequence[Sequence[Reading]], limit: EvidenceLimits, *, sure: bool, known: bool
    ) -> Alarm:
        """What is said of it; `heads`: the readings of each."""
        change = self.change
        good = heads[change.earliest][0]
        return Alarm(
            series=self.series,
            head=heads[change.seen][0].head,
            first=heads[change.latest][0].head,
            good=good.previous or good.head,
            seen_against=self.against,
            change=LogRatio(
                value=change.value, standard_error=math.sqrt(change.variance), degrees=KNOWN
            ),
            log_evidence=self.evidence,
            log_limit=limit.sure,
            sure=sure,
            known=known,
        )


def _raised(
    followed: Detector,
    evidence: SeriesEvidence,
    limit: EvidenceLimits,
    series: HeadSeries,
    row: int,
) -> _SuspectSeries:
    """A change that is sure by the previous head alone is told by it: it began at this head."""
    step, level = (float(of[row]) for of in (evidence.step, evidence.level))
    against: Against = "previous" if step >= min(level, limit.sure) else "pinned"
    return _SuspectSeries(
        series=series,
        against=against,
        change=followed.change(row, against),
        evidence=max(step, level),
    )
