"""Undisturbed time: what it finds beneath disturbances, where it is left out, what it decides."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.findings.application import own_query
from dbdyno.findings.application import show as application
from dbdyno.judge import undisturbed as judge
from dbdyno.judge.undisturbed import UndisturbedRuns
from dbdyno.judge.verdicts import together
from dbdyno.model import Cell, Ending, PairedEstimate, StepFacts, StepRun
from dbdyno.model.metric.primary import UNDISTURBED
from dbdyno.model.service_profile import LEVELS, ServiceProfile, ServiceProfiles
from dbdyno.model.verdict import Judgement, Word
from dbdyno.parts import undisturbed as parts
from dbdyno.stats import undisturbed
from dbdyno.stats.hdr_histogram import MICROSECONDS, NANOSECONDS, CellCounts, CellScale

BLOCKS = 6
OPERATIONS = 4000


def profile(times_us: np.ndarray, scale: CellScale = NANOSECONDS) -> ServiceProfile:
    """The profile of these times, as a recorder of this scale has it."""
    rounded = np.round(times_us) if scale == MICROSECONDS else times_us
    return undisturbed.profile("query", CellCounts(scale, np.bincount(scale.cells_of(rounded))))


def times(seed: int, us: float, fast: float, late: float = 0.2) -> np.ndarray:
    """Times of a block: a share `fast` of one mode, the rest woken elsewhere; some are delayed."""
    draw = np.random.default_rng(seed)
    base = np.where(draw.random(OPERATIONS) < fast, us, us + 20.0)
    delays = np.where(draw.random(OPERATIONS) < late, draw.exponential(200.0, OPERATIONS), 0.0)
    return base * draw.normal(1.0, 0.02, OPERATIONS) + delays


def run(arm: str, block: int, facts: ServiceProfiles) -> StepRun:
    """A run of a step that ended well."""
    step = StepFacts(workload="w", ordinal=1, step="s", headline="qps", measured=True)
    ended = StepRun(facts=step, arm=arm, block=block, ending=Ending(status="ok"))
    return ended.telling(facts)


def facts(of: ServiceProfile) -> ServiceProfiles:
    return ServiceProfiles(profiles=(of,), connections=1, processors=2)


def compared(planted_us: float, shares: list[float], scale: CellScale = NANOSECONDS) -> list[float]:
    """The log ratios of blocks; `shares`: of the fast mode, in other blocks for the other arm."""
    draw = np.random.default_rng(7)
    runs = [
        run(arm, block, facts(profile(times(99 * block + place, us, fast), scale)))
        for block, both in enumerate(zip(shares, draw.permutation(shares), strict=True), start=1)
        for place, (arm, us, fast) in enumerate(
            zip("ab", (30.0, 30.0 + planted_us), both, strict=True)
        )
    ]
    found = judge.of_step(runs, "a")
    assert found.left_out == ""
    by_run = {(each.arm, each.block): each.metrics[UNDISTURBED] for each in found.runs}
    return [math.log(by_run["b", block] / by_run["a", block]) for block in range(1, BLOCKS + 1)]


@given(st.floats(0.0, 6.0), st.lists(st.floats(0.1, 0.9), min_size=BLOCKS, max_size=BLOCKS))
def test_a_planted_delay_is_found_whatever_the_shares_of_modes(
    planted_us: float, shares: list[float]
) -> None:
    found = compared(planted_us, shares)
    fast, slow = (math.log1p(planted_us / us) for us in (30.0, 50.0))
    mean = sum(found) / len(found)
    assert slow - 0.01 <= mean <= fast + 0.01, "of one of the two modes"
    assert max(found) - min(found) < 0.03, "blocks agree where their means differ by half"


def test_whole_microseconds_are_enough_for_a_change_of_two() -> None:
    found = compared(2.0, [0.5] * BLOCKS, MICROSECONDS)
    assert sum(found) / len(found) == pytest.approx(math.log1p(2 / 30), abs=0.02)


@given(st.integers(0, 1000), st.floats(0.0, 0.45))
def test_delays_of_the_slower_half_change_nothing(seed: int, late: float) -> None:
    calm = np.sort(times(seed, 30.0, 1.0, 0.0))
    delayed = calm.copy()
    delayed[int((1 - late) * OPERATIONS) :] += 500.0
    first, second = (profile(each) for each in (calm, delayed))
    density = undisturbed.Density.of([first])
    (mode,) = [density.mode(*cells) for cells in density.modes()]
    own, other = (undisturbed.time_us(each, mode) for each in (first, second))
    assert own is not None
    assert other == pytest.approx(own, rel=0.02)


CALM = profile(times(1, 30.0, 1.0, 0.0))


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (ServiceProfiles(connections=1, processors=2), "no histograms"),
        (replace(facts(CALM), waiting=True), "wait for a schedule"),
        (replace(facts(CALM), processors=None), "not known"),
        (replace(facts(CALM), connections=8), "8 connections share 2 processors"),
        (facts(replace(CALM, count=99)), "99 operations in a block are too few"),
        (facts(profile(times(1, 2.0, 1.0, 0.0))), "under 5 µs"),
        (facts(profile(np.random.default_rng(1).uniform(20, 90, OPERATIONS))), "no mode"),
    ],
)
def test_outside_of_its_domain_it_is_left_out_with_the_reason(told: ServiceProfiles, reason: str):
    runs = [run(arm, block, told) for block in (1, 2, 3) for arm in ("a", "b")]
    found = judge.of_step(runs, "a")
    assert reason in found.left_out
    assert all(each.metrics.get(UNDISTURBED) is None for each in found.runs)


def test_arms_without_a_mode_in_common_are_not_compared() -> None:
    wide = profile(np.concatenate([times(1, 30.0, 1.0, 0.0), times(2, 300.0, 1.0, 0.0)]))
    runs = [
        run(arm, block, facts(of))
        for block in (1, 2, 3)
        for arm, of in (("a", CALM), ("b", replace(wide, times_us=(*sorted(wide.times_us),))))
    ]
    found: UndisturbedRuns = judge.of_step(runs, "a")
    assert not found.left_out or "in common" in found.left_out


@given(st.lists(st.floats(6.0, 1e5), min_size=1, max_size=300))
def test_a_profile_ascends_and_lies_among_its_times(values: list[float]) -> None:
    made = profile(np.array(values))
    assert len(made.times_us) == len(LEVELS)
    assert list(made.times_us) == sorted(made.times_us)
    assert min(values) * 0.999 - 0.01 <= made.times_us[0]
    assert made.times_us[-1] <= max(values) * 1.002 + 0.01


# --- What it decides ------------------------------------------------------------------------


def judged(metric: str, word: Word, ratio: float = 1.0) -> Judgement:
    """A judgement with this word."""
    told = PairedEstimate(value=ratio, low=ratio * 0.99, high=ratio * 1.01, blocks=6)
    return Judgement(
        metric=metric, blocks=6, so_far=told, p=0.1, p_sign=None, q=0.1, sd=0.01, margin=0.03,
        word=word, base_us=30.0 if metric == UNDISTURBED else None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("throughput", "undisturbed_word", "word", "by"),
    [
        ("open", "same", "same", (UNDISTURBED,)),
        ("open", "slower", "slower", (UNDISTURBED,)),
        ("same", "open", "open", (UNDISTURBED,)),
        ("slower", "same", "slower", ("qps",)),
        ("faster", "slower", "slower", (UNDISTURBED,)),
        ("same", "same", "same", ("qps", UNDISTURBED)),
        ("open", "open", "open", ("qps", UNDISTURBED)),
    ],
)
def test_the_word_of_a_step_is_of_the_metric_that_decides(
    throughput: Word, undisturbed_word: Word, word: Word, by: tuple[str, ...]
) -> None:
    made = together([judged("qps", throughput), judged(UNDISTURBED, undisturbed_word)])
    assert (made.word, made.by) == (word, by)


def test_a_query_that_undisturbed_time_alone_calls_slower_takes_longer() -> None:
    verdict = together([judged("qps", "open"), judged(UNDISTURBED, "slower", 1.1)])
    cell = Cell(
        arm="b", runs=(), value=None, value_bound="exact", ratio=None, ratio_bound="exact",
        sla_met=None, metrics={}, estimates={}, verdict=verdict,
    )  # fmt: skip
    assert own_query.change(cell).startswith("undisturbed time +3.00 µs, +10.0 % [")
    assert application._worst(cell) == "one takes 10.0 % longer"


def test_a_column_of_both_says_which_of_them_a_figure_is_of() -> None:
    both = [judged(UNDISTURBED, "open"), judged("cpu_per_op", "open"), judged("qps", "open")]
    column = parts.head(both)
    assert column == "undisturbed time or CPU"
    assert parts.labelled("+1.0", both[1], column) == "CPU +1.0"
    assert [parts.head(some) for some in (both[:1], both[1:], both[2:])] == [
        "undisturbed time",
        "CPU",
        "CPU",
    ]


def test_microseconds_stand_before_percent() -> None:
    words = parts.change(judged(UNDISTURBED, "slower", 1.02))
    assert words.startswith("+0.60 µs, +2.0 % [")
