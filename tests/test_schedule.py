"""The order of arms in blocks."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from dbdyno.model import Arm, Plan, Schedule
from dbdyno.plan import schedule

NAMES = st.lists(st.text("abcdef0123", min_size=1, max_size=5), min_size=1, max_size=6, unique=True)


ORDERS = ["cdab", "badc", "bcda", "adcb"]
SEEDS = [3555041816864749, 8690357832289933, 4298111190882260, 5066905798637525]
"""Of blocks 1 to 4 of seed 7, arms a to d."""


def plan(names: list[str], seed: int = 1, blocks: int = 3) -> Plan:
    return Plan(
        name="p",
        path=None,
        text="",
        seed=seed,
        base=names[0],
        arms=tuple(Arm(name=name, engine="fake") for name in names),
        workloads=(),
        schedule=Schedule(blocks=blocks),
    )


@given(NAMES, st.integers(0, 2**53 - 1))
def test_each_block_has_every_arm_once_and_the_same_seed_gives_the_same(
    names: list[str], seed: int
) -> None:
    blocks = schedule.blocks(plan(names, seed))
    assert [block.number for block in blocks] == [1, 2, 3]
    assert all(sorted(block.order) == sorted(names) for block in blocks)
    assert blocks == schedule.blocks(plan(names, seed))


@given(NAMES, st.integers(0, 1000), st.integers(1, 5))
def test_more_blocks_leave_the_earlier_ones_as_they_are(
    names: list[str], seed: int, further: int
) -> None:
    few = schedule.blocks(plan(names, seed, 3))
    many = schedule.blocks(plan(names, seed, 3 + further))
    assert many[:3] == few


@given(NAMES, st.integers(0, 1000))
def test_a_further_arm_does_not_change_the_order_of_the_others(names: list[str], seed: int) -> None:
    before = schedule.blocks(plan(names, seed))
    after = schedule.blocks(plan([*names, "further"], seed))
    for old, new in zip(before, after, strict=True):
        assert old.order == tuple(name for name in new.order if name != "further")
        assert old.seed == new.seed


@given(NAMES, st.integers(0, 1000))
def test_the_order_does_not_depend_on_where_an_arm_stands_in_the_plan(
    names: list[str], seed: int
) -> None:
    assert schedule.blocks(plan(names, seed)) == schedule.blocks(plan(names[::-1], seed))


@given(NAMES, st.integers(0, 1000), st.integers(1, 500))
def test_in_any_two_blocks_every_arm_has_both_mirrored_places(
    names: list[str], seed: int, pair: int
) -> None:
    of = plan(names, seed)
    odd, even = schedule.block(of, 2 * pair - 1), schedule.block(of, 2 * pair)
    assert even.order == odd.order[::-1]
    assert even.seed != odd.seed


def test_blocks_of_a_seed_are_the_same_in_every_version() -> None:
    four = schedule.blocks(plan(["a", "b", "c", "d"], seed=7, blocks=4))
    assert ["".join(block.order) for block in four] == ORDERS
    assert [block.seed for block in four] == SEEDS


def test_every_order_of_three_arms_comes_about_equally_often() -> None:
    blocks = schedule.blocks(plan(["a", "b", "c"], blocks=12_000))[::2]
    orders = Counter(block.order for block in blocks)
    assert len(orders) == 6
    # 1000 of each are expected; 150 is five standard deviations of the binomial.
    assert all(abs(count - 1000) < 150 for count in orders.values()), orders


def test_seeds_of_blocks_differ_and_every_json_reader_keeps_them() -> None:
    seeds = [block.seed for block in schedule.blocks(plan(["a"], blocks=1000))]
    assert len(set(seeds)) == 1000
    assert all(0 <= seed < 2**53 for seed in seeds)
    assert max(seeds) > 2**52


def test_another_seed_of_the_plan_gives_other_orders_and_seeds() -> None:
    arms = ["a", "b", "c", "d", "e", "f"]
    first, second = schedule.blocks(plan(arms, 1)), schedule.blocks(plan(arms, 2))
    assert [block.order for block in first] != [block.order for block in second]
    assert {block.seed for block in first}.isdisjoint(block.seed for block in second)


def test_a_block_beyond_the_plan_is_the_one_that_more_blocks_would_bring() -> None:
    assert (
        schedule.block(plan(["a", "b"], blocks=2), 5)
        == schedule.blocks(plan(["a", "b"], blocks=5))[4]
    )
