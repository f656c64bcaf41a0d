"""Change points: the published examples, the method by its definitions, and ruptures."""

import math
from itertools import pairwise

import numpy as np
import pytest
import ruptures
import scipy.stats

from dbdyno.stats import change_points
from dbdyno.stats.change_points import WINDOW, find, t_p
from dbdyno.stats.change_points import CutTest as Rule

STEP_DOWN = [1.02, 0.95, 0.99, 1.00, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55]
STEP_SMALL = [2.02, 2.03, 2.01, 2.04, 1.82, 1.85, 1.79, 1.81, 1.80, 1.76, 1.78]
TWO_STEPS = [0.3, 2.4, 1.5, -0.9, -0.5, 99.7, 98.3, 99.1, 149.0, 149.7, 149.5, 149.1, 148.8, 150.0]
FROM_ZERO = [0.0, 0.0, 0.0, 1.00, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55]
STEADY = [154023, 138455, 143112, 149190, 132098, 151344, 155145, 148889, 149466, 148209]
IN_RELEASE = [10.43, 10.23, 10.29, 10.91, 10.34, 10.69, 9.23, 9.11, 9.13, 9.03]


def places(
    values: list[float], *, magnitude_min: float = 0.0, test: Rule = change_points.PUBLISHED
) -> list[int]:
    """Where the change points lie."""
    return [one.index for one in find(values, magnitude_min=magnitude_min, test=test)]


@pytest.mark.parametrize(
    ("values", "published"),
    [
        (STEP_DOWN, [6]),
        (STEP_SMALL, [4]),
        (TWO_STEPS, [5, 8]),
        (FROM_ZERO, [3, 6]),
        (STEADY, []),
        (IN_RELEASE, [6]),
    ],
)
def test_the_published_examples_of_otava_have_the_published_change_points(
    values: list[float], published: list[int]
) -> None:
    assert places(values) == published


def test_the_published_change_of_the_second_metric_is_that_of_its_documentation() -> None:
    (found,) = find(IN_RELEASE)
    assert found.after / found.before - 1 == pytest.approx(-0.129, abs=0.0005)


def test_a_least_magnitude_leaves_out_what_is_smaller() -> None:
    assert places(STEP_SMALL, magnitude_min=0.12) == [4]
    assert places(STEP_SMALL, magnitude_min=0.13) == []
    assert places(STEP_DOWN, magnitude_min=0.2) == [6]


# --- By the definitions ----------------------------------------------------------------------


def energy(first: list[float], second: list[float]) -> float:
    """Matteson & James: the scaled energy distance of two samples, pair by pair."""
    n, m = len(first), len(second)
    across = sum(abs(x - y) for x in first for y in second) * 2 / (n * m)
    own = 0.0
    for its in (first, second):
        pairs = [abs(its[i] - its[j]) for i in range(len(its)) for j in range(i)]
        own += sum(pairs) / len(pairs) if pairs else 0.0
    return n * m / (n + m) * (across - own)


def best(values: list[float]) -> tuple[float, int, int]:
    """The greatest energy of any first part and any part that follows directly; cut and end."""
    return max(
        (energy(values[:cut], values[cut:end]), cut, end)
        for cut in range(1, len(values))
        for end in range(cut + 1, len(values) + 1)
    )


def p_of(first: list[float], second: list[float]) -> float:
    """Student's t test; 1 of a single value each."""
    if len(first) + len(second) < 3:
        return 1.0
    return float(scipy.stats.ttest_ind(first, second).pvalue)


def p_at(values: list[float], cuts: list[int], cut: int) -> float:
    """The test of both sides of a cut, each up to the next cut."""
    ends = [0, *cuts, len(values)]
    low, high = max(one for one in ends if one < cut), min(one for one in ends if one > cut)
    return p_of(values[low:cut], values[cut:high])


def by_definition(values: list[float], level: float, magnitude_min: float) -> list[int]:
    """Fleming et al.: divide windows at a weak level, then take the weakest away one by one."""
    weak: set[int] = set()
    start = 0
    while start < len(values):
        window, cuts = values[start : start + WINDOW], list[int]()
        while True:
            ends = [0, *sorted(cuts), len(window)]
            parts = [(low, high) for low, high in pairwise(ends) if high - low > 1]
            if not parts:
                break
            (_, cut, end), low = max((best(window[low:high]), low) for low, high in parts)
            if p_of(window[low : low + cut], window[low + cut : low + end]) > 10 * level:
                break
            cuts.append(low + cut)
        weak |= {start + cut for cut in cuts}
        start = max(start + WINDOW // 2, start + max(cuts, default=0))
    left = sorted(weak)
    while left:
        worst = max(left, key=lambda cut: p_at(values, left, cut))
        if p_at(values, left, worst) <= level:
            ends = [0, *left, len(values)]
            means = [float(np.mean(values[low:high])) for low, high in pairwise(ends)]
            change = [max(b / a, a / b) - 1 for a, b in pairwise(means)]
            worst = left[int(np.argmin(change))]
            if min(change) > magnitude_min:
                return left
        left.remove(worst)
    return []


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("magnitude_min", [0.0, 0.06])
def test_any_series_has_the_change_points_of_the_definitions(seed: int, magnitude_min: float):
    random = np.random.default_rng(seed)
    levels = 100 * np.cumprod(random.choice([0.9, 0.97, 1.0, 1.05, 1.2], 5))
    values = np.concatenate(
        [level * (1 + random.normal(0, 0.02, random.integers(3, 8))) for level in levels]
    ).tolist()
    assert places(values, magnitude_min=magnitude_min) == by_definition(
        values, change_points.LEVEL, magnitude_min
    )


def test_a_series_longer_than_a_window_has_those_of_the_definitions_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(change_points, "WINDOW", 12)
    monkeypatch.setitem(globals(), "WINDOW", 12)
    random = np.random.default_rng(4)
    levels = np.repeat([100.0, 104.0, 100.0, 80.0], [9, 14, 11, 10])
    values = (levels * (1 + random.normal(0, 0.01, len(levels)))).tolist()
    found = places(values)
    assert found == by_definition(values, change_points.LEVEL, 0.0)
    assert found == [9, 23, 34]


@pytest.mark.parametrize("seed", range(6))
def test_clear_plateaus_are_cut_where_ruptures_cuts_them(seed: int) -> None:
    random = np.random.default_rng(seed)
    lengths = random.integers(6, 15, 4)
    levels = np.repeat([100.0, 120.0, 90.0, 110.0], lengths)
    values = levels + random.normal(0, 1.0, len(levels))
    cuts = ruptures.Dynp("l2", min_size=2, jump=1).fit(values.reshape(-1, 1)).predict(n_bkps=3)
    assert places(values.tolist()) == cuts[:-1] == np.cumsum(lengths)[:-1].tolist()


def test_a_plateau_that_came_back_hides_nothing() -> None:
    """Seven results of a regression that was mended: tested to the end it would not be seen."""
    noise = np.random.default_rng(1).normal(0, 0.5, 21)
    values = np.repeat([100.0, 90.0, 100.0], 7) + noise
    assert places(values.tolist()) == [7, 14]


# --- What it promises ------------------------------------------------------------------------


def test_the_plateaus_of_a_change_point_reach_from_one_to_the_next() -> None:
    first, second = find(TWO_STEPS)
    assert first.before == pytest.approx(np.mean(TWO_STEPS[:5]))
    assert first.after == second.before == pytest.approx(np.mean(TWO_STEPS[5:8]))
    assert second.after == pytest.approx(np.mean(TWO_STEPS[8:]))
    assert second.magnitude == pytest.approx(second.after / second.before - 1)


def test_plateaus_on_both_sides_of_zero_are_infinitely_far_apart() -> None:
    (first, _) = find(FROM_ZERO)
    assert (first.before, first.magnitude) == (0.0, math.inf)


def test_scale_and_direction_of_values_do_not_matter() -> None:
    last = len(STEP_DOWN)
    assert places([1e6 * one for one in STEP_DOWN]) == [6]
    assert places(STEP_DOWN[::-1]) == [last - 6]


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0], [5.0] * 30])
def test_what_tells_of_no_change_has_no_change_point(values: list[float]) -> None:
    assert places(values) == []


def test_plateaus_without_noise_are_told_apart() -> None:
    assert places([5.0] * 3 + [5.1] * 4) == [3]


def test_neighbours_that_are_alike_widen_the_test_as_a_mean_of_such_values_scatters() -> None:
    first, second = np.array([1.0, 2.0, 1.5]), np.array([4.0, 5.0, 4.5, 5.5])
    plain = scipy.stats.ttest_ind(first, second)
    widened = plain.statistic / math.sqrt(1.3 / 0.7)
    assert t_p(first, second, 0.3) == pytest.approx(2 * scipy.stats.t.sf(abs(widened), 5))
    assert t_p(first, second) == pytest.approx(plain.pvalue)


def test_a_single_value_that_is_far_off_is_no_plateau_of_two() -> None:
    values = [1.0, 1.01, 0.99, 1.02, 1.0, 0.98, 1.01, 1.0, 2.0]
    assert places(values) == [8]
    assert places(values, test=Rule(shortest=2)) == []
    assert places([*values, 2.01], test=Rule(shortest=2)) == [8]


def test_cuts_of_two_windows_that_are_neighbours_leave_no_plateau_too_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(change_points, "_weak_cuts", lambda series, test: [6, 7])
    values = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.5, 2.0, 2.01, 1.99, 2.0, 2.02]
    (found,) = find(values, test=Rule(shortest=2))
    assert found.index in (6, 7)


@pytest.mark.parametrize(("values", "level"), [([1.0, math.nan], 0.01), ([1.0], 0.0), ([1.0], 0.1)])
def test_a_value_that_is_no_number_and_a_level_that_is_no_probability_are_refused(
    values: list[float], level: float
) -> None:
    with pytest.raises(ValueError, match="finite"):
        find(values, test=Rule(level=level))
