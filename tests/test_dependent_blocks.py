"""Simulated hosts whose runs depend on each other: what the order of the arms and widening hold.

`make calibrate` draws more (tools/dependence_tables.py).
"""

from functools import partial

import numpy as np
import pytest

import simulation
from dbdyno.model.looks import Looks
from dbdyno.model.verdict import Aims
from dbdyno.stats.interval import share_interval
from dbdyno.stats.looks import scheduled
from dependent_blocks import Host, Orders, chained, draw, ends, false_words, ordered
from simulation import MEASURED_SD, Model, Share, decided

AIMS = Aims()
UNTIL_DECIDED = scheduled(Looks(first=None))
COMPARISONS = 600


def orders(name: str, arms: int = 2) -> Orders:
    return ordered(name, arms, COMPARISONS, UNTIL_DECIDED[-1].blocks, 7)


def words(host: Host, name: str = "linked", arms: int = 2, *, widen: bool = True) -> Share:
    logs = draw(host, orders(name, arms), np.random.default_rng(8))
    return false_words(logs, UNTIL_DECIDED, AIMS, widen=widen)


def at_most(share: Share, claimed: float) -> bool:
    """Whether a share does not contradict that it is at most this in truth, by a 99 % interval."""
    return share_interval(share.count, share.total, 0.99)[0] <= claimed


@pytest.mark.parametrize(
    ("host", "arms"),
    [
        (Host(carry=0.10), 2),
        *(
            pytest.param(*some, marks=pytest.mark.long)
            for some in (
                (Host(), 2),
                (Host(kept=0.3), 3),
                (Host(kept=0.5), 2),
                (Host(carry=0.05), 3),
                (Host(carry=0.10, carrier=0), 3),
                (Host(first=0.10), 2),
                (Host(alternate=0.10), 3),
            )
        ),
    ],
    ids=["carry 10", "independent", "0.3", "0.5", "carry 5", "base", "first", "modes"],
)
def test_until_decided_5_percent_are_false_whatever_runs_leave_to_the_next(host: Host, arms: int):
    assert at_most(words(host, arms=arms), AIMS.level)


@pytest.mark.parametrize(
    ("host", "order", "arms"),
    [
        (Host(carry=0.05), "drawn, then reversed", 2),
        (Host(carry=0.02), "drawn", 2),
        (Host(first=0.10), "drawn", 2),
        (Host(carry=0.05), "reversed for ever", 3),
        (Host(second_block=0.10), "reversed for ever", 2),
    ],
)
def test_other_orders_would_be_wrong_more_often(host: Host, order: str, arms: int) -> None:
    assert not at_most(words(host, order, arms, widen=False), 2 * AIMS.level)


def test_orders_of_the_lab_let_a_third_of_what_comes_with_every_second_block_through() -> None:
    assert 0.2 < words(Host(second_block=0.10), widen=False).value < 0.4


@pytest.mark.parametrize(
    "host",
    [
        Host(stays=0.5),
        *(
            pytest.param(host, marks=pytest.mark.long)
            for host in (
                Host(stays=0.3, steps=4),
                Host(stays=0.5, steps=4),
                Host(stays=0.5, steps=12),
                Host(fill=0.005, fills=2, steps=4),
                Host(fill=0.005, fills=2, steps=12),
            )
        ),
    ],
)
def test_what_stays_with_an_arm_makes_at_most_7_percent_of_plans_false(host: Host) -> None:
    comparisons = 2_400 // (host.steps + 3)
    assert at_most(ends(host, UNTIL_DECIDED, comparisons, 11).false, 0.07)


def test_independence_would_make_a_fifth_of_them_false() -> None:
    found = ends(Host(stays=0.5), UNTIL_DECIDED, 600, 11, widen=False)
    assert found.false.value > 0.15 and found.drifting.count == 0


def test_most_plans_whose_blocks_keep_most_of_their_noise_end_without_a_word() -> None:
    found = ends(Host(stays=0.8), UNTIL_DECIDED, 400, 11)
    assert found.drifting.value > 0.5 and at_most(found.false, 0.17)


def test_what_no_number_of_blocks_shows_stays_wrong_and_two_fills_mend_it() -> None:
    one, two = (
        ends(Host(fill=0.01, fills=fills), UNTIL_DECIDED, 400, 11).false.value for fills in (1, 2)
    )
    assert one > 0.16 > 0.15 > two


def test_a_change_of_5_percent_takes_half_as_many_blocks_again_where_blocks_are_independent() -> (
    None
):
    model = Model(steps=1, slower=1, effect=0.05)
    found, plain = (
        decided(model, UNTIL_DECIDED, 600, np.random.default_rng(10), AIMS, judged)
        for judged in (simulation.tests, partial(simulation.tests, widen=False))
    )
    assert found.slower.value > 0.97 * plain.slower.value
    assert 1.3 < found.blocks / plain.blocks < 1.7


def test_draws_scatter_and_keep_what_they_are_asked_to() -> None:
    noise = chained(np.random.default_rng(1).normal(size=(4_000, 20)), 0.5)
    assert noise.std(axis=0) == pytest.approx(np.ones(20), abs=0.05)
    assert (noise[:, 9] * noise[:, 10]).mean() == pytest.approx(0.5, abs=0.05)
    for host in (Host(), Host(kept=0.5), Host(stays=0.5), Host(noise="skewed")):
        logs = draw(host, orders("drawn"), np.random.default_rng(2))
        assert logs.shape == (COMPARISONS, 1, 2, 30)
        of_blocks = logs.std(axis=(0, 1, 3))
        assert of_blocks == pytest.approx(np.array(MEASURED_SD), rel=0.15)


@pytest.mark.parametrize("name", ["drawn", "drawn, then reversed", "Williams", "linked"])
def test_every_block_of_every_order_has_each_arm_once(name: str) -> None:
    assert (np.sort(orders(name, 3), axis=-1) == np.arange(3)).all()
