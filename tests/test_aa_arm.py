"""A/A arms: which ones a plan has, and where their runs lie in a block."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno import plan
from dbdyno.model import Arm, Plan, Schedule
from dbdyno.model.error import PlanError
from dbdyno.plan import aa_arm, schedule

PLAN = """
base = "old"
[arms.old]
engine = "fake"
fake = { default_us = 100 }
[arms.new]
engine = "fake"
fake = { default_us = 90 }
[[workloads]]
name = "insert-benchmark"
parameters = { rows = 1000, seconds = 1 }
[schedule]
AA_ARM
"""


def parse(text: str) -> Plan:
    return plan.parse(text, Path("/plans/p.toml"))


def with_others(others: int, *, seed: int = 1, blocks: int = 1) -> Plan:
    """A plan of a base and so many other arms."""
    arms = [Arm(name=name, engine="fake") for name in ("base", *map(str, range(others)))]
    return Plan(
        name="p",
        path=None,
        text="",
        seed=seed,
        base="base",
        arms=aa_arm.with_aa_arms(arms, "base", aa_arm=False),
        workloads=(),
        schedule=Schedule(blocks=blocks),
    )


def gaps(order: tuple[str, ...]) -> list[int]:
    """How many other arms come before, between and after the runs of the base."""
    marks = "".join("B" if name.startswith("base") else "-" for name in order)
    return [len(gap) for gap in marks.split("B")]


# --- Which ones --------------------------------------------------------------------------------


def test_an_aa_arm_is_the_base_under_another_name_and_an_arm_like_others() -> None:
    made = parse(PLAN.replace("AA_ARM", "aa_arm = true"))
    assert [arm.name for arm in made.arms] == ["old", "new", "ghost"]
    old, _, aa_arm = made.arms
    assert aa_arm == replace(old, name="ghost", same_as="old")
    assert aa_arm.shown
    assert made.schedule.aa_arm
    assert [arm.name for arm in parse(PLAN.replace("AA_ARM", "")).arms] == ["old", "new"]


@pytest.mark.parametrize(
    ("others", "repeats"), [(0, []), (4, []), (5, [2]), (8, [2]), (9, [2, 3]), (13, [2, 3, 4])]
)
def test_the_base_runs_once_for_each_four_other_arms(others: int, repeats: list[int]) -> None:
    hidden = [arm for arm in with_others(others).arms if arm.same_as is not None]
    assert [arm.name for arm in hidden] == [f"base.again{number}" for number in repeats]
    assert all(arm.same_as == "base" and not arm.shown for arm in hidden)


def test_the_aa_arm_counts_among_the_other_arms() -> None:
    arms = [Arm(name=name, engine="fake") for name in "abcde"]
    assert len(aa_arm.with_aa_arms(arms, "a", aa_arm=False)) == 5
    made = aa_arm.with_aa_arms(arms, "a", aa_arm=True)
    assert [arm.name for arm in made[5:]] == ["ghost", "a.again2"]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            ("arms.new", "arms.ghost"),
            "key `arms.ghost`: `ghost` is the A/A arm's name; rename the arm, or "
            "remove `schedule.aa_arm`",
        ),
        (
            ("arms.new", 'arms."old.again2"'),
            "key `arms.old.again2`: names that end like this (`.again2`) are those of hidden A/A "
            "arms; rename the arm",
        ),
    ],
)
def test_the_names_of_aa_arms_are_refused(change: tuple[str, str], line: str) -> None:
    with pytest.raises(PlanError) as error:
        parse(PLAN.replace("AA_ARM", "aa_arm = true").replace(*change))
    assert str(error.value) == f"/plans/p.toml: {line}"


def test_an_arm_may_be_called_ghost_where_there_is_none() -> None:
    made = parse(PLAN.replace("AA_ARM", "").replace("arms.new", "arms.ghost"))
    assert [(arm.name, arm.same_as) for arm in made.arms] == [("old", None), ("ghost", None)]


# --- Where they lie ----------------------------------------------------------------------------


@given(st.integers(5, 30), st.integers(0, 2**53 - 1))
def test_at_most_four_other_arms_lie_before_between_and_after_the_bases_runs(
    others: int, seed: int
) -> None:
    made = with_others(others, seed=seed, blocks=3)
    for block in schedule.blocks(made):
        assert sorted(block.order) == sorted(arm.name for arm in made.arms)
        assert max(gaps(block.order)) <= 4


@given(st.integers(1, 20), st.integers(0, 1000))
def test_the_others_keep_their_order_whether_or_not_there_are_hidden_aa_arms(
    others: int, seed: int
) -> None:
    def of_others(made: Plan) -> list[list[str]]:
        blocks = schedule.blocks(made)
        return [[n for n in block.order if not n.startswith("base")] for block in blocks]

    made = with_others(others, seed=seed, blocks=3)
    plain = replace(made, arms=tuple(arm for arm in made.arms if arm.same_as is None))
    assert of_others(made) == of_others(plain)


@given(st.integers(5, 20), st.integers(0, 1000), st.integers(1, 5))
def test_more_blocks_leave_the_earlier_ones_as_they_are(others: int, seed: int, further: int):
    few = schedule.blocks(with_others(others, seed=seed, blocks=3))
    assert schedule.blocks(with_others(others, seed=seed, blocks=3 + further))[:3] == few


@pytest.mark.long
def test_every_way_of_laying_the_bases_runs_is_equally_likely() -> None:
    drawn = schedule.blocks(with_others(8, blocks=15_000))[::2]
    ways = Counter(tuple(gaps(block.order)) for block in drawn)
    # Eight others in three gaps of four at most: 15 ways, 500 of each expected, sd 21.6.
    assert len(ways) == 15
    assert all(abs(count - 500) < 110 for count in ways.values()), ways


def test_which_of_the_bases_data_directories_comes_first_is_drawn() -> None:
    blocks = schedule.blocks(with_others(5, blocks=800))
    first = Counter(next(n for n in block.order if n.startswith("base")) for block in blocks[::2])
    assert abs(first["base"] - 200) < 50
    assert first["base"] + first["base.again2"] == 400
