"""The whole procedure on simulated comparisons: its error rates are those that it claims.

All draws are seeded. Shares are held to their claims as far as so many draws tell: a rate is too
high where the lower end of its 99 % interval is. `make calibrate` draws many more.
"""

from __future__ import annotations

import numpy as np
import pytest

import peer_rules
from dbdyno.model.verdict import Aims
from dbdyno.stats.interval import share_interval
from simulation import (
    Model,
    Share,
    called,
    coverage,
    draw,
    judged,
    reported,
    sign,
    spreads,
)

AIMS = Aims()


def seeded(*numbers: int) -> np.random.Generator:
    return np.random.default_rng([6, *numbers])


def at_most(share: Share, claimed: float) -> bool:
    """Whether a share does not contradict that it is at most this in truth.

    By a 99 % interval, as many are asked.
    """
    return share_interval(share.count, share.total, 0.99)[0] <= claimed


# --- The interval ----------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", range(3, 21))
def test_intervals_cover_the_true_ratio_in_93_to_97_percent(blocks: int) -> None:
    assert 0.93 <= coverage(blocks, 4_000, seeded(blocks)).value <= 0.97


# --- False alarms ----------------------------------------------------------------------------


def test_the_simulated_decision_is_the_lab_s_own() -> None:
    random = seeded(1)
    seen = set()
    for steps in (1, 5, 42):
        model = Model(steps=steps, slower=(steps + 1) // 3, effect=0.05)
        for blocks in (2, 3, 6, 12):
            logs = draw(model, spreads(model, random), blocks, random)
            expected = [sign(judgement) for judgement in judged(logs, AIMS)]
            assert called(logs, AIMS).ravel().tolist() == expected
            seen |= set(expected)
    assert seen >= {0, -1}


@pytest.mark.parametrize(("steps", "trials"), [(1, 2_000), (4, 2_000), (42, 1_500)])
@pytest.mark.parametrize("blocks", [3, 6, 12])
def test_where_nothing_differs_at_most_5_percent_of_comparisons_say_so(
    steps: int, trials: int, blocks: int
) -> None:
    found = reported(Model(steps=steps), blocks, trials, seeded(steps, blocks), AIMS)
    assert at_most(found.alarms, AIMS.level)
    assert found.alarms.value > 0.02  # there is something that could be too much


def test_steps_judged_each_for_itself_would_alarm_in_most_comparisons() -> None:
    model, random = Model(steps=42), seeded(2)
    alarmed = 0
    for _ in range(100):
        logs = draw(model, spreads(model, random), 6, random)
        alarmed += any(called([step], AIMS).any() for step in logs)
    assert alarmed > 50


@pytest.mark.parametrize("shared", [0.0, 0.3, 0.8])
def test_of_what_is_reported_at_most_5_percent_is_false(shared: float) -> None:
    model = Model(steps=42, slower=6, effect=0.05, shared=shared)
    found = reported(model, 6, 500, seeded(3), AIMS)
    assert found.false_mean <= AIMS.level + 0.01  # the mean's own error is 0.4 points
    assert found.found.value > 0.8


def test_a_change_as_large_as_the_margin_is_called_the_same_in_at_most_5_percent() -> None:
    model, random = Model(steps=1, slower=1, effect=AIMS.margin, unlike=0.0), seeded(4)
    words = [
        judged(draw(model, spreads(model, random), 8, random), AIMS)[1].word for _ in range(1_000)
    ]
    assert at_most(Share(count=words.count("same"), total=len(words)), AIMS.level)


# --- For contrast ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("one run each, Welch's test on its seconds, p ≤ .05", 0.60, 0.80),
        ("one run each, slower by more than 2.5 %", 0.06, 0.18),
        ("six runs of one, then six of the other, Welch's test", 0.15, 0.35),
        ("pairs, looked at after 3, 4, 6, 8 and 12", 0.10, 0.22),
        ("**six pairs in random order, t on log ratios**", 0.02, 0.08),
    ],
)
def test_usual_rules_alarm_more_often_than_pairs(name: str, low: float, high: float) -> None:
    assert low <= peer_rules.calls(name, 400, seeded(9), effect=0.0) / 400 <= high
