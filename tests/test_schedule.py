"""The order of arms in blocks."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.model import Arm, Plan, Schedule, WorkloadUse
from dbdyno.plan import schedule

NAMES = st.lists(st.text("abcdef0123", min_size=1, max_size=5), min_size=1, max_size=6, unique=True)


ORDERS = ["cdab", "badc", "cbda", "adcb"]
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
def test_more_blocks_leave_the_earlier_ones_as_they_are(names: list[str], seed: int, further: int):
    few = schedule.blocks(plan(names, seed, 3))
    many = schedule.blocks(plan(names, seed, 3 + further))
    assert many[:3] == few


@given(NAMES, st.integers(0, 1000))
def test_the_order_does_not_depend_on_where_an_arm_stands_in_the_plan(names: list[str], seed: int):
    assert schedule.blocks(plan(names, seed)) == schedule.blocks(plan(names[::-1], seed))


@given(NAMES, st.integers(0, 1000), st.integers(2, 500))
def test_a_block_begins_with_the_arm_that_ended_the_one_before(
    names: list[str], seed: int, number: int
) -> None:
    of = plan(names, seed)
    before, block = schedule.block(of, number - 1), schedule.block(of, number)
    if (number - 1) % schedule.LINKED_MAX:
        assert block.order[0] == before.order[-1]
    assert block.seed != before.seed


def test_two_arms_change_places_in_each_block_and_are_drawn_afresh_after_six() -> None:
    runs = [
        tuple("".join(block.order) for block in schedule.blocks(plan(["a", "b"], seed, 18)))
        for seed in range(40)
    ]
    sixes = [orders[first : first + 6] for orders in runs for first in (0, 6, 12)]
    assert set(sixes) == {("ab", "ba") * 3, ("ba", "ab") * 3}
    assert 40 < sixes.count(("ab", "ba") * 3) < 80
    assert len({(orders[5], orders[6]) for orders in runs}) == 4


@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_an_arm_follows_itself_nearly_as_often_as_it_follows_any_other(count: int) -> None:
    """What an arm leaves behind then slows all alike; 5 in 6, as each sixth block begins afresh."""
    follow: Counter[tuple[str, str]] = Counter()
    for seed in range(2_000):
        orders = [block.order for block in schedule.blocks(plan([*"abcdef"[:count]], seed, 6))]
        follow.update(pairwise(name for order in orders for name in order))
    for before, after in product("abcdef"[:count], repeat=2):
        wanted = 2_000 * (5 if before == after else 6) / count
        assert abs(follow[before, after] - wanted) < 0.1 * wanted


@pytest.mark.parametrize("workloads", [1, 2, 3])
def test_workloads_of_a_block_are_linked_and_each_has_arms_change_places(workloads: int) -> None:
    uses = tuple(WorkloadUse(name=name) for name in "uvw"[:workloads])
    of = replace(plan(["a", "b"], seed=3), workloads=uses)
    blocks = [schedule.block(of, number) for number in range(1, 7)]
    passes = [one for block in blocks for one in schedule.passes(of, block)]
    for before, after in list(pairwise(passes))[: schedule.LINKED_MAX - 1]:
        assert after[1][0] == before[1][-1]
    for first, second in pairwise(blocks[: schedule.LINKED_MAX // workloads]):
        orders = {use.name: order for use, order in schedule.passes(of, first)}
        for use, order in schedule.passes(of, second):
            assert orders[use.name] == order[::-1]
    assert [use.name for use, _ in schedule.passes(of, blocks[0])] == [*"uvw"[:workloads]]
    assert [use.name for use, _ in schedule.passes(of, blocks[1])] == [*"uvw"[:workloads]][::-1]
    assert all(block.order == schedule.passes(of, block)[0][1] for block in blocks)


def test_workloads_of_arms_that_are_up_at_once_have_the_order_of_their_block() -> None:
    uses = (WorkloadUse(name="u"), WorkloadUse(name="v"))
    of = replace(plan(["a", "b"]), workloads=uses, schedule=Schedule(interleave="turn"))
    block = schedule.block(of, 2)
    assert schedule.passes(of, block) == ((uses[0], block.order), (uses[1], block.order))


def test_blocks_of_a_seed_are_the_same_in_every_version() -> None:
    four = schedule.blocks(plan(["a", "b", "c", "d"], seed=7, blocks=4))
    assert ["".join(block.order) for block in four] == ORDERS
    assert [block.seed for block in four] == SEEDS


def test_every_order_of_three_arms_comes_about_equally_often() -> None:
    blocks = schedule.blocks(plan(["a", "b", "c"], blocks=12_000))
    for first in (0, 3):  # those that are drawn afresh, and others
        orders = Counter(block.order for block in blocks[first :: schedule.LINKED_MAX])
        assert len(orders) == 6
        # 333 of each are expected; 85 is five standard deviations of the binomial.
        assert all(abs(count - 333) < 85 for count in orders.values()), orders


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
