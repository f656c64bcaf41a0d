"""The search of a commit by noisy tests: its arithmetic, and searches that are simulated."""

import math
import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from dbdyno.stats import bisection
from dbdyno.stats.bisection import NextTest, ProbableChange
from dbdyno.stats.commit_chain import BlockTest
from dbdyno.stats.interval import mean_and_sd
from simulated_searches import BY_LAYOUT, KINDS, LAYOUTS, Kept, Kind, searches

NOISE = 0.008
"""Standard deviation of a block's log ratio in these searches: se of 0.4 % with four blocks."""


def told(index: int, log_ratio: float, *, se: float = 0.002, blocks: int = 4) -> BlockTest:
    return BlockTest(index=index, log_ratio=log_ratio, se=se, blocks=blocks)


def relaid(index: int, log_ratio: float, layout: int = 1) -> BlockTest:
    """A test of a commit beside the one before it, both with another layout."""
    return replace(told(index, log_ratio), before=index - 1, layout=layout)


def drawn(index: int, level: float, draw: random.Random, *, blocks: int = 4) -> BlockTest:
    """A test of a commit whose log ratio to the good one is `level`."""
    mean, sd = mean_and_sd([draw.gauss(level, NOISE) for _ in range(blocks)])
    return told(index, mean, se=(sd or 0.0) / math.sqrt(blocks), blocks=blocks)


def searched(
    n: int, level: Callable[[int], float], *, seed: int = 1, skipped: tuple[int, ...] = ()
) -> tuple[ProbableChange, list[BlockTest]]:
    draw = random.Random(seed)
    tests: list[BlockTest] = []
    while (asked := bisection.next_test(n, tests, skipped)) is not None:
        change = level(asked.index) - (level(asked.before) if asked.layout else 0.0)
        test = drawn(asked.index, change, draw)
        tests.append(replace(test, before=asked.before, layout=asked.layout))
        assert len(tests) < 100
    return bisection.found(n, tests, skipped), tests


def step(commit: int, size: float) -> Callable[[int], float]:
    return lambda index: size if index >= commit else 0.0


def test_before_any_test_all_commits_are_alike_and_the_bad_one_is_tested_first() -> None:
    chances = bisection.posterior(4, [])
    assert chances == pytest.approx((0.125, 0.125, 0.125, 0.125, 0.5))
    assert bisection.next_test(4, []) == NextTest(index=4)
    found = bisection.found(4, [])
    assert (found.suspects, found.sure, found.size) == ((1, 2, 3, 4), False, None)


def test_the_posterior_is_a_distribution_and_the_next_test_halves_it() -> None:
    chances = bisection.posterior(20, [told(20, -0.1)])
    assert math.fsum(chances) == pytest.approx(1)
    assert chances[-1] < 0.1
    assert chances[0] == pytest.approx(chances[19])
    asked = bisection.next_test(20, [told(20, -0.1)])
    assert asked is not None and asked.index in (10, 11)


def test_one_test_that_is_far_off_hides_no_smaller_change() -> None:
    tests = [told(20, -0.03), told(15, -0.03), told(10, 0.0), told(18, -0.5)]
    chances = bisection.posterior(20, tests)
    assert math.fsum(chances[10:15]) > 0.7


def test_a_clear_step_is_found_with_its_size() -> None:
    tests = [told(20, -0.03), told(10, 0.0), told(15, -0.03)]
    tests += [told(12, 0.0), told(13, -0.03)]
    assert bisection.next_test(20, tests) == NextTest(index=13, before=12, layout=1)
    assert (bisection.found(20, tests).first, bisection.found(20, tests).sure) == (13, False)
    tests += [relaid(13, -0.03), relaid(13, -0.03, 2)]
    assert bisection.next_test(20, tests) is None
    found = bisection.found(20, tests)
    assert (found.first, found.suspects, found.sure) == (13, (13,), True)
    assert found.size is not None
    assert found.size.value == pytest.approx(math.exp(-0.03))
    assert found.size.blocks == 12
    assert not found.more_changes


def test_one_wrong_answer_is_mended_by_later_ones() -> None:
    """Commit 10 is slow, and its first test, disturbed, said that it is not."""
    tests = [told(20, -0.03), told(10, 0.0), told(15, -0.03), told(12, -0.03)]
    tests += [told(11, -0.03)]
    assert bisection.found(20, tests).first == 11
    tests += [told(10, -0.03, blocks=12), told(5, 0.0), told(8, 0.0), told(9, 0.0)]
    assert bisection.found(20, tests).first == 10


def test_none_is_said_where_the_bad_commit_is_as_fast_as_the_good_one() -> None:
    found, _ = searched(20, step(1, 0.0))
    assert (found.first, found.sure, found.suspects) == (None, True, ())


def test_commits_that_do_not_build_stay_suspects_and_are_never_tested() -> None:
    found, tests = searched(20, step(8, -0.03), skipped=(6, 7))
    assert not {one.index for one in tests} & {6, 7}
    assert found.suspects == (6, 7, 8)
    assert found.sure


def test_a_second_change_is_told_with_a_size_of_its_own() -> None:
    found, _ = searched(40, lambda index: -0.04 * (index >= 9) - 0.06 * (index >= 30))
    assert found.suspects == (9,)
    (second,) = found.more_changes
    assert second.suspects == (30,)
    assert second.size is not None
    assert second.size.value == pytest.approx(math.exp(-0.06), abs=0.01)


def test_a_change_in_a_thousand_commits_takes_some_twenty_tests() -> None:
    found, tests = searched(1000, step(613, 0.05))
    assert found.suspects == (613,)
    assert len(tests) <= 25


def test_a_hundredfold_change_is_found_as_well() -> None:
    found, tests = searched(20, step(7, -4.6))
    assert (found.suspects, found.sure) == ((7,), True)
    assert len(tests) <= 6


def test_tests_without_any_scatter_are_searched_as_well() -> None:
    tests = [BlockTest(index=8, log_ratio=-2.0, se=0.0, blocks=2)]
    tests.append(BlockTest(index=4, log_ratio=0.0, se=0.0, blocks=2))
    assert bisection.next_test(8, tests) == NextTest(index=6)


@pytest.mark.parametrize(
    ("n", "tests", "skipped", "said"),
    [
        (0, [], (), "a bad commit that can be tested"),
        (4, [], (4,), "a bad commit that can be tested"),
        (4, [told(5, 0.0)], (), "commit 5 of 4 has no test"),
        (4, [told(2, 0.0)], (2,), "commit 2 of 4 has no test"),
        (4, [told(2, 0.0, blocks=1)], (), "no test of 1 blocks"),
        (4, [told(2, math.nan)], (), "is no log ratio"),
    ],
)
def test_tests_that_no_search_can_have_are_refused(
    n: int, tests: list[BlockTest], skipped: tuple[int, ...], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        bisection.posterior(n, tests, skipped)


# --- Layout ----------------------------------------------------------------------------------


SCATTERED = (0.011, -0.008, 0.002, 0.013, -0.012, -0.004, 0.009, -0.014, 0.001, 0.006)
"""Layouts of builds, of 1 %."""


def of_layouts(share: float, *, se: float = 0.002) -> list[BlockTest]:
    """Tests of every second commit of twenty, in which nothing changed."""
    return [told(2 * n, share * own, se=se) for n, own in enumerate(SCATTERED, start=1)]


@pytest.mark.parametrize(("share", "least", "most"), [(0.2, 0.0014, 0.004), (1.0, 0.006, 0.016)])
def test_what_commits_of_one_plateau_scatter_beyond_their_blocks_is_layout(
    share: float, least: float, most: float
) -> None:
    layout = bisection.layout(20, of_layouts(share))
    assert least <= layout.sd <= most
    assert layout.low <= layout.sd <= layout.high


def test_few_builds_leave_the_layout_noise_open() -> None:
    few = bisection.layout(20, of_layouts(0.2)[-2:])
    many = bisection.layout(20, of_layouts(0.2))
    assert few.high / few.low > 4 > many.high / many.low


def test_blocks_that_explain_the_scatter_leave_none_for_layout() -> None:
    loud = bisection.layout(20, of_layouts(1.0, se=0.012))
    assert loud.low < 0.003 < bisection.layout(20, of_layouts(1.0)).low


def test_a_commit_whose_layout_is_all_that_is_left_is_not_tested_again() -> None:
    """Its neighbours are, which have layouts of their own."""
    tests = [*of_layouts(1.0, se=0.001), told(20, 0.006, se=0.0005, blocks=40)]
    asked = bisection.next_test(20, tests)
    assert asked is not None and asked.index % 2 == 1


def test_a_difference_that_layout_explains_is_no_sure_change() -> None:
    tests = [*of_layouts(1.0), *(told(2 * n + 1, 0.01) for n in range(8, 10))]
    found = bisection.found(20, tests)
    assert not found.sure
    assert found.wanted is not None and found.wanted.builds > 1


STEP = {20: -0.03, 10: 0.0, 15: -0.03, 12: 0.0, 13: -0.03, 14: -0.03, 11: 0.0}
"""A step that stays, of a change or of layout that later commits keep."""


def test_a_step_that_is_gone_with_another_layout_is_no_change() -> None:
    tests = [told(index, log) for index, log in STEP.items()]
    before = bisection.found(20, tests)
    assert (before.first, before.sure) == (13, False)
    gone = bisection.found(20, [*tests, relaid(13, 0.001), relaid(13, -0.001, 2)])
    assert gone.first is None
    there = bisection.found(20, [*tests, relaid(13, -0.029), relaid(13, -0.031, 2)])
    assert (there.first, there.sure) == (13, True)


def test_another_layout_of_a_later_change_hides_no_earlier_one() -> None:
    levels = {20: -0.1, 11: 0.0, 14: -0.04, 15: -0.04, 16: -0.04, 17: -0.1, 18: -0.1}
    tests = [told(index, log) for index, log in levels.items()]
    tests += [told(12, 0.0), told(13, -0.04), relaid(17, -0.06), relaid(17, -0.06, 2)]
    tests += [relaid(13, -0.04), relaid(13, -0.04, 2)]
    found = bisection.found(20, tests)
    assert (found.first, found.sure) == (13, True)
    assert [(change.first, change.sure) for change in found.more_changes] == [(17, True)]
    assert all(0 <= change.probability <= 1 for change in found.more_changes)


def test_other_layouts_are_built_one_by_one_and_each_is_tested_so_often() -> None:
    tests = [told(index, log) for index, log in STEP.items()]
    asked = []
    while (test := bisection.next_test(20, tests)) is not None and test.layout:
        asked.append(test)
        level = (-0.02, -0.008, -0.014)[test.layout - 1]  # between a change and none
        tests.append(replace(relaid(13, level, test.layout), se=0.008))
    assert {(test.index, test.before) for test in asked} == {(13, 12)}
    layouts = [test.layout for test in asked]
    assert layouts[:4] == [1, 1, 2, 2] and max(layouts) <= bisection.RELAYOUTS
    assert all(4 * layouts.count(layout) <= bisection.RELAID_BLOCKS_MAX for layout in layouts)


def test_an_answer_that_time_left_open_wants_tests_and_no_builds() -> None:
    tests = [*(told(n, 0.0, se=0.008) for n in (4, 8, 12)), told(20, -0.05, se=0.008)]
    tests += [told(n, -0.05, se=0.008) for n in (14, 16, 18)]
    found = bisection.found(20, tests)
    assert found.wanted is not None
    assert (found.sure, found.wanted.builds) == (False, 1)
    assert 1 <= found.wanted.tests <= 20


# --- Simulated -------------------------------------------------------------------------------


def test_searches_with_measured_noise_end_right() -> None:
    kind = Kind(words="3 %", layout=LAYOUTS[0])
    ended = list(searches(kind, 2))
    assert all(one.is_right for one in ended)
    assert any(one.found.sure for one in ended)


@pytest.mark.long
@pytest.mark.parametrize("change", [0.0, -0.015, -0.03])
@pytest.mark.parametrize("kept", ["own", "creeps", "stays"])
@pytest.mark.parametrize("layout", [0.01, 0.014])
def test_no_layout_noise_makes_answers_sure_and_wrong(change: float, layout: float, kept: Kept):
    ended = list(searches(Kind(words="", change=change, layout=layout, kept=kept), 6))
    assert sum(one.found.sure and not one.is_right for one in ended) <= 1


@pytest.mark.soak
@pytest.mark.parametrize(
    "kind",
    [*KINDS[:6], *BY_LAYOUT],
    ids=lambda kind: f"{kind.words or kind.change}, {kind.layout or 'drawn'}, {kind.kept}",
)
def test_of_two_hundred_searches_at_most_one_in_twenty_is_sure_and_wrong(kind: Kind) -> None:
    ended = list(searches(kind, 200))
    assert sum(one.found.sure and not one.is_right for one in ended) <= 10
