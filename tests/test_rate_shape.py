"""The shapes of runs, on the cases of a simulation whose noise is that of real seconds."""

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import ruptures

from dbdyno.analysis.step import assemble
from dbdyno.stats.rate_shape import (
    PENALTY,
    PLATEAU_MIN,
    SECONDS_MIN,
    changes,
    cuts,
    plateaus,
    shape,
)
from doubted import doubted
from result_planted import plant
from test_analysis import change, change_lines, step_folder
from test_fairness import without
from test_imbalance import a_cell, a_run, said

SECONDS = 300
RUNS = 100
Rate = Callable[[int], float]  # by second, 1 where it is steady


def noise(random: np.random.Generator, seconds: int = SECONDS) -> npt.NDArray[np.float64]:
    """Log rates of seconds: standard deviation 3 %, each 0.8 times the one before."""
    found = np.empty(seconds)
    found[0] = random.normal(0, 0.03)
    for second in range(1, seconds):
        found[second] = 0.8 * found[second - 1] + random.normal(0, 0.03 * 0.6)
    return found


def shares(rate: Rate) -> dict[str | None, float]:
    """How often runs that go like this are said to have each shape."""
    random = np.random.default_rng(8)
    steady = np.array([rate(second) for second in range(SECONDS)])
    found = Counter(shape(list(1_000 * steady * np.exp(noise(random)))) for _ in range(RUNS))
    return {name: count / RUNS for name, count in found.items()}


CASES: dict[str, tuple[Rate, str]] = {
    "no warm-up": (lambda second: 1.0, "flat"),
    "cold cache": (lambda second: 0.7 if second < 15 else 1.0, "warmed up"),
    "slow warm-up": (lambda second: 1 - 0.15 * max(0.0, 1 - second / 80), "warmed up"),
    "step down": (lambda second: 1.0 if second < 200 else 0.9, "slowed"),
    "decline": (lambda second: 1 - 0.3 * second / SECONDS, "slowed"),
    "oscillation": (lambda second: 1.1 if second // 60 % 2 else 0.9, "unsteady"),
    "dip": (lambda second: 0.8 if 120 <= second < 180 else 1.0, "unsteady"),
    "rise to the end": (lambda second: 1 + 0.3 * second / SECONDS, "unsteady"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_is_called_what_it_is(case: str) -> None:
    rate, name = CASES[case]
    assert shares(rate).get(name, 0.0) >= 0.85


def test_the_last_plateau_of_a_run_that_slowed_is_its_own() -> None:
    random = np.random.default_rng(8)
    rate = CASES["step down"][0]
    rates = [
        1_000 * rate(second) * math.exp(one) for second, one in enumerate(noise(random).tolist())
    ]
    (before, high), (after, low) = plateaus(rates)
    assert (before, after) == (20, 10)
    assert (high, low) == (pytest.approx(1_000, rel=0.03), pytest.approx(900, rel=0.03))


def test_a_short_window_has_no_shape() -> None:
    rates = [1_000.0] * SECONDS_MIN
    assert shape(rates) == "flat"
    assert shape(rates[1:]) is None


def test_a_run_that_did_nothing_has_no_shape() -> None:
    assert shape([0.0] * SECONDS) is None


@pytest.mark.parametrize(
    ("last", "name"), [(990.1, "flat"), (985.0, "slowed"), (1_009.9, "flat"), (0.0, "slowed")]
)
def test_plateaus_within_a_percent_are_one_and_rates_without_noise_have_shapes(
    last: float, name: str
) -> None:
    assert shape([1_000.0] * 200 + [last] * 100) == name


def test_the_scale_of_rates_does_not_matter() -> None:
    rates = 1_000 * np.exp(noise(np.random.default_rng(3)))
    rates[:40] *= 0.8
    assert [shape(list(rates * scale)) for scale in (1e-3, 1.0, 1e6)] == ["warmed up"] * 3


@pytest.mark.parametrize("count", [12, 30, 47, 180])
def test_the_cuts_are_those_that_pelt_finds(count: int) -> None:
    random = np.random.default_rng(count)
    penalty = PENALTY * math.log(count)
    for jump in (0.0, 1.5, 3.0, 10.0):
        values = random.normal(size=count)
        values[count // 3 :] += jump
        oracle = ruptures.KernelCPD("linear", min_size=PLATEAU_MIN).fit(values.reshape(-1, 1))
        assert cuts(values, penalty=penalty) == oracle.predict(pen=penalty)


# --- Of a step -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("timed_s", "window_s", "name"),
    [(150, 150.0, "warmed up"), (None, 150.0, None), (119, 119.0, None)],
)
def test_a_timed_step_of_two_minutes_has_the_shape_of_what_its_headline_counts(
    tmp_path: Path, timed_s: int | None, window_s: float, name: str | None
) -> None:
    """The queries of 40 seconds are halved; the inserts go on as ever."""
    folder = step_folder(tmp_path, "qr100", plant("qr100", seconds=window_s))
    change(folder.path / "job.json", lambda job: job["stop"].update(seconds=timed_s))
    change_lines(folder.path / "events.jsonl", without("query", set(range(1, 41)), 0.5))
    assert assemble.step_run(folder).window.shape == name


# --- What the arms of a step did not have alike ----------------------------------------------


def differing(**shapes: str) -> list[str]:
    """The doubts of arms with these shapes, a letter for each block: f, w, s, u, or none at -."""
    names = {"f": "flat", "w": "warmed up", "s": "slowed", "u": "unsteady", "-": None}
    cells = [
        a_cell(arm, [a_run(arm, block, shape=names[one]) for block, one in enumerate(letters, 1)])
        for arm, letters in shapes.items()
    ]
    return said(cells)


def test_arms_that_went_differently_have_a_doubt() -> None:
    assert differing(pg17="fff", pg18="ssf") == [
        "shapes of runs differ: flat in 3 of 3 blocks (pg17), slowed in 2 of 3 blocks (pg18)"
    ]
    assert differing(pg17="f", pg18="u") == [
        "shapes of runs differ: flat in 1 of 1 block (pg17), unsteady in 1 of 1 block (pg18)"
    ]


@pytest.mark.parametrize(
    ("base", "other"),
    [("sss", "sss"), ("fff", "ffs"), ("fff", "fsu"), ("ffff", "ffss"), ("---", "sss")],
)
def test_what_half_of_the_blocks_or_fewer_say_is_no_doubt(base: str, other: str) -> None:
    assert differing(pg17=base, pg18=other) == []


def test_changes_are_put_to_ten_seconds_with_the_means_beside_them() -> None:
    rates = [1_000.0] * 140 + [800.0] * 160
    (change,) = changes(rates)
    assert (change.after_s, change.before, change.after) == (140, 1_000.0, 800.0)
    assert changes([1_000.0] * 300) == []
    assert changes([1_000.0] * 30 + [500.0] * 30) == [], "too short"


def test_a_rate_that_changed_its_level_is_a_warning_of_the_step(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100", plant("qr100", seconds=150.0))
    change(folder.path / "job.json", lambda job: job["stop"].update(seconds=150))
    change_lines(folder.path / "events.jsonl", without("query", set(range(71, 151)), 0.5))
    told = [line for line in doubted(assemble.step_run(folder)) if line.startswith("rate changed")]
    assert told == ["rate changed its level: from 5,000 to 2,500 per second after 70 s"]
