"""Words for families of log ratios: each by what it stands for, none beside another."""

import math
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from dbdyno.model.looks import Look, Looks
from dbdyno.model.verdict import Aims, Judgement, Word
from dbdyno.stats import decision, interval, looks, moderation, significance, stage_wise
from dbdyno.stats.look_tests import Unit
from dbdyno.stats.sample import Sample
from dbdyno.stats.stage_wise import Stage
from one_look import decide
from verdict_builder import said

AIMS = Aims()
pytestmark = pytest.mark.usefixtures("independent_blocks")
MIRRORED: dict[Word, Word] = {"faster": "slower", "slower": "faster"}

change = st.floats(min_value=-0.3, max_value=0.3)
blocks = st.lists(change, min_size=1, max_size=8)
families = st.lists(blocks, min_size=1, max_size=6)


def sample(*logs: float, better: int = 1, bound: str = "exact", metric: str = "qps") -> Sample:
    """A metric whose log ratios are these."""
    return Sample(metric=metric, better=better, logs=logs, bound=bound)


def around(mean: float, sd: float, count: int) -> tuple[float, ...]:
    """So many log ratios with exactly this mean and standard deviation."""
    raw = np.linspace(-1, 1, count)
    return tuple(float(mean + sd * value) for value in raw / raw.std(ddof=1))


def judged(*logs: float, better: int = 1, bound: str = "exact") -> Judgement:
    """The judgement of a metric that is alone in its family."""
    return decide([sample(*logs, better=better, bound=bound)], AIMS)[0]


# --- The words ---


@pytest.mark.parametrize(
    ("mean", "sd", "word"),
    [
        (0.10, 0.02, "faster"),
        (-0.10, 0.02, "slower"),
        (0.010, 0.005, "faster, within the margin"),
        (-0.010, 0.005, "slower, within the margin"),
        (0.028, 0.005, "faster"),  # a change is there; that it is within 3 % is not
        (0.001, 0.010, "same"),
        (0.020, 0.040, "open"),
        (0.0, 0.0, "same"),
        (0.02, 0.0, "faster, within the margin"),
        (-0.05, 0.0, "slower"),
    ],
)
def test_the_word_of_six_blocks(mean: float, sd: float, word: str) -> None:
    assert said(judged(*around(mean, sd, 6))) == word


@given(families)
@pytest.mark.long
def test_each_word_is_what_the_tests_say_and_no_two_can_be_true(family: list[list[float]]) -> None:
    for logs, found in zip(family, decide([sample(*logs) for logs in family], AIMS), strict=True):
        p = significance.equivalence_p(logs, AIMS.margin)
        within = p is not None and p <= AIMS.level / significance.SAME_SHARE
        changed = found.q is not None and found.q <= AIMS.level
        more = math.fsum(logs) > 0
        true = {
            "one block": len(logs) == 1,
            "faster": changed and more and not within,
            "slower": changed and not more and not within,
            "faster, within the margin": changed and more and within,
            "slower, within the margin": changed and not more and within,
            "same": found.q is not None and not changed and within,
            "open": found.q is not None and not changed and not within,
        }
        assert [word for word, holds in true.items() if holds] == [said(found)]


@given(families)
@pytest.mark.long
def test_what_changed_has_an_interval_on_its_side_of_one(family: list[list[float]]) -> None:
    for found in decide([sample(*logs) for logs in family], AIMS):
        if found.word.startswith("faster"):
            assert found.so_far.low is not None and found.so_far.low >= 1
        if found.word.startswith("slower"):
            assert found.so_far.high is not None and found.so_far.high <= 1


@given(families)
@pytest.mark.long
def test_swapping_arm_and_base_mirrors_the_words(family: list[list[float]]) -> None:
    there = decide([sample(*logs) for logs in family], AIMS)
    back = decide([sample(*(-log for log in logs)) for logs in family], AIMS)
    for one, other in zip(there, back, strict=True):
        assert other.word == MIRRORED.get(one.word, one.word)
        assert other.so_far.value == pytest.approx(1 / one.so_far.value)
        assert (other.p, other.q, other.p_sign) == (one.p, one.q, one.p_sign)
        assert (other.visible, other.blocks_needed) == (one.visible, one.blocks_needed)


@given(families)
@pytest.mark.long
def test_where_less_is_better_the_same_ratios_have_the_opposite_words(family: list[list[float]]):
    more = decide([sample(*logs, better=1) for logs in family], AIMS)
    less = decide([sample(*logs, better=-1) for logs in family], AIMS)
    neither = decide([sample(*logs, better=0) for logs in family], AIMS)
    assert [one.word for one in less] == [MIRRORED.get(one.word, one.word) for one in more]
    assert neither == more


@given(
    st.lists(st.tuples(st.floats(10, 1e5), st.floats(10, 1e5)), min_size=2, max_size=8),
    st.integers(min_value=-20, max_value=20),
)
@pytest.mark.long
def test_other_units_change_nothing(pairs: list[tuple[float, float]], power: int) -> None:
    """By powers of two, so that the numbers stay exact."""
    base, other = zip(*pairs, strict=True)
    scaled = ([value * 2.0**power for value in side] for side in (base, other))
    assert judged(*interval.log_ratios(base, other)) == judged(*interval.log_ratios(*scaled))


@given(families, st.randoms(use_true_random=False))
@pytest.mark.long
def test_the_order_of_the_family_changes_nothing(family: list[list[float]], random: Random) -> None:
    samples = [sample(*logs, metric=str(number)) for number, logs in enumerate(family)]
    shuffled = random.sample(samples, len(samples))
    found = {judgement.metric: judgement for judgement in decide(shuffled, AIMS)}
    assert list(found.values()) == [found[one.metric] for one in shuffled]
    assert decide(samples, AIMS) == [found[one.metric] for one in samples]


# --- One block, none ---


def test_one_block_has_a_ratio_and_decides_nothing() -> None:
    found = judged(0.2)
    assert said(found) == "one block" and found.blocks == 1
    assert found.so_far.value == pytest.approx(math.exp(0.2))
    nothing = (found.so_far.low, found.p, found.p_sign, found.q, found.sd, found.visible)
    assert nothing == (None,) * 6 and found.blocks_needed is None


def test_a_sample_of_one_block_does_not_weigh_on_the_others() -> None:
    alone = judged(*around(0.05, 0.04, 6))
    beside = decide([sample(0.2), sample(*around(0.05, 0.04, 6)), sample(-0.2)], AIMS)
    assert beside[1] == alone


def test_no_blocks_are_a_mistake_of_ours_and_no_tests_no_judgements() -> None:
    assert decide([], AIMS) == []
    with pytest.raises(ValueError):
        decide([sample()], AIMS)


# --- The family ---


@given(families)
@pytest.mark.long
def test_q_values_are_those_of_the_family(family: list[list[float]]) -> None:
    tested = [one for one in decide([sample(*logs) for logs in family], AIMS) if one.p is not None]
    if tested:
        expected = multipletests([one.p for one in tested], method="fdr_bh")[1]
        assert [one.q for one in tested] == pytest.approx(list(expected), rel=1e-12)


def test_a_change_that_stands_alone_can_be_lost_among_many() -> None:
    weak, still = around(0.022, 0.020, 6), around(0.0005, 0.030, 6)
    assert judged(*weak).word == "faster"
    among = decide([sample(*weak)] + [sample(*still)] * 40, AIMS)
    assert among[0].word == "open"
    assert among[0].p == judged(*weak).p


# --- Bounds ---


@pytest.mark.parametrize(
    ("mean", "bound", "better", "word"),
    [
        (0.10, "at least", 1, "faster"),
        (0.10, "at most", 1, "generator at its limit"),
        (-0.10, "at most", 1, "slower"),
        (-0.10, "at least", 1, "generator at its limit"),
        (-0.10, "at most", -1, "faster"),
        (0.10, "unknown", 1, "generator at its limit"),
        (-0.10, "unknown", 1, "generator at its limit"),
        (0.0, "at least", 1, "generator at its limit"),
        (0.0, "at most", 1, "generator at its limit"),
        (0.010, "at least", 1, "faster"),  # it may be more, so it is not within the margin
        (-0.010, "at most", 1, "slower"),
    ],
)
def test_a_bound_leaves_standing_what_it_makes_only_stronger(
    mean: float, bound: str, better: int, word: str
) -> None:
    assert said(judged(*around(mean, 0.005, 6), better=better, bound=bound)) == word


def test_what_cannot_be_told_at_a_bound_is_limited_and_has_no_price() -> None:
    found = judged(*around(0.02, 0.04, 6), bound="at least")
    assert (said(found), found.blocks_needed) == ("generator at its limit", None)


def test_one_block_at_a_bound_is_one_block() -> None:
    assert said(judged(0.2, bound="unknown")) == "one block"


# --- Looks ---


def walked(logs: Sequence[float], of: Looks, *others: Sequence[float]) -> Judgement:
    """The first of these steps at all looks that its blocks reach; each has one metric."""
    seen = looks.looked(of, len(logs))
    units = [
        Unit(
            samples=(sample(*its),),
            looks=tuple((look, (sample(*its[: look.blocks]),)) for look in seen.taken),
        )
        for its in (logs, *others)
    ]
    return decision.decide(units, AIMS, done=len(logs), coming=())[0][0]


def test_a_look_has_its_share_of_the_level_and_no_more() -> None:
    logs = around(-0.05, 0.042, 6)
    p = judged(*logs).p
    assert p is not None and AIMS.level / 2 < p < AIMS.level
    assert judged(*logs).word == "slower"
    assert decide([sample(*logs)], AIMS, share=0.5)[0].word == "open"


def test_once_slower_it_stays_so_and_says_at_which_look() -> None:
    slower = around(-0.10, 0.01, 4)
    at_four = walked(slower, Looks(first=4))
    assert at_four.word == "slower"
    back = walked((*slower, *around(0.10, 0.01, 4)), Looks(first=4))
    assert back.word == "slower" and back.look is not None
    assert (back.look.blocks, back.look.share) == (4, 0.5)
    assert back.look == at_four.look and back.so_far.value == pytest.approx(1.0)


def test_beside_a_word_of_a_later_look_is_the_estimate_by_the_order_of_looks() -> None:
    logs = around(-0.10, 0.06, 4) * 2
    found = walked(logs, Looks(first=4))
    spread = interval.own_spread(logs)
    assert found.word == "slower" and found.look is not None and spread is not None
    expected = stage_wise.ended(
        logs, spread, [Stage(information=0.5, freedom=3, level=AIMS.level / 2)]
    )
    assert found.told == (expected.value, expected.low, expected.high)
    assert found.so_far.value < found.look.estimate.value < 1, "nearer to no change than the mean"


def test_an_earlier_look_has_the_level_and_the_freedom_that_it_had_among_the_steps() -> None:
    steps = (around(-0.10, 0.05, 4) * 2, *[around(0.0, 0.08, 4) * 2] * 3)
    found = walked(steps[0], Looks(first=4), *steps[1:])
    four, eight = (moderation.spreads([its[:n] for its in steps])[0] for n in (4, 8))
    before = Stage(information=0.5, freedom=four.freedom, level=AIMS.level / 2 / len(steps))
    expected = stage_wise.ended(steps[0], eight, [before])
    assert found.look is not None and found.look.blocks == 8 and four.lent > 0
    assert found.told == (expected.value, expected.low, expected.high)


def test_a_word_of_a_later_look_than_the_first_that_showed_it_has_the_mean() -> None:
    logs = around(-0.10, 0.01, 4) * 2
    found = walked(logs, Looks(first=4))
    plain = interval.log_interval(logs)
    assert found.look is not None and found.look.blocks == 8
    assert found.told == (plain.value, plain.low, plain.high)


def test_between_looks_figures_move_and_the_word_stays() -> None:
    still = around(0.0, 0.06, 4)
    five = walked((*still, -0.3), Looks(first=4))
    assert (five.word, five.blocks) == ("open", 5)
    assert five.so_far.value < walked(still, Looks(first=4)).so_far.value


def test_before_the_first_look_nothing_is_said() -> None:
    found = walked(around(-0.10, 0.001, 3), Looks(first=4))
    assert (found.word, found.q, found.look) == ("open", None, None)
    assert found.so_far.low is not None


def test_the_look_when_the_time_is_over_has_all_that_is_left() -> None:
    over = looks.scheduled(Looks(first=None, minutes_max=10.0, last=5))
    assert [look.blocks for look in over] == [3, 4, 5]
    assert [look.share for look in over] == pytest.approx([1 / 7, 1 / 7, 5 / 7])
    at_a_look = looks.scheduled(Looks(first=None, minutes_max=10.0, last=4))
    assert [look.share for look in at_a_look] == pytest.approx([1 / 7, 6 / 7])


@given(st.one_of(st.none(), st.integers(1, 60)), st.one_of(st.none(), st.integers(1, 60)))
def test_shares_never_sum_to_more_than_the_level(first: int | None, last: int | None) -> None:
    its = looks.scheduled(Looks(first=first, last=last if first is None else None))
    assert sum(look.share for look in its) <= 1 + 1e-12
    counts = [look.blocks for look in its]
    assert counts == sorted(set(counts)) and min(counts, default=2) >= 2


def test_same_is_asked_for_at_a_third_of_the_level() -> None:
    logs = around(0.0, 0.033, 8)
    p = significance.equivalence_p(logs, AIMS.margin)
    assert p is not None and AIMS.level / 3 < p < AIMS.level
    assert judged(*logs).word == "open"
    assert judged(*around(0.0, 0.015, 8)).word == "same"


# --- Two metrics of a step, and what other steps lend ---


def step(throughput: Sequence[float], cpu: Sequence[float], count: int = 6) -> Unit:
    """A step of two metrics at one whole look."""
    its = (sample(*throughput), sample(*cpu, better=-1, metric="cpu_per_op"))
    return Unit(samples=its, looks=((Look(blocks=count, share=1.0), its),))


def test_a_step_has_one_q_and_names_the_metric_that_carries_it() -> None:
    (judgements,) = decision.decide(
        [step(around(-0.001, 0.05, 6), around(0.10, 0.01, 6))], AIMS, done=6
    )
    throughput, cpu = judgements
    assert throughput.q == cpu.q
    ps = [one.p for one in judgements if one.p is not None]
    assert cpu.q == pytest.approx(significance.combined_p(ps))
    assert (throughput.word, cpu.word) == ("open", "slower")


def test_the_second_metric_is_named_where_it_carries_the_step_too() -> None:
    (judgements,) = decision.decide(
        [step(around(-0.10, 0.02, 6), around(0.10, 0.01, 6))], AIMS, done=6
    )
    assert [one.word for one in judgements] == ["slower", "slower"]


def test_steps_lend_and_the_whole_does_not() -> None:
    rng = np.random.default_rng(3)
    steps = [step(rng.normal(0, 0.03, 4), rng.normal(0, 0.02, 4), 4) for _ in range(12)]
    whole = Unit(samples=steps[0].samples, looks=steps[0].looks, whole=True)
    found = decision.decide([*steps, whole], AIMS, done=4)
    expected = moderation.spreads([unit.samples[0].logs for unit in steps])
    lent = [judgements[0].lent for judgements in found[:-1]]
    assert lent == pytest.approx([one.lent for one in expected]) and max(lent) > 1
    assert [one.lent for one in found[-1]] == [0.0, 0.0]
    first = found[0][0]
    borrowed = interval.log_interval(steps[0].samples[0].logs, spread=expected[0])
    assert (first.so_far.low, first.so_far.high) == (borrowed.low, borrowed.high)
