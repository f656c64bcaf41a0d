"""Peaks and drops of curves over clients."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.stats import interval, sweep

CURVES = st.dictionaries(
    st.integers(1, 512), st.just(0.0) | st.floats(1e-6, 1e6), min_size=1, max_size=8
).filter(lambda curve: max(curve.values()) > 0)


def test_a_curve_peaks_where_it_is_highest_and_drops_to_its_end() -> None:
    curve = {1: 100.0, 64: 800.0, 16: 500.0, 512: 200.0}
    assert sweep.peak(curve) == 64
    assert sweep.drop(curve) == 0.25


def test_of_equal_ones_the_fewest_clients_are_the_peak() -> None:
    assert sweep.peak({8: 5.0, 4: 5.0, 2: 1.0}) == 4
    assert sweep.drop({8: 5.0, 4: 5.0, 2: 1.0}) == 1.0


@given(CURVES, st.floats(1e-3, 1e3))
def test_a_drop_is_a_share_that_does_not_depend_on_the_unit(curve: dict[float, float], unit: float):
    found = sweep.drop(curve)
    assert 0 <= found <= 1
    assert (found == 1) == (curve[max(curve)] == max(curve.values()))
    scaled = {clients: value * unit for clients, value in curve.items()}
    assert sweep.drop(scaled) == pytest.approx(found)


@given(st.lists(st.integers(1, 512), min_size=1, max_size=9))
def test_the_typical_peak_is_one_of_them_in_the_middle(peaks: list[float]) -> None:
    found = sweep.typical(peaks)
    assert found in peaks
    below = sum(one < found for one in peaks)
    above = sum(one > found for one in peaks)
    assert below <= len(peaks) / 2 and above <= len(peaks) / 2


def test_a_mean_has_the_interval_of_logs_and_leaves_zeros_out() -> None:
    values = [100.0, 110.0, 105.0]
    found = sweep.mean([*values, 0.0])
    assert found is not None
    assert found == interval.log_interval([math.log(value) for value in values])
    assert sweep.mean([0.0]) is None
    alone = sweep.mean([7.0])
    assert alone is not None
    assert (alone.value, alone.low, alone.blocks) == (pytest.approx(7.0), None, 1)


def test_the_interval_of_a_drop_ends_at_one() -> None:
    found = sweep.mean_drop([0.99, 0.9, 1.0])
    plain = sweep.mean([0.99, 0.9, 1.0])
    assert found is not None and plain is not None
    assert plain.high is not None and plain.high > 1
    assert (found.value, found.low, found.high) == (plain.value, plain.low, 1.0)
