"""Many tests at once say what each says by itself."""

from random import Random

import pytest

from dbdyno.model.looks import Look
from dbdyno.model.verdict import CHANGED, Aims, Judgement, shaded
from dbdyno.stats import decision, interval, significance, vectorized
from dbdyno.stats.look_tests import Unit
from dbdyno.stats.sample import Sample


def drawn(count: int, blocks: int, seed: int = 6) -> list[tuple[float, ...]]:
    """Samples of many sizes and spreads; the last three have none."""
    draw = Random(seed)
    found = [
        tuple(draw.gauss(draw.choice((0.0, 0.02, 0.3)), 0.02) for _ in range(blocks))
        for _ in range(count)
    ]
    return [*found, (0.0,) * blocks, (0.1,) * blocks, (-0.01,) * blocks]


def _figures(one: Judgement) -> tuple[float | None, ...]:
    return (*one.told, one.p, one.p_sign, one.q, one.sd, one.visible)


@pytest.mark.parametrize("blocks", [2, 3, 6, 10, 12, 25])
def test_the_tests_of_a_batch_are_those_of_stats(blocks: int) -> None:
    samples = drawn(30, blocks)
    for logs, found in zip(samples, vectorized.tests(samples, 0.03), strict=True):
        assert found.sd == pytest.approx(interval.mean_and_sd(logs)[1])
        assert found.p == pytest.approx(significance.t_p(logs))
        assert found.p_sign == pytest.approx(significance.sign_flip_p(logs))
        assert found.within == pytest.approx(significance.equivalence_p(logs, 0.03))


@pytest.mark.usefixtures("independent_here")
def test_exploring_says_what_one_look_at_the_whole_level_decides_but_for_the_price() -> None:
    family = [
        Sample(metric=f"m{blocks}", better=better, logs=logs)
        for blocks in (1, 2, 4, 7)
        for better in (1, -1)
        for logs in drawn(8, blocks)
    ]
    look = Look(blocks=7, share=1.0)
    alone = [Unit(samples=(one,), looks=((look, (one,)),), whole=True) for one in family]
    decided = [its for (its,) in decision.decide(alone, Aims(), done=7)]
    explored = decision.explore(family, Aims())
    assert len({shaded(one) for one in explored}) > 3
    for one, other in zip(decided, explored, strict=True):
        assert (other.metric, other.blocks) == (one.metric, one.blocks)
        assert (other.word in CHANGED) == (one.word in CHANGED)
        # to be the same takes more at a look: a third of the level
        if one.word == "same" or (other.word != "same" and not other.within_margin):
            assert other.word == one.word
        assert other.blocks_needed is None
        for of, like in zip(_figures(other), _figures(one), strict=True):
            assert of == pytest.approx(like)
