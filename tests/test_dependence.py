"""Whether blocks depend on each other: statistics by hand, and what they do to words."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import simulation
from dbdyno.model.looks import Look, Looks
from dbdyno.model.open_steps import needs_blocks
from dbdyno.model.verdict import Aims, Judgement, Order
from dbdyno.stats import decision, dependence, interval
from dbdyno.stats.dependence import DependenceKind, Numbers
from dbdyno.stats.fills import FillCount
from dbdyno.stats.interval import Spread, share_interval
from dbdyno.stats.look_tests import Unit
from dbdyno.stats.looks import scheduled
from dbdyno.stats.sample import OrderPattern, Sample
from dbdyno.stats.tolerance import losses
from dependent_blocks import Host, Orders, chained, draw, ends, false_words, ordered
from simulation import MEASURED_SD, Model, Share, decided

WAVES = (1.0, 1.0, -1.0, -1.0) * 3
SLOW = (1.0, 1.2, 0.9, 0.4, 0.1, -0.4, -0.8, -1.2, -1.0, -0.5, 0.0, 0.3)
SIDES = (0.5, -0.5) * 6


def sample(logs: tuple[float, ...], *patterns: OrderPattern) -> Sample:
    return Sample(metric="qps", better=1, logs=logs, patterns=patterns)


def pattern(values: tuple[float, ...], name: Order = "predecessor") -> OrderPattern:
    return OrderPattern(name=name, values=values)


def unit(of: Sample, looks: Sequence[Look]) -> Unit:
    seen = tuple((look, (replace(of, logs=of.logs[: look.blocks]),)) for look in looks)
    return Unit(samples=(of,), looks=seen)


def judged(*samples: Sample, first: int = 12) -> list[Judgement]:
    looks = [one for one in scheduled(Looks(first=first)) if one.blocks <= len(samples[0].logs)]
    units = [unit(one, looks) for one in samples]
    return [its[0] for its in decision.decide(units, Aims(), done=len(samples[0].logs))]


# --- Kinds of dependence ---------------------------------------------------------------------


def around(mean: float, logs: Sequence[float]) -> tuple[float, ...]:
    return tuple(mean + log for log in logs)


def drawn(seed: int, blocks: int) -> tuple[float, ...]:
    return tuple((0.01 * np.random.default_rng(seed).normal(size=blocks)).tolist())


def copies(*values: int) -> tuple[int, ...]:
    return values


def test_a_kind_has_the_covariance_that_it_is_named_after() -> None:
    chain = DependenceKind(weight=1, kept=0.5).covariance(copies(1, 1, 1))
    assert chain.tolist() == [[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]]
    walk = DependenceKind(weight=1, step=2.0).covariance(copies(1, 1, 1))
    assert walk.tolist() == [[5, 4, 4], [4, 9, 8], [4, 8, 13]]
    by_copy = DependenceKind(weight=1, copy=3.0).covariance(copies(1, 2, 1))
    assert by_copy.tolist() == [[10, 0, 9], [0, 10, 0], [9, 0, 10]]
    assert DependenceKind(weight=1).covariance(copies(1, 2)).tolist() == [[1, 0], [0, 1]]


def by_hand(values: Numbers) -> list[float]:
    """The kinds' weights, by other contrasts: what each block is by the next."""
    blocks = values.shape[-1]
    differences = np.diff(np.eye(blocks), axis=0)
    logs = []
    for kind in dependence.KINDS:
        covariance = differences @ kind.covariance((1,) * blocks) @ differences.T
        squares = [y @ np.linalg.solve(covariance, y) for y in values @ differences.T]
        size = np.linalg.slogdet(covariance)[1]
        logs.append(
            math.log(kind.weight)
            + sum(-size / 2 - (blocks - 1) / 2 * math.log(square) for square in squares)
        )
    weights = np.exp(np.array(logs) - max(logs))
    return (weights / weights.sum()).tolist()


def test_drift_is_as_likely_as_residual_likelihood_says_whatever_the_contrasts() -> None:
    values = np.array([SLOW])
    drift = dependence.weighed(values, (1,) * 12).drift
    assert float(drift) == pytest.approx(1 - by_hand(values)[0])
    assert 0.5 < float(drift) < 1


def test_blocks_of_independent_steps_count_each_and_of_tied_ones_once() -> None:
    """A second step with the same residuals says nothing, another as much as the first."""
    one, copy = np.array([SLOW]), np.array([SLOW, SLOW])
    shifted = np.array([SLOW, np.roll(SLOW, 3)])
    drift = [float(dependence.weighed(its, (1,) * 12).drift) for its in (one, copy, shifted)]
    assert drift[1] == pytest.approx(drift[0]) and drift[2] > drift[0]


def test_two_blocks_are_as_wide_as_what_is_assumed_whatever_they_are() -> None:
    near, far = (dependence.weighed(np.array([its]), (1, 1)) for its in ((0.0, 0.1), (0.0, 9.0)))
    assert near.widening.tolist() == pytest.approx(far.widening.tolist())
    assumed = sum(kind.weight for kind in dependence.KINDS if kind.drifts)
    assert float(near.drift) == pytest.approx(assumed) and float(near.widening[0]) > 1


def test_an_interval_is_left_by_all_kinds_together_in_as_many_cases_as_said() -> None:
    """Each kind's t interval, by its weight, with the variance that it gives to the mean."""
    from scipy.special import stdtr, stdtrit

    values = np.array([WAVES])
    found = dependence.weighed(values, (1,) * 12)
    own = values.var(ddof=1) / 12
    reach = -stdtrit(11, dependence.TAIL / 2) * math.sqrt(float(found.widening[0]) * own)
    beyond = 0.0
    for kind, weight in zip(dependence.KINDS, by_hand(values), strict=True):
        covariance = kind.covariance((1,) * 12)
        differences = np.diff(np.eye(12), axis=0)
        y = differences @ values[0]
        scale = y @ np.linalg.solve(differences @ covariance @ differences.T, y) / 11
        beyond += weight * 2 * stdtr(11, -reach / math.sqrt(scale * covariance.mean()))
    assert beyond == pytest.approx(dependence.TAIL, rel=0.01)


@pytest.mark.usefixtures("independent_here")
def test_independent_blocks_alone_widen_nothing() -> None:
    found = dependence.weighed(np.array([WAVES]), (1,) * 12)
    assert float(found.drift) == 0 and found.widening.tolist() == pytest.approx([1.0])


def test_fills_as_units_are_not_widened_and_steps_without_scatter_stay_so() -> None:
    logs = tuple(0.01 * wave for wave in WAVES)
    own = interval.own_spread(logs)
    assert own is not None
    fills = replace(sample(logs), fills=FillCount(planned=12, blocks=24))
    assert dependence.widened([own], [fills]) == [own]
    still = Spread(sd=0.0, freedom=11)
    first, second = dependence.widened([own, still], [sample(logs), sample((0.2,) * 12)])
    assert first.sd > own.sd and second.sd == 0.0


def test_copies_that_differ_widen_and_others_hardly() -> None:
    """Blocks begin from two copies by turns, five times the noise apart, or not."""
    noise = np.array(drawn(4, 12))
    apart = tuple((noise + np.array([0.05, 0.0] * 6)).tolist())
    by_turns = (1, 2) * 6
    wide, plain = (
        dependence.weighed(np.array([its]), by_turns).widening[0] for its in (apart, noise)
    )
    assert wide > 2.5 > plain
    assert float(dependence.weighed(np.array([apart]), (1,) * 12).widening[0]) < 1.5


def test_an_interval_is_as_much_wider_as_its_judgement_says() -> None:
    logs = around(0.02, drawn(1, 12))
    (found,) = judged(sample(logs))
    plain = interval.log_interval(logs)
    assert found.dependence is not None and plain.low is not None and found.so_far.low is not None
    reach = math.log(found.so_far.value / found.so_far.low)
    assert reach == pytest.approx(found.dependence.widened * math.log(plain.value / plain.low))
    own = interval.own_spread(logs)
    assert own is not None and found.sd == pytest.approx(own.sd), "blocks scatter as they do"


def test_steps_and_metrics_share_the_drift_and_an_unlike_number_of_blocks_is_apart() -> None:
    found = judged(sample(drawn(1, 12)), sample(drawn(2, 12)), sample(drawn(3, 11)), first=11)
    told = [one.dependence for one in found]
    assert told[0] is not None and told[1] is not None and told[2] is not None
    assert told[0].drift == told[1].drift != told[2].drift


def test_no_word_rests_on_blocks_that_drift_and_a_plan_goes_on_with_them() -> None:
    """Twelve blocks that rise from +4 to +6 %, and the same in another order."""
    rising = tuple(np.linspace(0.04, 0.06, 12).tolist())
    (drifting,) = judged(sample(rising))
    assert (drifting.word, drifting.reason) == ("open", "blocks drift")
    assert drifting.dependence is not None and drifting.dependence.withholds
    assert needs_blocks(drifting)
    mixed = tuple(rising[place] for place in (5, 0, 9, 3, 11, 1, 7, 4, 10, 2, 8, 6))
    assert judged(sample(mixed))[0].word == "faster"


def test_blocks_that_drift_exclude_no_loss_and_show_none() -> None:
    """By a tolerance of 5 %: −1 to +1 % is far within it, −25 to −15 % far beyond."""
    for mean, size in ((0.0, 0.01), (-0.2, 0.05)):
        drifting, mixed = (
            tuple((mean + size * np.linspace(-1, 1, 12)[list(order)]).tolist())
            for order in (range(12), (5, 0, 9, 3, 11, 1, 7, 4, 10, 2, 8, 6))
        )
        ((held,),), ((free,),) = (
            losses([unit(sample(logs), [Look(blocks=12, share=0.5)])], 0.05, Aims(), done=12)
            for logs in (drifting, mixed)
        )
        assert not held.excluded and not held.lost
        assert free.excluded != free.lost


def test_an_early_look_s_same_does_not_stand_beside_a_mean_beyond_the_margin() -> None:
    """Where the ratio moves in the midst of a plan, blocks depend on each other."""
    quiet = (0.001, -0.0005, -0.00125, 0.00075)
    assert judged(sample(quiet), first=4)[0].word == "same"
    (found,) = judged(sample((*quiet, *(0.3 + log for log in quiet * 3))), first=4)
    assert found.dependence is not None and found.dependence.widened > 2
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
    ratio, low, _ = by_carry.told
    assert low is not None and low < 1 < ratio
    assert cancelled.by == pytest.approx(0.05) and cancelled.left == 0.0
    assert by_place.dependence.widened < 1.2 < by_carry.dependence.widened


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


# Simulated hosts whose runs depend on each other: what the order of the arms and widening hold.
# `make calibrate` draws more (tools/dependence_tables.py).


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
