"""Means, intervals and published percentiles, against numbers worked out by hand or by scipy."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from dbdyno.model.metric.over import geometric_mean
from dbdyno.stats import interval

positive = st.floats(min_value=1e-3, max_value=1e6)


def test_one_pair_gives_a_ratio_without_an_interval() -> None:
    found = interval.ratio_interval([200.0], [210.0])
    assert found.value == pytest.approx(1.05)
    assert (found.low, found.high, found.blocks) == (None, None, 1)


def test_an_interval_worked_out_by_hand() -> None:
    """Ratios e^0.01, e^0.03, e^0.05: mean 0.03, s 0.02, t(0.975, 2) = 4.302653."""
    found = interval.ratio_interval(
        [1.0, 2.0, 4.0], [math.exp(0.01), 2 * math.exp(0.03), 4 * math.exp(0.05)]
    )
    reach = 4.302652729911275 * 0.02 / math.sqrt(3)
    assert found.value == pytest.approx(math.exp(0.03))
    assert found.low == pytest.approx(math.exp(0.03 - reach))
    assert found.high == pytest.approx(math.exp(0.03 + reach))


def test_equal_ratios_have_an_interval_of_no_width() -> None:
    found = interval.ratio_interval([100.0, 300.0, 50.0], [105.0, 315.0, 52.5])
    assert (found.low, found.high) == (pytest.approx(1.05), pytest.approx(1.05))


@given(st.lists(st.tuples(positive, positive), min_size=2, max_size=12))
def test_the_interval_is_scipys_paired_one(pairs: list[tuple[float, float]]) -> None:
    base, other = zip(*pairs, strict=True)
    logs = np.log(other) - np.log(base)
    found = interval.ratio_interval(base, other)
    assert found.low is not None and found.high is not None
    if logs.std() < 1e-9:
        return
    expected = scipy_stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    assert math.log(found.low) == pytest.approx(expected.low, rel=1e-6, abs=1e-9)
    assert math.log(found.high) == pytest.approx(expected.high, rel=1e-6, abs=1e-9)


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=12))
def test_swapping_the_arms_takes_the_reciprocal(pairs: list[tuple[float, float]]) -> None:
    base, other = zip(*pairs, strict=True)
    there, back = interval.ratio_interval(base, other), interval.ratio_interval(other, base)
    assert there.value * back.value == pytest.approx(1.0)
    if there.low is not None and back.high is not None:
        assert math.log(there.low) == pytest.approx(-math.log(back.high), abs=1e-9)


@pytest.mark.parametrize(
    ("base", "other"), [([], []), ([1.0], [1.0, 2.0]), ([0.0], [1.0]), ([1.0], [-1.0])]
)
def test_what_is_no_pair_of_positive_numbers_is_refused(
    base: Sequence[float], other: Sequence[float]
) -> None:
    with pytest.raises(ValueError):
        interval.ratio_interval(base, other)


def test_a_wider_confidence_gives_a_wider_interval() -> None:
    pairs = [10.0, 20.0, 30.0], [11.0, 20.0, 33.0]
    usual, wide = interval.ratio_interval(*pairs), interval.ratio_interval(*pairs, confidence=0.99)
    assert usual.low is not None and wide.low is not None
    assert wide.low < usual.low


def test_the_geometric_mean_of_a_number_and_its_reciprocal_is_one() -> None:
    assert geometric_mean([4.0, 0.25]) == pytest.approx(1.0)
    assert geometric_mean([7.0]) == pytest.approx(7.0)
    assert geometric_mean([7.0, 0.0]) == 0.0
    with pytest.raises(ValueError):
        geometric_mean([])


def test_a_published_percentile_counts_from_one_in_the_list_sorted_downwards() -> None:
    rates = [float(rate) for rate in range(1, 21)]  # 20 … 1
    assert interval.published_percentile(rates, 0.5) == 11.0  # the 10th
    assert interval.published_percentile(rates, 0.99) == 1.0  # the 20th: round(19.8)
    assert interval.published_percentile(rates, 0.0) == 20.0


def test_under_ten_seconds_there_is_no_published_percentile() -> None:
    assert interval.published_percentile([5.0] * 9, 0.5) is None
    assert interval.published_percentile([5.0] * 10, 0.99) == 5.0
