"""Nodes as a factor: by hand, against statsmodels and scipy, and that intervals hold the truth."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.meta_analysis import combine_effects

from dbdyno.stats import interval, nodes
from dbdyno.stats.nodes import Nodes

blocks = st.lists(st.floats(min_value=-0.5, max_value=0.5), min_size=1, max_size=6)
several = st.lists(blocks, min_size=2, max_size=6)


def across(*logs: Sequence[float]) -> Nodes:
    """What nodes n1, n2 … found of these log ratios."""
    return nodes.across({f"n{at}": its for at, its in enumerate(logs, start=1)})


def scattered(logs: list[list[float]]) -> list[list[float]]:
    """The same, where their blocks scatter enough for an oracle to divide by it."""
    assume(sum(map(len, logs)) > len(logs))
    assume(sum(float(np.var(its)) * len(its) for its in logs) > 1e-6)
    return logs


def pooled(logs: Sequence[Sequence[float]]) -> float:
    """The variance of blocks within nodes, by the formula of the books."""
    squares = sum((log - np.mean(its)) ** 2 for its in logs for log in its)
    return float(squares / (sum(map(len, logs)) - len(logs)))


# --- By hand ---------------------------------------------------------------------------------


def test_two_nodes_that_disagree_are_as_by_hand() -> None:
    """Means 0.01 and 0.05, variance 0.0002 within both, so F = 0.0016 / 0.0002 on 1 and 2."""
    found = across([0.0, 0.02], [0.04, 0.06])
    assert found.between is not None and found.p is not None
    assert found.between.value == pytest.approx((0.0016 - 0.0002) / 2)
    assert found.p == pytest.approx(scipy_stats.f.sf(8, 1, 2))
    first = found.means["n1"]
    assert first.blocks == 2 and first.value == pytest.approx(math.exp(0.01))
    reach = scipy_stats.t.ppf(0.975, 2) * math.sqrt(0.0002 / 2)
    assert (first.low, first.high) == pytest.approx(
        (math.exp(0.01 - reach), math.exp(0.01 + reach))
    )
    far = scipy_stats.t.ppf(0.975, 1) * 0.02  # the means' own scatter, 0.0283, by the root of 2
    its = found.machines
    assert (its.value, its.blocks) == (pytest.approx(math.exp(0.03)), 2)
    assert (its.low, its.high) == pytest.approx((math.exp(0.03 - far), math.exp(0.03 + far)))


def test_nodes_that_agree_by_luck_know_no_more_of_machines_than_their_blocks_do() -> None:
    found = across([-0.01, 0.01], [-0.01, 0.01])
    assert found.p == 1.0
    reach = scipy_stats.t.ppf(0.975, 1) * math.sqrt(0.0002 / 4)
    assert found.machines.high == pytest.approx(math.exp(reach))


def test_with_one_block_each_nodes_are_told_apart_from_no_scatter() -> None:
    found = across([0.01], [0.03], [0.02])
    assert found.p is None and found.between is None
    assert found.means["n1"].low is None
    plain = interval.log_interval([0.01, 0.03, 0.02])
    ends = found.machines.value, found.machines.low, found.machines.high
    assert ends == pytest.approx((plain.value, plain.low, plain.high))


def test_without_any_scatter_nodes_that_differ_do_so_for_sure() -> None:
    assert across([0.0, 0.0], [0.0, 0.0]).p == 1.0
    found = across([0.01, 0.01], [0.02, 0.02])
    assert found.p == 0.0
    assert found.machines.value == pytest.approx(math.exp(0.015))
    equal = across([0.01, 0.01], [0.01, 0.01]).machines
    assert equal.low == equal.high == pytest.approx(math.exp(0.01))


def test_one_node_is_not_compared() -> None:
    with pytest.raises(ValueError, match="1 nodes"):
        across([0.01, 0.02])
    with pytest.raises(ValueError, match="blocks"):
        across([0.01], [])


# --- Against others --------------------------------------------------------------------------


@given(several)
def test_the_test_whether_nodes_disagree_is_scipys_analysis_of_variance(logs: list[list[float]]):
    expected = scipy_stats.f_oneway(*scattered(logs)).pvalue
    assume(float(np.std([np.mean(its) for its in logs])) > 1e-6)
    assert across(*logs).p == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of statsmodels, where nodes agree
@given(several)
def test_spread_and_machines_are_statsmodels_meta_analysis(logs: list[list[float]]) -> None:
    """Of node means with the variance pooled within: DerSimonian-Laird, and Hartung-Knapp."""
    within = pooled(scattered(logs))
    means = np.array([np.mean(its) for its in logs])
    variances = np.array([within / len(its) for its in logs])
    expected = combine_effects(means, variances, method_re="chi2", use_t=True)
    found = across(*logs)
    assert found.between is not None
    assert found.between.value == pytest.approx(expected.tau2, rel=1e-6, abs=1e-12)
    if expected.tau2 < 1e-9:  # which statsmodels does not take for 0
        return
    assert math.log(found.machines.value) == pytest.approx(expected.mean_effect_re, abs=1e-9)
    plain = 1 / math.sqrt(sum(1 / (variances + expected.tau2)))
    error = max(float(expected.sd_eff_w_re_hksj), plain)
    reach = scipy_stats.t.ppf(0.975, len(logs) - 1) * error
    low, high = found.machines.low, found.machines.high
    assert low is not None and high is not None
    assume(reach < 100)
    assert (math.log(high) - math.log(low)) / 2 == pytest.approx(reach, rel=1e-6)


# --- By simulation ---------------------------------------------------------------------------

DRAWN = 400


def drawn(counts: Sequence[int], apart: float, seed: int) -> list[Nodes]:
    """Nodes with so many blocks each, whose own ratios lie apart by so many times the scatter."""
    rng = np.random.default_rng([22, seed])
    return [
        across(*(0.03 + 0.01 * (rng.normal(0, apart) + rng.normal(0, 1, n)) for n in counts))
        for _ in range(DRAWN)
    ]


@pytest.mark.parametrize(
    ("counts", "apart"),
    [
        *(((2, 3, 4, 12), 1.0), ((3, 3), 4.0)),
        *(
            pytest.param(*some, marks=pytest.mark.long)
            for some in (((3, 3), 0.0), ((2, 2, 2, 2), 4.0), ((6, 6, 6), 1.0), ((2, 3, 4, 12), 0.0))
        ),
    ],
)
def test_the_interval_of_such_machines_holds_their_ratio(counts: tuple[int, ...], apart: float):
    """At least 95 %, as far as so many draws tell; not far more where nodes really differ."""
    found = drawn(counts, apart, seed=len(counts))
    held = sum(
        (one.machines.low or 0) <= math.exp(0.03) <= (one.machines.high or 0) for one in found
    )
    low, high = interval.share_interval(held, DRAWN, 0.99)
    assert high >= 0.95, f"{held} of {DRAWN}"
    if apart > 1:
        assert low <= 0.97, f"{held} of {DRAWN}"


@pytest.mark.parametrize(
    "counts",
    [
        (2, 3, 4, 12),
        *(pytest.param(its, marks=pytest.mark.long) for its in ((3, 3), (2, 2, 2, 2), (6, 6, 6))),
    ],
)
def test_equal_nodes_are_said_to_disagree_in_five_percent_of_comparisons(counts: tuple[int, ...]):
    said = sum((one.p or 0.0) <= 0.05 for one in drawn(counts, 0.0, seed=9))
    low, high = interval.share_interval(said, DRAWN, 0.99)
    assert low <= 0.05 <= high, f"{said} of {DRAWN}"


def test_the_interval_of_these_nodes_blocks_misses_such_machines() -> None:
    """Why there are two: three nodes with many blocks each know themselves, not their like."""
    rng = np.random.default_rng(22)
    held = 0
    for _ in range(DRAWN):
        logs = [0.01 * (rng.normal(0, 2) + rng.normal(0, 1, 10)) for _ in range(3)]
        its = interval.log_interval(tuple(log for one in logs for log in one))
        held += (its.low or 0) <= 1 <= (its.high or 0)
    assert held < 0.7 * DRAWN
