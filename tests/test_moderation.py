"""Variances that steps lend each other: by hand, by limma's figures, and by another computation."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from scipy.optimize import brentq
from scipy.special import digamma, polygamma

from dbdyno.stats import interval, moderation

STRAIGHT, BENT = (-1.0, 0.0, 1.0), (1.0, -2.0, 1.0)
"""Two units of three blocks without correlation; the first has the variance 1, the second 3."""

units = st.integers(min_value=3, max_value=7).flatmap(
    lambda blocks: st.lists(
        st.lists(st.floats(min_value=-0.5, max_value=0.5), min_size=blocks, max_size=blocks),
        min_size=2,
        max_size=8,
    )
)


def scattered(values: list[list[float]]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The same, where each unit scatters enough for its logarithm to be told."""
    found = np.array(values)
    assume(found.std(axis=1).min() > 1e-4)
    return found


def fitted(variances: Sequence[float], freedom: int) -> tuple[float, float]:
    """s0² and d0 by the moments of ln s² (Smyth 2004, section 6.2), by a root search."""
    expected = digamma(freedom / 2) - math.log(freedom / 2)
    logs = [math.log(variance) for variance in variances]
    excess = float(np.var(logs, ddof=1)) - float(polygamma(1, freedom / 2))
    if excess <= 0:
        return float(np.mean(variances)), math.inf
    half = brentq(lambda x: float(polygamma(1, math.exp(x))) - excess, -15, 15, xtol=1e-13)
    half = math.exp(half)
    return math.exp(np.mean(logs) - expected + digamma(half) - math.log(half)), 2 * half


# --- By hand ---------------------------------------------------------------------------------


def test_two_steps_that_are_alike_lend_each_other_one_degree_of_freedom() -> None:
    """d0 is infinite and the others are worth 2: half of that, of twice the common variance."""
    quiet, other = moderation.spreads([STRAIGHT, [log / math.sqrt(3) for log in BENT]])
    for its in (quiet, other):
        assert (its.lent, its.freedom) == pytest.approx((1.0, 3.0))
        assert its.sd**2 == pytest.approx((1 * 2 + 2 * 1) / 3)


def test_two_steps_that_are_unlike_are_as_by_hand() -> None:
    """ln s² differ by 4: half of its square is 8, of which chance is trigamma(1) = pi² / 6."""
    own = (1.0, math.exp(4))
    found = moderation.spreads([STRAIGHT, [log * math.exp(2) / math.sqrt(3) for log in BENT]])
    common, known = fitted(own, 2)
    assert polygamma(1, known / 2) == pytest.approx(8 - math.pi**2 / 6)
    assert known < 2  # so that d0 binds, and not the two degrees of freedom of the other
    for its, variance in zip(found, own, strict=True):
        raised = 2 * common
        loan = known / 2 * min(1, 4 * scipy_stats.f.sf(variance / raised, 2, known))
        assert its.lent == pytest.approx(loan, rel=1e-9)
        assert its.freedom == pytest.approx(2 + loan, rel=1e-9)
        assert its.sd**2 == pytest.approx((loan * raised + 2 * variance) / (2 + loan), rel=1e-9)


def test_the_whole_rule_is_that_of_the_page() -> None:
    random = np.random.default_rng(5)
    values = random.normal(size=(5, 4)) * np.array([1, 0.8, 1.3, 1, 9])[:, None]
    own = values.var(axis=1, ddof=1)
    common, known = fitted(own.tolist(), 3)
    pairs = np.corrcoef(values)[np.triu_indices(5, 1)] ** 2
    tied = max(0.0, (float(pairs.mean()) - 1 / 3) / (1 - 1 / 3))
    raised, others = common * (1 + 2 / 5), 4 * 3 / (1 + 4 * tied)
    for its, variance in zip(moderation.spreads(values.tolist()), own.tolist(), strict=True):
        chance = scipy_stats.f.sf(variance / raised, 3, min(known, 1e4))
        loan = min(min(known, others) / 2, 4) * min(1, 4 * chance)
        assert its.lent == pytest.approx(loan, rel=1e-9)
        assert its.sd**2 == pytest.approx((loan * raised + 3 * variance) / (3 + loan), rel=1e-9)


# --- The prior -------------------------------------------------------------------------------


def test_the_prior_is_that_of_limma() -> None:
    """What limma's squeezeVar makes of three variances, as the tests of InMoose have it."""
    common, known = moderation.prior(np.array([0.5, 1.3, 7.8]), 3)
    assert float(known) == pytest.approx(2.830777, abs=1e-6)
    assert float(common) == pytest.approx(1.676927, abs=1e-6)


@given(
    st.lists(st.floats(min_value=1e-6, max_value=1e2), min_size=2, max_size=12),
    st.integers(min_value=1, max_value=12),
)
def test_the_prior_is_that_of_a_root_search(variances: list[float], freedom: int) -> None:
    excess = np.var(np.log(variances), ddof=1) - polygamma(1, freedom / 2)
    assume(excess <= 0 or excess > 2 * moderation.TRIGAMMA_MIN)
    common, known = moderation.prior(np.array(variances), freedom)
    expected = fitted(variances, freedom)
    assert (float(common), float(known)) == pytest.approx(expected, rel=1e-6)


def test_the_prior_of_many_variances_is_found_again() -> None:
    random = np.random.default_rng(11)
    true = 4e-4 * 8 / random.chisquare(8, 20_000)
    common, known = moderation.prior(true * random.chisquare(2, 20_000) / 2, 2)
    assert float(known) == pytest.approx(8, rel=0.1)
    assert float(common) == pytest.approx(4e-4, rel=0.05)


def test_many_priors_at_once_are_those_of_each() -> None:
    variances = np.random.default_rng(3).chisquare(2, (5, 2, 7))
    common, known = moderation.prior(variances, 2)
    for place in np.ndindex(5, 2):
        one = moderation.prior(variances[place], 2)
        assert (common[place], known[place]) == (float(one[0]), float(one[1]))


# --- What is lent ----------------------------------------------------------------------------


@given(units)
def test_never_more_is_lent_than_half_of_d0_and_than_the_others_have(values: list[list[float]]):
    logs = scattered(values)
    freedom = logs.shape[1] - 1
    _, known = moderation.prior(logs.var(axis=1, ddof=1), freedom)
    for its in moderation.spreads(values):
        assert 0 <= its.lent <= min(float(known) / 2, (len(values) - 1) * freedom / 2, 4) + 1e-12
        assert its.freedom == freedom + its.lent


@given(units, st.randoms(use_true_random=False))
def test_the_order_of_steps_and_of_blocks_changes_nothing(
    values: list[list[float]], random: np.random.Generator
) -> None:
    logs = scattered(values)
    steps, blocks = list(range(len(logs))), list(range(logs.shape[1]))
    random.shuffle(steps)
    random.shuffle(blocks)
    expected = moderation.spreads(values)
    found = moderation.spreads(logs[np.ix_(steps, blocks)].tolist())
    for its, step in zip(found, steps, strict=True):
        assert its.sd == pytest.approx(expected[step].sd, rel=1e-6)
        assert its.lent == pytest.approx(expected[step].lent, rel=1e-6, abs=1e-9)


def test_a_step_alone_and_one_without_scatter_keep_their_own() -> None:
    logs = (0.01, 0.03, -0.02, 0.01)
    assert moderation.spreads([logs]) == [interval.own_spread(logs)]
    still = moderation.spreads([logs, (0.02,) * 4])
    assert still == [interval.own_spread(logs), interval.own_spread((0.02,) * 4)]
    assert still[1].sd == 0.0
    with_three = moderation.spreads([logs, (0.02, 0.0, 0.01, 0.05), (0.02,) * 4])
    assert with_three[:2] == moderation.spreads([logs, (0.02, 0.0, 0.01, 0.05)])


def test_a_loud_step_gets_next_to_nothing_and_the_others_their_loan() -> None:
    values = np.random.default_rng(8).normal(size=(12, 4))
    values[-1] *= 50
    *others, loud = moderation.spreads(values.tolist())
    assert loud.lent < 0.1 * max(its.lent for its in others)
    assert loud.sd == pytest.approx(float(values[-1].std(ddof=1)), rel=0.02)


def test_a_variance_of_few_blocks_is_nearer_the_true_one_once_moderated() -> None:
    random = np.random.default_rng(11)
    true = np.exp(random.normal(0, 0.4, 40))
    logs = random.normal(size=(40, 3)) * true[:, None]
    found = [its.sd for its in moderation.spreads(logs.tolist())]
    off = [np.abs(np.log(sds / true)).mean() for sds in (logs.std(axis=1, ddof=1), found)]
    assert off[1] < 0.8 * off[0]


def test_units_of_one_block_or_of_different_numbers_are_refused() -> None:
    with pytest.raises(ValueError):
        moderation.spreads([[0.1], [0.2]])
    with pytest.raises(ValueError):
        moderation.spreads([[0.1, 0.2], [0.2, 0.3, 0.1]])


# --- Noise in common -------------------------------------------------------------------------


def test_steps_with_equal_numbers_share_all_of_their_noise_and_are_worth_one() -> None:
    values = np.tile([0.01, -0.02, 0.03, 0.01], (6, 1))
    assert float(moderation.shared(values)) == pytest.approx(1.0)
    for its in moderation.spreads(values.tolist()):
        assert its.lent == pytest.approx(3 * 5 / 6 / 2)  # 5 others of 3 degrees, by 1 + 5


def test_steps_that_mirror_each_other_share_their_noise_too() -> None:
    assert float(moderation.shared(np.array([[1.0, 2.0, 4.0], [-2.0, -4.0, -8.0]]))) == 1.0


def test_the_share_of_common_noise_is_the_mean_squared_correlation_less_chance() -> None:
    random = np.random.default_rng(2)
    values = random.normal(size=(3, 2, 5, 6)) + 3 * random.normal(size=(3, 2, 1, 6))
    found = moderation.shared(values)
    for place in np.ndindex(3, 2):
        pairs = np.corrcoef(values[place])[np.triu_indices(5, 1)] ** 2
        assert found[place] == pytest.approx(max(0.0, (pairs.mean() - 1 / 5) / (1 - 1 / 5)))
    assert float(np.median(found)) > 0.5


def test_independent_steps_share_next_to_nothing_and_two_blocks_tell_nothing() -> None:
    random = np.random.default_rng(2)
    assert float(moderation.shared(random.normal(size=(400, 6)))) < 0.02
    assert moderation.shared(random.normal(size=(3, 5, 2))).tolist() == [1.0] * 3
