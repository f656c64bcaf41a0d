"""Whether blocks depend on each other: statistics by hand, and what they do to words."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dbdyno.model.looks import Looks
from dbdyno.model.verdict import DEPENDENCE_BLOCKS_MIN, Aims, Judgement, Order
from dbdyno.stats import decision, dependence, interval
from dbdyno.stats.fills import FillsSeen
from dbdyno.stats.look_tests import Unit
from dbdyno.stats.looks import scheduled
from dbdyno.stats.sample import Pattern, Sample

WAVES = (1.0, 1.0, -1.0, -1.0) * 3
"""Of their eleven neighbours six are alike and five are not: Σ e·e' is 1, Σ e² is 12."""
SIDES = (0.5, -0.5) * 6


def sample(logs: tuple[float, ...], *patterns: Pattern) -> Sample:
    return Sample(metric="qps", better=1, logs=logs, patterns=patterns)


def pattern(values: tuple[float, ...], name: Order = "predecessor") -> Pattern:
    return Pattern(name=name, values=values)


def judged(*samples: Sample, first: int = 12) -> list[Judgement]:
    looks = [one for one in scheduled(Looks(first=first)) if one.blocks <= len(samples[0].logs)]
    units = [
        Unit(
            samples=(one,),
            looks=tuple((look, (replace(one, logs=one.logs[: look.blocks]),)) for look in looks),
        )
        for one in samples
    ]
    return [its[0] for its in decision.decide(units, Aims(), done=len(samples[0].logs))]


# --- Autocorrelation -------------------------------------------------------------------------


def test_autocorrelation_is_that_of_neighbours_with_what_few_blocks_hide_made_good() -> None:
    """(1/12 + 1/12) / (1 - 4/12) = 1/4."""
    assert dependence.autocorrelation(np.array([WAVES])) == pytest.approx(1 / 4)


def test_autocorrelation_is_a_mean_over_units_and_one_without_scatter_has_none() -> None:
    """Alternating blocks have Σ e·e' / Σ e² = -11/12: (-11/12 + 1/12) / (2/3) = -5/4."""
    turns = (1.0, -1.0) * 6
    both = dependence.autocorrelation(np.array([WAVES, turns]))
    assert both == pytest.approx((1 / 4 - 5 / 4) / 2)
    still = dependence.autocorrelation(np.array([WAVES, (0.3,) * 12]))
    assert still == pytest.approx(1 / 8)


def test_independent_blocks_have_no_autocorrelation_on_average_and_others_theirs() -> None:
    noise = np.random.default_rng(1).normal(size=(4_000, 1, 20))
    assert dependence.autocorrelation(noise).mean() == pytest.approx(0.0, abs=0.01)
    for at in range(1, 20):
        noise[..., at] = 0.5 * noise[..., at - 1] + math.sqrt(0.75) * noise[..., at]
    assert dependence.autocorrelation(noise).mean() == pytest.approx(0.5, abs=0.05)


def test_inflation_is_the_variance_of_a_mean_by_what_blocks_tell_of_it() -> None:
    """Of two blocks with r: the mean has (1 + r) / 2, and s² is 1 - r on average."""
    assert dependence.inflation(np.array(0.5), 2) == pytest.approx((1 + 0.5) / (1 - 0.5))
    assert dependence.inflation(np.array([-0.4, 0.0]), 12) == pytest.approx(1.0)


@pytest.mark.parametrize("kept", [0.3, 0.8])
def test_inflation_is_that_of_the_matrix_of_covariances(kept: float) -> None:
    blocks = 12
    places = np.arange(blocks)
    covariance = kept ** np.abs(places[:, None] - places)
    of_mean = covariance.mean()
    of_blocks = (np.trace(covariance) - blocks * of_mean) / (blocks - 1)
    found = dependence.inflation(np.array(kept), blocks)
    assert found == pytest.approx(blocks * of_mean / of_blocks)


def test_under_twelve_blocks_and_with_fills_as_units_nothing_is_widened() -> None:
    logs = tuple(0.01 * wave for wave in WAVES)
    own = interval.own_spread(logs)
    assert own is not None
    few = sample(logs[:11])
    assert dependence.widened([own], [few]) == [own]
    fills = replace(sample(logs), fills=FillsSeen(planned=12, blocks=24))
    assert dependence.widened([own], [fills]) == [own]
    assert dependence.widening(np.ones((3, 1, 11))).tolist() == [1.0] * 3
    assert DEPENDENCE_BLOCKS_MIN == 12


def test_an_interval_is_as_much_wider_as_its_judgement_says() -> None:
    logs = tuple(0.02 + 0.01 * wave for wave in WAVES)
    (found,) = judged(sample(logs))
    plain = interval.log_interval(logs)
    assert found.dependence is not None and plain.low is not None and found.low is not None
    assert found.dependence.autocorrelation == pytest.approx(1 / 4)
    factor = math.sqrt(float(dependence.inflation(np.array(1 / 4), 12)))
    assert found.dependence.widened == pytest.approx(factor) and factor > 1.2
    reach = math.log(found.ratio / found.low)
    assert reach == pytest.approx(factor * math.log(plain.value / plain.low))
    own = interval.own_spread(logs)
    assert own is not None and found.sd == pytest.approx(own.sd), "blocks scatter as they do"


def test_steps_share_the_autocorrelation_and_an_unlike_number_of_blocks_is_apart() -> None:
    waves, turns = (tuple(0.01 * one for one in its) for its in (WAVES, (1.0, -1.0) * 6))
    found = judged(sample(waves), sample(turns), sample(waves[:11]), first=11)
    told = [one.dependence for one in found]
    assert told[0] is not None and told[0] == told[1] and told[2] is None
    assert told[0].autocorrelation == pytest.approx(-1 / 2) and told[0].widened == 1.0


def test_an_early_look_s_same_does_not_stand_beside_a_mean_beyond_the_margin() -> None:
    """Where the ratio moves in the midst of a plan, blocks depend on each other."""
    quiet = (0.004, -0.002, -0.005, 0.003)
    assert judged(sample(quiet), first=4)[0].word == "same"
    (found,) = judged(sample((*quiet, *(0.3 + log for log in quiet * 3))), first=4)
    assert found.dependence is not None and found.dependence.widened > 4
    assert found.word == "open"


# --- The order of the arms -------------------------------------------------------------------


def test_a_slope_is_found_by_least_squares_with_what_it_leaves_in_the_mean() -> None:
    """A predecessor costs 6 % in three of twelve blocks: 1.5 % of the mean are its doing."""
    after = (1.0, 0.0, 0.0, 0.0) * 3
    logs = tuple(0.06 * one + 0.001 * wave for one, wave in zip(after, WAVES, strict=True))
    found = dependence.followed(logs, pattern(after), 0.025)
    # In the four blocks of a cycle the waves are 1, 1, -1, -1: slope 0.06 + 0.001 · 4/3.
    assert found is not None and found.by == pytest.approx(0.06 + 0.001 * 4 / 3)
    assert found.left == pytest.approx(found.by / 4)


def test_a_pattern_without_change_or_without_effect_is_not_found() -> None:
    logs = tuple(0.01 * wave for wave in WAVES)
    assert dependence.followed(logs, pattern((1.0,) * 12), 0.05) is None
    assert dependence.followed(logs, pattern(SIDES), 0.05) is None
    assert dependence.followed((0.2,) * 12, pattern(SIDES), 0.05) is None


def test_what_the_order_leaves_in_the_mean_widens_and_what_it_cancels_does_not() -> None:
    noise = tuple(0.002 * wave for wave in (1.0, -1.0, -1.0, 1.0) * 3)
    after = (1.0, 0.0, 0.0) * 4
    carried = tuple(0.05 * one + log for one, log in zip(after, noise, strict=True))
    placed = tuple(0.05 * one + log for one, log in zip(SIDES, noise, strict=True))
    by_carry, by_place = (
        judged(sample(logs, pattern(values)))[0]
        for logs, values in ((carried, after), (placed, SIDES))
    )
    assert by_carry.dependence is not None and by_place.dependence is not None
    (left,), (cancelled,) = by_carry.dependence.followed, by_place.dependence.followed
    assert left.left == pytest.approx(0.05 / 3, rel=0.1)
    assert by_carry.low is not None and by_carry.low < 1 < by_carry.ratio
    assert cancelled.by == pytest.approx(0.05) and cancelled.left == 0.0
    assert by_place.dependence.widened == 1.0


def test_a_change_stands_although_the_order_matters_if_it_is_larger() -> None:
    noise = tuple(0.002 * wave for wave in (1.0, -1.0, -1.0, 1.0) * 3)
    after = (1.0, 0.0, 0.0) * 4
    logs = tuple(-0.10 + 0.03 * one + log for one, log in zip(after, noise, strict=True))
    (found,) = judged(sample(logs, pattern(after)))
    assert found.word == "slower"


@pytest.mark.parametrize("blocks", [12, 30])
def test_independent_blocks_follow_the_order_in_at_most_5_percent(blocks: int) -> None:
    random = np.random.default_rng(3)
    values = tuple(random.choice([-0.5, 0.5], blocks).tolist())
    found = [
        dependence.followed(tuple(random.normal(size=blocks).tolist()), pattern(values), 0.05)
        for _ in range(1_500)
    ]
    share = sum(one is not None for one in found) / len(found)
    assert share == pytest.approx(0.05, abs=0.02)
