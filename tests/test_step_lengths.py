"""How long steps and turns are in a plan that leaves it open."""

from __future__ import annotations

import json
from collections.abc import Set
from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.model import Json, Lengths, Plan, WorkloadUse
from dbdyno.model.noise_budget import Calibrated, NoiseBudget, Prospect, Way
from dbdyno.run.check import plan_record, preflight, step_lengths
from dbdyno.store import Results, continuation

PLAN = """
name = "open"
[arms.a]
engine = "fake"
fake = { default_us = 100 }
[arms.b]
engine = "fake"
fake = { default_us = 100 }
[[workloads]]
name = "sysbench"
steps = ["fill", "point-query", "hot-points"]
parameters = { rows = 1000, warmup_s = 1, pause_s = 0MORE }
[schedule]
blocks = "until decided"
minutes_max = 20
"""
BUDGET = NoiseBudget(
    workload="sysbench",
    step="point-query",
    metric="ips",
    blocks=6.0,
    seconds=20.0,
    turns=20.0,
    components=(),
    error=0.01,
    prospects=(),
    best_seconds=12.0,
)


def made(more: str = "", **schedule: object) -> Plan:
    """The plan as if the fake had turns."""
    of = plan.parse(PLAN.replace("MORE", more), Path("/plans/open.toml"))
    changed = {"interleave": "turn"} | schedule
    return replace(of, schedule=replace(of.schedule, **changed))


def none(parent: Path, host: Json, of: Plan, steps: Set[tuple[str, str]]) -> None:
    """No calibration is there."""


def told(*budgets: NoiseBudget) -> step_lengths.Find:
    """A calibration that says this."""
    return lambda *_: Calibrated(folder="open.calibration", budgets=budgets)


def prospects(**errors: tuple[float, float]) -> tuple[Prospect, ...]:
    """By way what error there would be, and with which turns."""
    ways: dict[str, Way] = {"shorter": "shorter turns", "longer": "longer turns"}
    return tuple(
        Prospect(way=ways[name], error=error, blocks=6.0, seconds=20.0, turn_s=turn_s)
        for name, (error, turn_s) in errors.items()
    )


# --- Where a plan leaves it open ---------------------------------------------------------------


@pytest.mark.parametrize(
    "of",
    [
        made(", seconds = 9"),
        made(interleave="step"),
        made(until_decided=False),
        replace(made(), workloads=(replace(made().workloads[0], preset="8c32g-cached"),)),
        replace(made(), workloads=(WorkloadUse(name="sysbench-oltp"),)),
    ],
)
def test_what_names_its_seconds_or_has_no_turns_stays_as_it_is(of: Plan, tmp_path: Path) -> None:
    assert step_lengths.settle(of, tmp_path / "open", none) == of


@pytest.mark.long
def test_without_a_calibration_six_blocks_have_time(tmp_path: Path) -> None:
    found = step_lengths.settle(made(), tmp_path / "open", none)
    assert found.lengths is not None
    assert (found.lengths.turn_s, found.lengths.calibration) == (1.0, None)
    seconds = found.workloads[0].parameters["seconds"]
    assert seconds == found.lengths.seconds
    assert found.workloads[0].parameters["rows"] == 1000

    def minutes(its: float) -> float:
        changed = step_lengths.with_lengths(made(), Lengths(seconds=its, turn_s=1.0))
        block_s = step_lengths.block_s(changed, preflight.prepare(changed), 6)
        return 6 * (block_s + step_lengths.LOOK_S) / 60

    assert minutes(seconds) <= 20 < minutes(seconds + 1)
    twice = step_lengths.settle(made(minutes_max=40.0), tmp_path / "open", none)
    assert twice.lengths is not None
    assert seconds < twice.lengths.seconds <= step_lengths.SECONDS_MAX
    little = step_lengths.settle(made(minutes_max=1.0), tmp_path / "open", none)
    assert little.lengths is not None
    assert little.lengths.seconds == step_lengths.SECONDS_MIN


@pytest.mark.long
def test_a_calibration_says_how_long_unless_time_is_short(tmp_path: Path) -> None:
    def seconds(*best: float | None, minutes: float = 20) -> float:
        budgets = [replace(BUDGET, best_seconds=one) for one in best]
        of = step_lengths.settle(made(minutes_max=minutes), tmp_path / "open", told(*budgets))
        assert of.lengths is not None
        assert of.lengths.calibration == "open.calibration"
        return of.lengths.seconds

    by_time = step_lengths.settle(made(minutes_max=20.0), tmp_path / "open", none).lengths
    assert by_time is not None
    assert seconds(8.0, 12.0, 30.0) == 12
    assert seconds(300.0) == seconds(None) == by_time.seconds
    assert seconds(None, None, minutes=2000) > step_lengths.SECONDS_MAX
    assert seconds(0.1) == step_lengths.SECONDS_MIN


@pytest.mark.parametrize(
    ("errors", "named", "turn_s"),
    [
        ({"shorter": (0.008, 1.0), "longer": (0.012, 4.0)}, None, 1.0),
        ({"shorter": (0.011, 1.0), "longer": (0.009, 4.0)}, None, 4.0),
        ({"shorter": (0.0099, 0.5), "longer": (0.012, 2.0)}, None, 1.0),  # not worth it
        ({"shorter": (0.008, 0.1), "longer": (0.012, 0.4)}, None, 0.2),  # as short as turns can be
        ({"shorter": (0.008, 0.5)}, 2.0, 2.0),  # the plan names it
        ({}, None, 1.0),  # turns of a second have no seconds to tell it by
    ],
)
def test_turns_are_as_long_as_leaves_least_error(
    errors: dict[str, tuple[float, float]], named: float | None, turn_s: float, tmp_path: Path
) -> None:
    find = told(replace(BUDGET, prospects=prospects(**errors)))
    of = step_lengths.settle(made(turn_s_chosen=named), tmp_path / "open", find)
    assert of.lengths is not None
    assert (of.lengths.turn_s, of.schedule.turn_s) == (turn_s, turn_s)


def test_the_line_says_by_what_it_was_chosen() -> None:
    by_noise = Lengths(seconds=12.0, turn_s=0.5, calibration="p.calibration")
    assert step_lengths.described(by_noise) == (
        "12 s of each step for each arm and block, in turns of 0.5 s, by the noise in p.calibration"
    )
    assert step_lengths.described(replace(by_noise, calibration=None)).endswith(
        "so that 6 blocks have time (no calibration of these steps here)"
    )


# --- Going on ----------------------------------------------------------------------------------


def written(of: Plan, pinned: Json | None = None) -> Json:
    return dict(plan_record.plan_json(of, preflight.prepare(of, pinned)))


def refused(results: Results, of: Plan) -> str | None:
    """What the folder says of going on with this plan."""
    before = results.plan_json()
    now = json.loads(json.dumps(written(of, before)))
    return continuation.refused(before, {"format": before["format"], **now}, 1)


@pytest.mark.long
def test_a_plan_goes_on_with_the_lengths_of_its_folder(tmp_path: Path) -> None:
    first = step_lengths.settle(made(), tmp_path / "open", told(BUDGET))
    results = Results.open_or_create(tmp_path, first, written(first))
    later = step_lengths.settle(made(), results.folder, told(replace(BUDGET, best_seconds=30.0)))
    assert later == first
    assert refused(results, later) is None
    assert refused(results, made(", seconds = 12")) is None
    assert (
        refused(results, made(", seconds = 13"))
        == "`workloads[0].parameters.seconds` is 13 now and was 12.0"
    )


def test_a_folder_whose_plan_named_them_is_not_gone_on_with_by_a_choice(tmp_path: Path) -> None:
    named = made(", seconds = 12")
    results = Results.open_or_create(tmp_path, named, written(named))
    assert step_lengths.settle(made(), results.folder, told(BUDGET)) == made()
