"""Tests, e-values and intervals of shares, against statsmodels, scipy and by hand."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from dbdyno.stats import interval, significance
from dbdyno.stats.interval import Spread

change = st.floats(min_value=-0.5, max_value=0.5)
changes = st.lists(change, min_size=2, max_size=10)
ps = st.lists(st.floats(min_value=0.0, max_value=1.0), min_size=1, max_size=40)


def spread(logs: list[float]) -> list[float]:
    """The same, where they are spread enough for an oracle to divide by it."""
    assume(np.std(logs) > 1e-6)
    return logs


# --- Tests on log ratios ---


@given(changes)
def test_p_by_t_is_scipys(logs: list[float]) -> None:
    expected = scipy_stats.ttest_1samp(spread(logs), 0).pvalue
    assert significance.t_p(logs) == pytest.approx(expected, rel=1e-9)


@given(changes, st.floats(min_value=0.001, max_value=0.5))
def test_equivalence_is_the_two_one_sided_tests_of_statsmodels(logs: list[float], margin: float):
    bound = math.log1p(margin)
    expected, _, _ = DescrStatsW(np.array(spread(logs))).ttost_mean(-bound, bound)
    assert significance.equivalence_p(logs, margin) == pytest.approx(expected, rel=1e-9)


@given(changes, st.floats(min_value=0.001, max_value=0.5))
def test_equivalence_passes_where_the_90_percent_interval_lies_within(
    logs: list[float], margin: float
) -> None:
    seen = interval.log_interval(spread(logs), 0.90)
    assert seen.low is not None and seen.high is not None
    room = math.log1p(margin) - max(-math.log(seen.low), math.log(seen.high))
    assume(abs(room) > 1e-9)
    p = significance.equivalence_p(logs, margin)
    assert p is not None and (p <= 0.05) == (room > 0)


@pytest.mark.parametrize("seed", range(6))
def test_p_by_sign_flips_is_scipys_exact_permutation_test(seed: int) -> None:
    logs = np.random.default_rng(seed).normal(0.01 * seed, 0.02, 3 + seed)
    found = scipy_stats.permutation_test(
        (logs,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert significance.sign_flip_p(tuple(logs)) == pytest.approx(found.pvalue, rel=1e-12)


@given(st.lists(st.sampled_from([-0.03, -0.01, 0.0, 0.01, 0.02]), min_size=2, max_size=8))
def test_p_by_sign_flips_counts_ties_as_at_least_as_far(logs: list[float]) -> None:
    """In whole hundredths, so that the count of this test is exact."""
    whole = [round(100 * log) for log in logs]
    signs = product((1, -1), repeat=len(logs))
    sums = [sum(s * w for s, w in zip(vector, whole, strict=True)) for vector in signs]
    expected = sum(abs(total) >= abs(sum(whole)) for total in sums) / 2 ** len(logs)
    assert significance.sign_flip_p(logs) == pytest.approx(expected, rel=1e-12)


def test_six_blocks_all_on_one_side_come_under_five_percent_by_signs_and_five_do_not() -> None:
    assert significance.sign_flip_p([0.01, 0.02, 0.03, 0.01, 0.02, 0.03]) == 2 / 64
    assert significance.sign_flip_p([0.01, 0.02, 0.03, 0.01, 0.02]) == 2 / 32


def test_beyond_twenty_blocks_signs_are_drawn_and_agree_with_the_exact_ones() -> None:
    rng = np.random.default_rng(3)
    logs = tuple(rng.normal(0.008, 0.02, significance.SIGNS_EXACT_MAX))
    exact, drawn = significance.sign_flip_p(logs), significance.sign_flip_p((*logs, 0.0))
    assert exact is not None and drawn is not None
    assert 0.01 < exact < 0.5  # a block without a change alters neither the sums nor p
    assert drawn == pytest.approx(exact, abs=0.02)
    assert drawn == significance.sign_flip_p((*logs, 0.0))
    assert significance.sign_flip_p([0.01] * 40) == 1 / (significance.SIGNS_DRAWN + 1)


@pytest.mark.parametrize("blocks", [21, 60])
def test_drawn_signs_give_the_p_of_their_definition(blocks: int) -> None:
    rows = np.random.default_rng(blocks).normal(0.004, 0.02, (5, blocks))
    draw = np.random.default_rng(significance.SIGNS_SEED)
    signs = 2 * draw.integers(0, 2, (significance.SIGNS_DRAWN, blocks)) - 1
    for row in rows:
        far = sum(abs(sum(one)) >= abs(sum(row)) for one in (signs * row).tolist())
        expected = (far + 1) / (significance.SIGNS_DRAWN + 1)
        assert significance.sign_flip_p(row.tolist()) == expected
    assert significance.drawn_sign_flip_ps(rows).tolist() == [
        significance.sign_flip_p(row.tolist()) for row in rows
    ]


def test_one_block_has_no_p() -> None:
    assert significance.t_p([0.1]) is None
    assert significance.sign_flip_p([0.1]) is None
    assert significance.equivalence_p([0.1], 0.03) is None


@pytest.mark.parametrize(("log", "p", "within"), [(0.0, 1.0, 0.0), (0.01, 0.0, 0.0), (1.0, 0, 1)])
def test_without_any_spread_p_is_nought_or_one(log: float, p: float, within: float) -> None:
    assert significance.t_p([log] * 3) == p
    assert significance.equivalence_p([log] * 3, 0.03) == within


def test_what_rounding_leaves_of_equal_numbers_is_no_change() -> None:
    logs = [math.log((0.1 + 0.2) / 0.3), 0.0, math.log(0.3 / (0.1 + 0.2))]
    assert logs[0] != 0.0
    assert (significance.t_p(logs), significance.sign_flip_p(logs)) == (1.0, 1.0)
    steady = interval.log_ratios([10.0, 30.0, 70.0], [10.5, 31.5, 73.5])
    assert significance.t_p(steady) == 0.0


@given(changes)
def test_swapping_arm_and_base_leaves_every_p_as_it_is(logs: list[float]) -> None:
    mirrored = [-log for log in logs]
    assert significance.t_p(mirrored) == significance.t_p(logs)
    assert significance.equivalence_p(mirrored, 0.03) == significance.equivalence_p(logs, 0.03)
    assert significance.sign_flip_p(mirrored) == significance.sign_flip_p(logs)


def test_an_interval_too_wide_for_a_number_is_infinite() -> None:
    seen = interval.log_interval([600.0, -600.0])
    assert seen.low == 0.0 and seen.high == math.inf


@given(changes, st.floats(min_value=0.01, max_value=0.2), st.floats(min_value=1.0, max_value=30.0))
def test_by_another_spread_p_and_equivalence_are_by_its_freedom(
    logs: list[float], sd: float, freedom: float
) -> None:
    spread = Spread(sd=sd, freedom=freedom)
    mean, root = float(np.mean(logs)), math.sqrt(len(logs))
    assume(abs(mean) > 1e-9)
    law = scipy_stats.t(freedom)
    p = significance.t_p(logs, spread)
    assert p == pytest.approx(2 * law.sf(abs(mean) / sd * root), rel=1e-9)
    within = significance.equivalence_p(logs, 0.03, spread)
    assert within == pytest.approx(law.cdf((abs(mean) - math.log(1.03)) / sd * root), rel=1e-9)


# --- E-values ---


# --- Several tests at once ---


@given(st.lists(st.floats(min_value=1e-9, max_value=1.0), min_size=2, max_size=5))
def test_combined_p_is_that_of_cauchy_s_distribution(values: list[float]) -> None:
    variates = [scipy_stats.cauchy.isf(min(p, significance.P_MAX)) for p in values]
    expected = scipy_stats.cauchy.sf(np.mean(variates))
    assert significance.combined_p(values) == pytest.approx(expected, rel=1e-6)
    assert significance.combined_p(values[::-1]) == pytest.approx(expected, rel=1e-6)


def test_combined_p_of_equal_ones_is_theirs_and_of_one_its_own() -> None:
    assert significance.combined_p([0.03, 0.03]) == pytest.approx(0.03)
    assert significance.combined_p([0.97]) == 0.97
    assert significance.combined_p([0.0, 0.7]) == 0.0
    with pytest.raises(ValueError):
        significance.combined_p([])


@pytest.mark.parametrize("still", [0.9, 0.99, 1.0])
def test_a_metric_that_does_not_move_at_all_costs_the_other_a_factor_of_two(still: float) -> None:
    """As throughput where a rate is held: its p is 1, and only CPU can tell."""
    assert significance.combined_p([still, 1e-4]) == pytest.approx(2e-4, rel=0.01)


@given(ps)
def test_q_values_are_those_of_statsmodels(values: list[float]) -> None:
    expected = multipletests(values, method="fdr_bh")[1]
    assert significance.adjusted(values) == pytest.approx(list(expected), rel=1e-12)


@given(ps)
def test_q_values_are_those_of_scipy(values: list[float]) -> None:
    expected = scipy_stats.false_discovery_control(values)
    assert significance.adjusted(values) == pytest.approx(list(expected), rel=1e-12)


@given(ps)
def test_a_smaller_p_never_has_a_larger_q_and_no_q_is_under_its_p(values: list[float]) -> None:
    qs = significance.adjusted(values)
    assert all(q >= p for p, q in zip(values, qs, strict=True))
    in_order = [q for _, q in sorted(zip(values, qs, strict=True))]
    assert in_order == sorted(in_order)


def test_the_first_example_of_benjamini_and_hochberg_keeps_four() -> None:
    """The fifteen p values of their paper's section 4; Bonferroni keeps three."""
    values = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459]
    values += [0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    assert sum(q <= 0.05 for q in significance.adjusted(values)) == 4
    assert significance.adjusted([]) == []
    assert significance.adjusted([0.04]) == [0.04]


# --- Shares and deviations ---


@given(st.integers(min_value=0, max_value=60), st.integers(min_value=0, max_value=60))
def test_the_interval_of_a_share_is_statsmodels_exact_one(count: int, missed: int) -> None:
    assume(count + missed > 0)
    low, high = proportion_confint(count, count + missed, method="beta")
    found = interval.share_interval(count, count + missed)
    assert found == pytest.approx((0.0 if count == 0 else low, 1.0 if missed == 0 else high))


def test_none_of_59_bounds_a_share_at_five_percent_one_sided() -> None:
    assert interval.share_interval(0, 59, 0.90)[1] == pytest.approx(0.05, abs=0.001)
    assert interval.share_interval(0, 0) == (0.0, 1.0)
    with pytest.raises(ValueError):
        interval.share_interval(3, 2)


def test_the_interval_of_a_deviation_is_by_chi_squared() -> None:
    low, high = interval.sd_interval(0.02, 5)
    law = scipy_stats.chi2(5)
    assert low == pytest.approx(0.02 * math.sqrt(5 / law.ppf(0.975)))
    assert high == pytest.approx(0.02 * math.sqrt(5 / law.ppf(0.025)))
    assert interval.sd_interval(0.0, 5) == (0.0, 0.0)
    with pytest.raises(ValueError):
        interval.sd_interval(0.02, 0)
