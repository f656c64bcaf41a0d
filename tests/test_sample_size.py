"""How many fresh blocks a pilot's noise asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from dbdyno.model.verdict import Aims, Sized, Sizing
from dbdyno.stats import power
from dbdyno.stats.sample_size import FRESH_MAX, FRESH_MIN, Seen, size

AIMS = Aims()


def logs(sd: float, mean: float = 0.0) -> tuple[float, ...]:
    """Three log ratios with exactly this mean and standard deviation."""
    return (mean - sd, mean, mean + sd)


def saw(step: str, *, arm: str = "pg18", minutes: float = 2.0, **sd: float) -> Seen:
    """A step with the standard deviation of each of these metrics."""
    spread = {metric: logs(each) for metric, each in sd.items()}
    return Seen(workload="w", step=step, arm=arm, logs=spread, minutes=minutes)


def sized(
    *seen: Seen, minutes_max: float | None = None, alone: bool = True, aims: Aims = AIMS
) -> Sizing:
    """The sizing where a block costs one minute beside its steps."""
    return size(seen, aims, fixed_minutes=1.0, minutes_max=minutes_max, alone=alone)


def by_step(sizing: Sizing) -> Mapping[str, Sized]:
    return {one.step: one for one in sizing.steps}


def test_a_step_gets_the_fewest_blocks_that_find_the_effect() -> None:
    (step,) = sized(saw("qr100", qps=0.02)).steps

    def promised(blocks: int) -> float:
        return power.assured_power(AIMS.effect, 0.02**2, 2, blocks, AIMS.level)

    assert promised(step.blocks - 1) < AIMS.power <= promised(step.blocks)
    assert step.power == pytest.approx(promised(step.blocks))
    assert (step.sd, step.capped) == ({"qps": pytest.approx(0.02)}, False)


def test_what_the_pilot_leaves_open_costs_blocks() -> None:
    (step,) = sized(saw("qr100", qps=0.02)).steps
    if_sure = power.blocks_for(AIMS.effect, 0.02, AIMS.level, AIMS.power)
    assert if_sure is not None and step.blocks > if_sure


def test_the_pilot_s_own_change_does_not_count() -> None:
    changed = Seen(
        workload="w", step="a", arm="pg18", logs={"qps": logs(0.02, mean=-0.5)}, minutes=2.0
    )
    (with_change,), (without,) = sized(changed).steps, sized(saw("a", qps=0.02)).steps
    assert with_change.blocks == without.blocks


def test_the_sharper_metric_decides() -> None:
    (both,) = sized(saw("a", qps=0.05, server_cpu_per_op=0.01)).steps
    (noisy,) = sized(saw("a", qps=0.05)).steps
    assert both.blocks < noisy.blocks
    at_half_the_level = power.assured_power(AIMS.effect, 0.01**2, 2, both.blocks, AIMS.level / 2)
    assert both.power == pytest.approx(at_half_the_level)


def test_each_step_gets_its_own_number_where_it_can_be_done_alone() -> None:
    found = sized(saw("quiet", qps=0.002), saw("noisy", qps=0.04))
    steps = by_step(found)
    assert steps["quiet"].blocks < steps["noisy"].blocks == found.fresh
    assert found.minutes == pytest.approx(
        found.fresh + 2 * steps["quiet"].blocks + 2 * steps["noisy"].blocks
    )


def test_all_get_as_many_as_the_noisiest_where_a_block_is_one_piece() -> None:
    found = sized(saw("quiet", qps=0.002), saw("noisy", qps=0.04), alone=False)
    assert {step.blocks for step in found.steps} == {found.fresh}
    assert found.minutes == pytest.approx(5 * found.fresh)
    steps = by_step(found)
    assert steps["quiet"].power > steps["noisy"].power >= AIMS.power


def test_the_arm_that_needs_most_decides() -> None:
    quiet, noisy = saw("a", arm="pg18", qps=0.004), saw("a", arm="ghost", qps=0.03)
    (both,), (alone,) = sized(quiet, noisy).steps, sized(noisy).steps
    assert (both.blocks, both.power, both.sd) == (alone.blocks, alone.power, alone.sd)


def test_more_tests_take_more_blocks() -> None:
    few = sized(*(saw(f"s{number}", qps=0.02) for number in range(8)))
    many = sized(*(saw(f"s{number}", qps=0.02) for number in range(80)))
    assert many.fresh > few.fresh


def test_steps_alike_tell_of_each_other() -> None:
    """Five degrees of freedom and more leave less open than two."""
    aims = Aims(level=0.05 * 4)
    (single,) = sized(saw("a", qps=0.03)).steps
    together = sized(*(saw(step, qps=0.03) for step in "abcd"), aims=aims)
    assert together.fresh < single.blocks


def test_the_time_is_kept_and_said() -> None:
    seen = saw("quiet", qps=0.005), saw("noisy", qps=0.04)
    free = by_step(sized(*seen))
    found = sized(*seen, minutes_max=85.0)
    steps = by_step(found)
    assert found.minutes <= 85.0 < found.minutes + 1 + 2
    assert steps["quiet"] == free["quiet"]
    assert steps["noisy"].capped and steps["noisy"].blocks < free["noisy"].blocks
    assert steps["noisy"].power < AIMS.power


def test_three_fresh_blocks_are_had_whatever_they_take() -> None:
    found = sized(saw("a", qps=0.04), minutes_max=0.5)
    assert (found.fresh, found.steps[0].blocks) == (FRESH_MIN, FRESH_MIN)
    assert found.steps[0].capped


def test_a_step_that_takes_too_many_gets_the_most_and_is_said_to_be_capped() -> None:
    (step,) = sized(saw("a", qps=0.5)).steps
    assert (step.blocks, step.capped) == (FRESH_MAX, True)
    assert step.power < AIMS.power


def test_of_what_failed_in_the_pilot_nothing_is_promised() -> None:
    failed = Seen(workload="w", step="failed", arm="pg18", logs={"qps": (0.1,)}, minutes=2.0)
    steps = by_step(sized(failed, saw("a", qps=0.02)))
    assert steps["failed"].blocks == FRESH_MIN
    assert (steps["failed"].power, dict(steps["failed"].sd), steps["failed"].capped) == (
        0.0,
        {},
        False,
    )


@pytest.mark.parametrize("sd", [0.0, 1e-9, 1e-4])
def test_without_noise_the_least_is_enough(sd: float) -> None:
    (step,) = sized(saw("a", qps=sd)).steps
    assert step.blocks == FRESH_MIN
    assert math.isclose(step.power, 1.0, abs_tol=0.01)
