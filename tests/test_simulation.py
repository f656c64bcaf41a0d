"""The whole procedure on simulated comparisons: its error rates are those that it claims.

All draws are seeded. Shares are held to their claims as far as so many draws tell: a rate is too
high where the lower end of its 99 % interval is. `make calibrate` draws many more.
"""

from collections.abc import Sequence

import numpy as np
import pytest

from dbdyno.model.looks import Look, Looks
from dbdyno.model.verdict import Aims, shaded
from dbdyno.stats.interval import share_interval
from dbdyno.stats.looks import scheduled
from ended_plans import ended, judged
from simulation import (
    Model,
    Said,
    Share,
    alarms,
    alarms_once,
    all_lent,
    coverage,
    decided,
    draw,
    own,
    reported,
    walk,
)

AIMS = Aims()
LONG = pytest.mark.long
"""`make test` has each rule of judging once; further steps, blocks and noises say the same."""
UNTIL_DECIDED = scheduled(Looks(first=None))


def seeded(*numbers: int) -> np.random.Generator:
    return np.random.default_rng([6, *numbers])


def halving(first: int, most: int) -> list[Look]:
    """The looks of `blocks = N` up to so many blocks."""
    return [look for look in scheduled(Looks(first=first)) if look.blocks <= most]


def first_look(blocks: int) -> list[Look]:
    return halving(blocks, blocks)


def at_most(share: Share, claimed: float) -> bool:
    """Whether a share does not contradict that it is at most this in truth.

    By a 99 % interval, as many are asked.
    """
    return share_interval(share.count, share.total, 0.99)[0] <= claimed


# --- The walk is the lab's own decision ------------------------------------------------------


def word(said: Said, unit: int, metric: int) -> str:
    """The word of one metric of the first comparison that is walked."""
    changed, within = said.changed[0, unit, metric], said.within[0, unit, metric]
    if not changed:
        return "same" if within else "open"
    if changed > 0:
        return "faster, within the margin" if within else "faster"
    return "slower, within the margin" if within else "slower"


@pytest.mark.parametrize(
    ("steps", "comparisons"),
    [(4, 4), *(pytest.param(*some, marks=LONG) for some in ((1, 24), (2, 16), (12, 8)))],
)
def test_what_the_walk_says_at_each_look_is_what_the_lab_decides(steps: int, comparisons: int):
    random = seeded(1, steps)
    plans = (
        (UNTIL_DECIDED, AIMS),
        (halving(2, 16), AIMS),
        (scheduled(Looks(first=None, last=5)), AIMS),
    )
    seen = set()
    for number in range(comparisons):
        looks, aims = plans[number % len(plans)]
        sd = (0.004, 0.003) if number % 3 == 0 else (0.026, 0.016)
        effect = (0.0, 0.015, 0.05, -0.08)[(number // 2) % 4]
        moved = ((True, True), (False, True), (True, False))[number % 3]
        model = Model(steps=steps, sd=sd, slower=(steps + 1) // 2, effect=effect, moved=moved)
        logs, _ = draw(model, 1, looks[-1].blocks, random)
        for place, said in enumerate(walk(logs, looks, aims)):
            if place not in (0, 2, len(looks) - 1):
                continue  # judging takes long
            expected = [
                [shaded(one) for one in its] for its in judged(logs[0], looks[: place + 1], aims)
            ]
            found = [
                [word(said, unit, metric) for metric in (0, 1)] for unit in range(len(expected))
            ]
            assert found == expected
            seen |= {one for its in expected for one in its}
    assert seen >= {"same", "open", "faster", "slower"} or comparisons < 8


# --- Intervals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "blocks"),
    [
        *((1, 3), (12, 4)),
        *(pytest.param(*some, marks=LONG) for some in ((2, 10), (4, 3), (4, 6), (12, 3), (12, 10))),
    ],
)
def test_intervals_cover_the_true_ratio_in_94_to_99_percent(steps: int, blocks: int) -> None:
    found = coverage(Model(steps=steps), blocks, 6_000 // steps, seeded(2, steps, blocks))
    assert 0.94 <= found.all.value <= 0.99
    assert found.loudest.value >= 0.90


@pytest.mark.usefixtures("independent_here")
def test_with_all_that_smyth_s_rule_lends_loud_steps_would_not_be_covered() -> None:
    assert coverage(Model(steps=12), 3, 500, seeded(2), all_lent).loudest.value < 0.88


@LONG
def test_what_stands_beside_words_holds_the_truth_in_95_percent_of_ended_plans() -> None:
    model = Model(steps=1, sd=(0.107, 0.107), unlike=0.0, slower=1, effect=0.03)
    found = ended(model, UNTIL_DECIDED, 600, seeded(13))
    assert found.shown.held.value >= 0.94
    assert 0.45 <= found.shown.beyond.value <= 0.55
    assert found.shown.held_decided.value > found.plain.held_decided.value
    assert found.shown.size < found.plain.size


# --- False alarms ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "shared"),
    [(4, 0.8), *(pytest.param(*some, marks=LONG) for some in ((1, 0.3), (2, 0.8), (12, 0.3)))],
)
@pytest.mark.parametrize(
    ("looks", "aims"),
    [
        (halving(2, 16), AIMS),
        (halving(3, 24), AIMS),
        (halving(6, 24), AIMS),
        (UNTIL_DECIDED, AIMS),
        (scheduled(Looks(first=None, last=5)), AIMS),
    ],
    ids=["from 2", "from 3", "from 6", "until decided", "time over"],
)
def test_however_often_it_is_looked_at_five_percent_of_equal_comparisons_alarm(
    looks: Sequence[Look], aims: Aims, steps: int, shared: float
) -> None:
    found = alarms(Model(steps=steps, shared=shared), looks, 500, seeded(3, steps), aims)
    assert at_most(found[-1], AIMS.level)


@pytest.mark.usefixtures("independent_here")
def test_looks_at_the_whole_level_would_alarm_too_often() -> None:
    looks = [Look(blocks=look.blocks, share=1.0) for look in UNTIL_DECIDED]
    assert not at_most(alarms(Model(steps=1), looks, 1_000, seeded(4), AIMS)[-1], 2 * AIMS.level)


@pytest.mark.parametrize(
    "noise",
    [
        Model(steps=4),
        Model(steps=4, shared=0.8),
        Model(steps=12, shared=0.8),
        Model(steps=42),
        Model(steps=4, noise="heavy tails"),
        Model(steps=4, noise="stalls"),
        Model(steps=4, unlike=0.8),
        Model(steps=4, loudest=5.0),
    ],
    ids=["as usual", "80 %", "12 at 80 %", "42", "tails", "stalls", "unlike", "one loud"],
)
@pytest.mark.parametrize("blocks", [3, pytest.param(4, marks=LONG)])
def test_a_first_look_keeps_the_level_under_any_noise(noise: Model, blocks: int) -> None:
    trials = 8_000 // noise.steps
    half, whole = alarms_once(noise, blocks, trials, seeded(5, blocks))
    assert at_most(half, AIMS.level)
    assert at_most(whole, 0.07 if noise.loudest > 1 else 0.06)


@pytest.mark.usefixtures("independent_here")
def test_with_all_that_smyth_s_rule_lends_alarms_would_be_false() -> None:
    _, whole = alarms_once(Model(steps=12, shared=0.8), 3, 500, seeded(6), all_lent)
    assert not at_most(whole, 3 * AIMS.level)


@pytest.mark.usefixtures("independent_here")
def test_steps_judged_each_for_itself_would_alarm_in_most_comparisons() -> None:
    logs, _ = draw(Model(steps=42), 100, 6, seeded(7))
    alone = logs.reshape(-1, 1, 2, 6)
    look = Look(blocks=6, share=1.0)
    (said,) = walk(alone, [look], AIMS, own)
    assert (said.changed != 0).any(axis=(1, 2)).reshape(100, 42).any(axis=1).mean() > 0.5


# --- What is reported ------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [0.3, *(pytest.param(it, marks=LONG) for it in (0.0, 0.8))])
def test_of_what_is_reported_at_most_5_percent_is_false(shared: float) -> None:
    model = Model(steps=42, slower=6, effect=0.05, shared=shared)
    found = reported(model, Look(blocks=6, share=0.5), 300, seeded(8), AIMS)
    assert found.false_mean <= AIMS.level
    assert found.found.value > 0.5


@pytest.mark.parametrize("moved", [(True, False), (False, True)], ids=["throughput", "CPU"])
def test_a_change_as_large_as_the_margin_is_called_the_same_in_at_most_7_percent(
    moved: tuple[bool, bool],
) -> None:
    model = Model(steps=4, slower=1, effect=AIMS.margin, moved=moved)
    assert at_most(decided(model, UNTIL_DECIDED, 800, seeded(9), AIMS).same, 0.07)


# --- What is found ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "blocks", "effect", "expected"),
    [(12, 3, 0.10, 0.46), (4, 3, 0.10, 0.48), (4, 4, 0.05, 0.32), (1, 4, 0.05, 0.42)],
)
def test_a_first_look_finds_what_the_page_promises(
    steps: int, blocks: int, effect: float, expected: float
) -> None:
    model = Model(steps=steps, slower=1, effect=effect)
    found = decided(model, first_look(blocks), 1_000, seeded(10), AIMS).slower
    low, high = share_interval(found.count, found.total, 0.99)
    assert low <= expected <= high


def test_five_percent_are_told_after_eight_blocks_on_average_and_ten_after_five() -> None:
    found = [
        decided(Model(steps=4, slower=1, effect=effect), UNTIL_DECIDED, 500, seeded(11), AIMS)
        for effect in (0.05, 0.10)
    ]
    assert 6.5 < found[0].blocks < 8.5
    assert found[1].blocks < 5.5
    assert min(one.slower.value for one in found) > 0.98


def test_that_nothing_differs_is_told_in_most_plans_before_their_last_look() -> None:
    found = decided(Model(steps=4), UNTIL_DECIDED, 500, seeded(12), AIMS)
    assert found.same.value > 0.9 and found.blocks < 16
