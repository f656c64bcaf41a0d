"""Designs of arms that mix factors: planted effects come back, and what cannot be told is named."""

import math
from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.stats import factorial

Rows = list[tuple[int, ...]]


def named(rows: Rows) -> dict[str, tuple[int, ...]]:
    return {f"arm{number}": row for number, row in enumerate(rows)}


def planted(
    levels: Mapping[str, Sequence[int]],
    effects: Sequence[float],
    both: Mapping[tuple[int, int], float] | None = None,
) -> dict[str, dict[int, float]]:
    """Logarithms of one block: effects of factors, and what two add where both are changed."""
    return {
        arm: {
            1: 5.0
            + math.fsum(effect * level for effect, level in zip(effects, row, strict=True))
            + sum(add for (one, other), add in (both or {}).items() if row[one] and row[other])
        }
        for arm, row in levels.items()
    }


def told(contrast: factorial.Contrast, logs: Mapping[str, Mapping[int, float]]) -> float:
    return factorial.by_block(contrast.weights, logs)[1]


@pytest.mark.parametrize("design", [factorial.one_at_a_time, factorial.full])
@given(effects=st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=5))
def test_effects_that_only_add_come_back_from_every_design(
    design: Callable[[int], Rows], effects: list[float]
) -> None:
    levels = named(design(len(effects)))
    found = factorial.effects(levels)
    assert [told(one, planted(levels, effects)) for one in found] == pytest.approx(effects)


@pytest.mark.parametrize("factors", [2, 3])
def test_a_full_factorial_tells_effects_as_means_and_interactions_apart(factors: int) -> None:
    levels = named(factorial.full(factors))
    effects = [0.1, -0.05, 0.02][:factors]
    logs = planted(levels, effects, {(0, 1): 0.04})
    found = [told(one, logs) for one in factorial.effects(levels)]
    # Half of what two add falls to each of them: the mean over both levels of the other.
    assert found == pytest.approx([0.12, -0.03, 0.02][:factors])
    pairs = {one.factors: told(one, logs) for one in factorial.interactions(levels)}
    assert pairs.pop((0, 1)) == pytest.approx(0.04)
    assert all(value == pytest.approx(0) for value in pairs.values())


@pytest.mark.parametrize("factors", [2, 4])
def test_the_effects_of_one_at_a_time_sum_to_the_whole_whatever_interacts(factors: int) -> None:
    levels = named(factorial.one_at_a_time(factors))
    logs = planted(levels, [0.1, -0.05, 0.02, 0.3][:factors], {(0, 1): 0.04})
    found = [told(one, logs) for one in factorial.effects(levels)]
    assert found[1] == pytest.approx(-0.01), "the later factor has what both add"
    names = list(levels)
    whole = factorial.whole(names[0], names[-1])
    assert factorial.by_block(whole, logs)[1] == pytest.approx(math.fsum(found))
    assert factorial.remainder(whole, [one.weights for one in factorial.effects(levels)]) == {}


def test_of_three_factors_what_only_all_three_add_is_the_remainder() -> None:
    levels = named(factorial.full(3))
    logs = planted(levels, [0.1, 0.2, 0.3])
    last = next(arm for arm, row in levels.items() if all(row))
    logs[last][1] += 0.08
    first = next(arm for arm, row in levels.items() if not any(row))
    effects = factorial.effects(levels)
    remainder = factorial.remainder(factorial.whole(first, last), [one.weights for one in effects])
    # A quarter of it is in each of the three effects.
    assert factorial.by_block(remainder, logs)[1] == pytest.approx(0.02)


def test_one_at_a_time_mixes_interactions_with_effects_and_tells_none() -> None:
    assert factorial.interactions(named(factorial.one_at_a_time(5))) == ()


def test_factors_that_always_change_together_cannot_be_told_apart() -> None:
    levels = {"base": (0, 0, 0), "one": (1, 1, 0), "arm": (1, 1, 1)}
    assert factorial.inseparable(levels)
    with pytest.raises(ValueError, match="apart"):
        factorial.effects(levels)


def test_a_block_without_one_of_the_arms_has_no_contrast() -> None:
    logs = {"a": {1: 1.0, 2: 1.0, 3: 1.0}, "b": {1: 1.5, 3: 1.25}}
    assert factorial.by_block({"a": -1.0, "b": 1.0}, logs) == {1: 0.5, 3: 0.25}
    assert factorial.by_block({"a": -1.0, "c": 1.0}, logs) == {}
