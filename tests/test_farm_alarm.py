"""When a farm raises an alarm, and what the alarm says."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from msgspec import structs

from dbdyno.farm.alarm import judge, limits
from dbdyno.farm.chain import Alarm, Budget, HeadSeries, Instrument, LogRatio, Reading
from dbdyno.farm.evidence import MARGIN, log_evidence

BUDGET = Budget()
ERROR = {"work": 0.00007, "time": 0.004}
DEGREES = {"work": 40.0, "time": 7.0}


def series(
    step: str = "point-query", instrument: Instrument = "work", branch: str = "master"
) -> HeadSeries:
    metric = "instructions" if instrument == "work" else "qps"
    return HeadSeries(branch=branch, step=("sysbench", step), instrument=instrument, metric=metric)


def readings(
    of: HeadSeries, levels: Sequence[float], *, seed: int = 1, names: Sequence[str] | None = None
) -> list[Reading]:
    """A reading of each head, whose levels are log ratios to the pinned release."""
    random = np.random.default_rng(seed)
    heads = [f"c{place}" for place in range(len(levels))] if names is None else names
    made = []
    for place, level in enumerate(levels):
        own, other, pinned = random.normal(0, ERROR[of.instrument] / math.sqrt(2), 3)
        before = None if place == 0 else level - levels[place - 1] + own - other
        made.append(
            Reading(
                series=of,
                head=heads[place],
                previous=heads[place - 1] if place else None,
                taken_s=86_400.0 * place,
                against_previous=None if before is None else ratio(of, before),
                against_pinned=ratio(of, level + own - pinned),
            )
        )
    return made


def ratio(of: HeadSeries, value: float) -> LogRatio:
    return LogRatio(
        value=value, standard_error=ERROR[of.instrument], degrees=DEGREES[of.instrument]
    )


def test_counts_raise_an_alarm_only_where_their_rule_says_more_or_less() -> None:
    """However plain the ratio is: a fill of one's own, repeats that disagree."""
    of = series()
    plain = readings(of, [0.0] * 20 + [0.1] * 20)
    alarms = {}
    for word in (None, "more", "open", "same"):
        said = [structs.replace(reading, **{
            key: ratio and structs.replace(ratio, word=word)
            for key, ratio in (("against_previous", reading.against_previous),
                               ("against_pinned", reading.against_pinned))
        }) for reading in plain]  # fmt: skip
        alarms[word] = any(alarm.sure for alarm in judge(said, BUDGET))
    assert alarms == {None: True, "more": True, "open": False, "same": False}


def again(reading: Reading, change: float, number: int = 1) -> Reading:
    """A repetition of a head that differs so much from the one before and the pinned release."""
    return Reading(
        series=reading.series,
        head=reading.head,
        previous=reading.previous,
        taken_s=reading.taken_s + 3600.0 * number,
        against_previous=ratio(reading.series, change),
        against_pinned=ratio(reading.series, change),
        repetition=number,
    )


def sure(alarms: Sequence[Alarm]) -> list[Alarm]:
    return [alarm for alarm in alarms if alarm.sure]


# --- What is reported --------------------------------------------------------------------------


def test_nothing_is_said_of_a_farm_without_readings() -> None:
    assert judge([], BUDGET) == []


def test_the_first_head_alone_raises_nothing() -> None:
    assert judge(readings(series(), [0.05]), BUDGET) == []


def test_a_changed_count_is_sure_at_once_and_names_both_heads() -> None:
    (alarm,) = judge(readings(series(), [0.02] * 5 + [0.05]), BUDGET)
    assert alarm.sure
    assert (alarm.good, alarm.first, alarm.head) == ("c4", "c5", "c5")
    assert alarm.change.value == pytest.approx(0.03, abs=0.001)


def test_the_second_head_that_a_farm_sees_can_be_reported() -> None:
    (alarm,) = judge(readings(series(), [0.0, 0.03]), BUDGET)
    assert (alarm.good, alarm.first, alarm.seen_against) == ("c0", "c1", "previous")


def test_a_change_within_the_margin_is_no_news() -> None:
    assert judge(readings(series(), [0.0] * 10 + [0.9 * MARGIN] * 30), BUDGET) == []


def test_what_differs_from_the_pinned_release_from_the_beginning_is_no_change() -> None:
    assert judge(readings(series(), [0.2] * 20), BUDGET) == []


def test_each_of_several_changes_is_reported_once() -> None:
    levels = [0.0] * 4 + [0.03] * 4 + [0.037] * 4 + [0.017] * 4 + [0.03] * 4
    alarms = judge(readings(series(), levels), BUDGET)
    assert [alarm.first for alarm in alarms] == ["c4", "c8", "c12", "c16"]
    changes = [round(alarm.change.value, 3) for alarm in alarms]
    assert changes == pytest.approx([0.03, 0.007, -0.02, 0.013], abs=0.001)


def test_a_drift_of_steps_within_the_margin_is_seen_against_the_pinned_release() -> None:
    levels = [-0.0015 * max(0, place - 10) for place in range(30)]
    first, *_ = sure(judge(readings(series(), levels), BUDGET))
    assert first.seen_against == "pinned"
    assert first.change.value < -MARGIN


def test_a_change_of_time_that_one_night_cannot_tell_is_told_by_several() -> None:
    levels = [0.0] * 30 + [-0.02] * 15
    own = readings(series(instrument="time"), levels)
    assert sure(judge([*own[:31], again(own[30], -0.012)], BUDGET)) == []
    (alarm,) = judge([*own, again(own[-1], -0.02)], BUDGET)
    assert alarm.sure and alarm.seen_against == "pinned"
    assert int(alarm.good[1:]) < 30 <= int(alarm.first[1:])
    assert alarm.change.value == pytest.approx(-0.02, abs=0.006)


def test_time_is_never_sure_before_it_was_measured_again() -> None:
    own = readings(series(instrument="time"), [0.0] * 30 + [-0.3])
    (alarm,) = judge(own, BUDGET)
    assert not alarm.sure
    (alarm,) = judge([*own, again(own[-1], -0.3)], BUDGET)
    assert alarm.sure


def test_readings_of_a_head_that_disagree_are_no_news() -> None:
    own = readings(series(instrument="time"), [0.0] * 30 + [-0.3])
    assert sure(judge([*own, again(own[-1], 0.0)], BUDGET)) == []


def test_two_branches_have_levels_of_their_own() -> None:
    new = readings(series(), [0.0] * 6)
    old = readings(series(branch="stable"), [0.04] * 6, names=[f"s{place}" for place in range(6)])
    mixed = [one for pair in zip(new, old, strict=True) for one in pair]
    assert judge(mixed, BUDGET) == []


# --- Suspects ----------------------------------------------------------------------------------


def suspect() -> list[Reading]:
    """A time that is off at the last head, by too little for one night."""
    own = readings(series(instrument="time"), [0.0] * 30)
    last = Reading(
        series=own[0].series,
        head="c30",
        previous="c29",
        taken_s=30 * 86_400.0,
        against_previous=ratio(own[0].series, -0.0225),
        against_pinned=ratio(own[0].series, -0.0225),
    )
    return [*own, last]


def test_a_suspect_is_not_sure() -> None:
    (alarm,) = judge(suspect(), BUDGET)
    assert not alarm.sure
    assert alarm.head == "c30"
    assert alarm.log_evidence < alarm.log_limit


def test_a_repetition_that_shows_the_same_makes_a_suspect_sure() -> None:
    own = suspect()
    (alarm,) = judge([*own, again(own[-1], -0.0225)], BUDGET)
    assert alarm.sure


def test_a_repetition_without_the_change_clears_a_suspect() -> None:
    own = suspect()
    assert judge([*own, again(own[-1], 0.003)], BUDGET) == []


def test_a_suspect_of_an_earlier_head_is_not_listed() -> None:
    own = suspect()
    later = Reading(
        series=own[0].series,
        head="c31",
        previous="c30",
        taken_s=31 * 86_400.0,
        against_previous=ratio(own[0].series, 0.0225),
        against_pinned=ratio(own[0].series, 0.0),
    )
    assert "c30" not in {alarm.head for alarm in judge([*own, later], BUDGET)}


# --- Several series ----------------------------------------------------------------------------


def test_a_change_that_counts_and_time_tell_is_known_the_second_time() -> None:
    levels = [0.0] * 12 + [0.08]
    counts = readings(series(), levels)
    time = readings(series(instrument="time"), levels)
    both = [one for pair in zip(counts, time, strict=True) for one in pair]
    alarms = sure(judge([*both, again(time[-1], 0.08)], BUDGET))
    assert [(alarm.series.instrument, alarm.known) for alarm in alarms] == [
        ("work", False),
        ("time", True),
    ]


def test_the_same_change_of_another_step_is_not_known() -> None:
    levels = [0.0] * 5 + [0.03]
    both = zip(readings(series(), levels), readings(series("scan"), levels, seed=2), strict=True)
    alarms = judge([one for pair in both for one in pair], BUDGET)
    assert [alarm.known for alarm in alarms] == [False, False]


def test_a_step_that_was_not_measured_for_a_night_goes_on() -> None:
    whole = readings(series("scan"), [0.0] * 12, seed=3)
    torn = [
        reading
        for reading in readings(series(), [0.0] * 6 + [0.03] * 6)
        if reading.head not in ("c5", "c6")
    ]
    by_head = sorted([*whole, *torn], key=lambda reading: reading.taken_s)
    (alarm,) = judge(by_head, BUDGET)
    assert alarm.head == "c7"
    assert (alarm.good, alarm.first) == ("c6", "c7")


# --- The budget --------------------------------------------------------------------------------


def test_more_series_need_more_evidence_in_proportion() -> None:
    few, many = limits(3, BUDGET), limits(30, BUDGET)
    assert many.sure - few.sure == pytest.approx(math.log(10))


def test_a_smaller_budget_needs_more_evidence() -> None:
    strict = Budget(false_reports_a_quarter=0.1)
    assert limits(3, strict).sure > limits(3, BUDGET).sure


@given(change=some.floats(-MARGIN, MARGIN), error=some.floats(0.0001, 0.05))
def test_the_evidence_of_no_news_is_one_at_most_on_average(change: float, error: float) -> None:
    # By Gauss-Hermite: the evidence grows slower than the density falls.
    reach = np.linspace(-12, 12, 20_001)
    density = np.exp(-(reach**2) / 2) / math.sqrt(2 * math.pi)
    with np.errstate(over="ignore"):
        evidence = np.exp(
            log_evidence(change + error * reach, np.full_like(reach, error**2)) - reach**2 / 2
        ) / math.sqrt(2 * math.pi)
    assert density.sum() * (reach[1] - reach[0]) == pytest.approx(1)
    assert evidence.sum() * (reach[1] - reach[0]) <= 1 + 1e-6
