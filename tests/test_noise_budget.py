"""The split of scatter into its sources, by hand and on draws, and what it foretells."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import pytest

from dbdyno.model import Segment
from dbdyno.model.noise_budget import NoiseBudget
from dbdyno.stats import noise_budget
from dbdyno.stats.noise_budget import Cost, Design, Noise
from run_builder import concluded, plan_of, series


def test_two_plateaus_by_hand() -> None:
    """Groups (1, 3) and (5, 9): within 10 / 2 = 5, between 25 = 5 + 2 · 10."""
    inner, outer = noise_budget.components({(0, 0): 1, (0, 1): 3, (1, 2): 5, (1, 3): 9})
    assert inner is not None and outer is not None
    assert (inner.value, inner.freedom) == (pytest.approx(5.0), 2)
    assert (outer.value, outer.freedom) == (pytest.approx(10.0), 1)
    # chi² with 2 degrees: -2 ln(p) is its quantile from above
    assert inner.low == pytest.approx(10 / (-2 * math.log(0.025)))
    assert inner.high == pytest.approx(10 / (-2 * math.log(0.975)))
    # F = 5 is below the 97.5 % quantile of F(1, 2), 38.5, so that 0 is not excluded
    assert outer.low == 0.0
    assert outer.high is not None and outer.high > 1000


def test_groups_of_unequal_size_by_hand() -> None:
    """n = 1 and 3: the size that counts is (4 - 10 / 4) / 1 = 1.5 (Searle et al. 1992, 3.6)."""
    inner, outer = noise_budget.components({(0, 0): 4, (1, 1): 0, (1, 2): 1, (1, 3): 2})
    assert inner is not None and outer is not None
    assert inner.value == pytest.approx(1.0)
    between = 1 * (4 - 1.75) ** 2 + 3 * (1 - 1.75) ** 2
    assert outer.value == pytest.approx((between - 1.0) / 1.5)


def test_a_level_of_one_group_is_not_told_and_one_below_its_seconds_is_below_0() -> None:
    assert noise_budget.components({(0, 0): 1.0, (0, 1): 3.0})[1] is None
    assert noise_budget.components({(0, 0): 1.0}) == (None, None)
    assert noise_budget.components({}) == ()
    outer = noise_budget.components({(0, 0): 1, (0, 1): 3, (1, 2): 1, (1, 3): 3})[1]
    assert outer is not None and outer.value == pytest.approx(-1.0)
    assert outer.low == outer.high == 0.0


def drawn(random: Random, sds: tuple[float, float, float, float]) -> dict[tuple[int, ...], float]:
    """8 comparisons of 4 blocks of 6 turns, each of 2 seconds; some turns lack a second."""
    hour, start, turn, second = sds
    found: dict[tuple[int, ...], float] = {}
    for one in range(8):
        of_hour = random.gauss(0, hour)
        for block in range(4):
            of_block = of_hour + random.gauss(0, start)
            for number in range(6):
                of_turn = of_block + random.gauss(0, turn)
                for at in range(1 if random.random() < 0.1 else 2):
                    found[one, block, number, at] = of_turn + random.gauss(0, second)
    return found


def test_drawn_components_are_found_and_their_intervals_hold() -> None:
    """100 draws: each mean within its error, each 95 % interval right in 89 to 99 %."""
    random = Random(1)
    sds = (0.02, 0.03, 0.05, 0.04)
    draws = [noise_budget.components(drawn(random, sds)) for _ in range(100)]
    for place, sd in enumerate(reversed(sds)):
        its = [one for draw in draws if (one := draw[place]) is not None]
        assert len(its) == 100
        mean = math.fsum(one.value for one in its) / 100
        spread = math.sqrt(math.fsum((one.value - mean) ** 2 for one in its) / 100)
        assert abs(mean - sd**2) < 4 * spread / math.sqrt(100)
        held = sum(one.low <= sd**2 <= one.high for one in its if one.low is not None and one.high)
        assert 89 <= held <= 99


# --- What they say of measuring otherwise -----------------------------------------------------

NOISE = Noise(hour=0.0, start=0.017**2, turn=0.15**2, second=0.0)


def test_the_best_number_of_turns_is_that_of_kalibera_and_jones() -> None:
    """17 s beside 2 s, 1.7 % and 15 %: 26 turns in place of 10."""
    design = Design(blocks=6, turns=10, turn_s=0.8)
    cost = Cost(block_s=17, turn_s=0.2)
    best = noise_budget.best_turns(design, NOISE, cost)
    assert best == pytest.approx(math.sqrt(17 / 2) * 0.15 / 0.017)
    assert round(best) == 26
    errors = {
        turns: noise_budget.error(noise_budget.with_turns(design, turns, cost), NOISE)
        for turns in (10, 20, best, 33, 50)
    }
    assert min(errors, key=lambda turns: errors[turns]) == best
    assert noise_budget.best_turns(design, Noise(hour=0, start=0, turn=1, second=0), cost) is None


def test_another_design_lasts_as_long() -> None:
    design = Design(blocks=6, turns=10, turn_s=1.0)
    cost = Cost(block_s=17, turn_s=0.2)
    lasts_s = 6 * (17 + 10 * 2 * 1.2)
    assert noise_budget.lasts_s(design, cost) == pytest.approx(lasts_s)
    longer = noise_budget.with_turns(design, 20, cost)
    assert longer.blocks == pytest.approx(lasts_s / (17 + 20 * 2 * 1.2))
    assert noise_budget.lasts_s(longer, cost) == pytest.approx(lasts_s)
    shorter = noise_budget.with_turn_s(design, 0.5, cost)
    assert (shorter.blocks, shorter.turns) == (6, pytest.approx(10 * 1.2 / 0.7))
    assert noise_budget.lasts_s(shorter, cost) == pytest.approx(lasts_s)


def test_an_error_has_each_part_divided_by_how_often_it_is_drawn() -> None:
    noise = Noise(hour=0.01, start=0.02, turn=0.03, second=0.04)
    design = Design(blocks=4, turns=5, turn_s=2.0)
    assert noise_budget.error(design, noise) == pytest.approx(
        math.sqrt(0.01 + 0.02 / 4 + 0.03 / 20 + 0.04 / 40)
    )


# --- From runs -------------------------------------------------------------------------------


def budgets(logs: list[list[list[float]]], *, turns: int, each: int | None) -> list[NoiseBudget]:
    """Of an A/A arm whose blocks have turns of segments with these log ratios to the base."""

    def cut(block: list[list[float]], own: float) -> tuple[Segment, ...]:
        return tuple(
            Segment(
                turn=number if turns else 0,
                turns=turns,
                seconds=1.0,
                rate=1000 * math.exp(own * log),
                cpu_us=None,
            )
            for number, turn in enumerate(block, start=1)
            for log in turn
        )

    both = [
        replace(run, segments=cut(block, own))
        for arm, own in (("base", 0.0), ("ghost", 1.0))
        for run, block in zip(series(arm, [1000.0] * len(logs)), logs, strict=True)
    ]
    plan = plan_of(("base", "ghost"), ghost={"same_as": "base"})
    found = concluded(both, plan, blocks_each=each).calibration
    assert found is not None
    return list(found.budget)


BLOCKS = [[[1.0, 3.0], [5.0, 9.0]], [[2.0, 4.0], [0.0, 2.0]], [[3.0, 4.0], [1.0, 5.0]]]
"""Of three blocks, two turns of two seconds each."""


def sources(budget: NoiseBudget) -> list[str]:
    return [one.source for one in budget.components]


def test_long_turns_have_seconds_and_short_ones_only_turns() -> None:
    (long,) = budgets(BLOCKS, turns=1, each=None)
    assert sources(long) == ["second", "turn", "start"]
    second = long.components[0].sd
    assert second is not None
    assert second**2 == pytest.approx((2 + 8 + 2 + 2 + 0.5 + 8) / 6)
    assert long.prospects == (), "nobody said what a block takes"
    short = [[[log] for turn in block for log in turn] for block in BLOCKS]
    (alone,) = budgets(short, turns=1, each=None)
    assert sources(alone) == ["turn", "start"]
    turn = alone.components[0].sd
    (five,) = budgets(short, turns=5, each=None)
    assert turn is not None
    assert five.components[0].sd == pytest.approx(turn * math.sqrt(5)), "five turns in each value"


def test_without_turns_there_are_seconds_and_starts_and_of_several_comparisons_hours() -> None:
    flat = [[[log for turn in block for log in turn]] for block in BLOCKS * 2]
    (one,) = budgets(flat, turns=0, each=None)
    assert (sources(one), one.turns) == (["second", "start"], None)
    (several,) = budgets(flat, turns=0, each=3)
    assert sources(several) == ["second", "start", "hour"]
    assert several.components[2].sd is None, "both comparisons are the same"
    assert budgets(flat[:2], turns=0, each=None) == []
