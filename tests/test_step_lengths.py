"""How long steps and turns are in a plan that leaves it open."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.model import Json, Plan, WorkloadUse
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


def made(more: str = "", **schedule: object) -> Plan:
    """The plan as if the fake had turns."""
    of = plan.parse(PLAN.replace("MORE", more), Path("/plans/open.toml"))
    changed = {"interleave": "turn"} | schedule
    return replace(of, schedule=replace(of.schedule, **changed))


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
    assert step_lengths.settle(of, tmp_path / "open") == of


@pytest.mark.long
def test_six_blocks_have_time(tmp_path: Path) -> None:
    chosen = step_lengths.settle(made(), tmp_path / "open")
    seconds = chosen.workloads[0].parameters["seconds"]
    assert isinstance(seconds, float) and seconds == chosen.chosen_s
    assert chosen.workloads[0].parameters["rows"] == 1000

    def minutes(length: float) -> float:
        changed = step_lengths.with_seconds(made(), length)
        block_s = step_lengths.block_s(changed, preflight.prepare(changed), 6)
        return 6 * (block_s + step_lengths.LOOK_S) / 60

    assert minutes(seconds) <= 20 < minutes(seconds + 1)
    twice = step_lengths.settle(made(minutes_max=40.0), tmp_path / "open").chosen_s
    assert twice is not None
    assert seconds < twice <= step_lengths.SECONDS_MAX
    little = step_lengths.settle(made(minutes_max=1.0), tmp_path / "open")
    assert little.chosen_s == step_lengths.SECONDS_MIN


def test_the_line_says_by_what_it_was_chosen() -> None:
    assert step_lengths.described(step_lengths.with_seconds(made(), 12)) == (
        "12 s of each step for each arm and block, in turns of 1 s, so that 6 blocks have time"
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
    first = step_lengths.settle(made(), tmp_path / "open")
    results = Results.open_or_create(tmp_path, first, written(first))
    later = step_lengths.settle(made(minutes_max=40.0), results.folder)
    assert later.chosen_s == first.chosen_s
    assert first.chosen_s is not None
    assert refused(results, first) is None
    assert refused(results, made(f", seconds = {first.chosen_s}")) is None
    said = refused(results, made(", seconds = 5"))
    assert said is not None and said.startswith("`workloads[0].parameters.seconds` is 5 now")


def test_a_folder_whose_plan_named_them_is_not_gone_on_with_by_a_choice(tmp_path: Path) -> None:
    named = made(", seconds = 12")
    results = Results.open_or_create(tmp_path, named, written(named))
    assert step_lengths.settle(made(), results.folder) == made()
