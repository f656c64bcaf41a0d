"""The placement of a branch's races: the file's, or that of one trial for good."""

from __future__ import annotations

from pathlib import Path

import pytest

import farm_world
from dbdyno import plan as plans
from dbdyno.cli.farm_placement import placed
from dbdyno.farm import file
from dbdyno.model.error import HostError, PlanError, ServerError
from dbdyno.model.placement import PlacedCost, PlacementTrial
from dbdyno.run import placement_trial
from farm_world import BRANCH

PLAN = """
[arms.pinned]
version = "17"
[arms.head]
version = "18"
[[workloads]]
name = "sysbench"
steps = ["fill", "point-query"]

[schedule]
blocks = 6
"""
TRIAL = PlacementTrial(
    step="point-query",
    together=PlacedCost(us=20.0, cpu_us=9.0, scatter=0.01),
    free=PlacedCost(us=50.0, cpu_us=25.0, scatter=0.2),
)


@pytest.fixture(name="tried")
def _tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The plans that a trial was made of."""
    tried: list[str] = []

    def measured(plan: plans.Plan) -> PlacementTrial:
        tried.append(plan.name)
        return TRIAL

    monkeypatch.setattr(placement_trial, "measured", measured)
    return tried


def test_a_branch_is_tried_once_and_keeps_to_it(tmp_path: Path, tried: list[str]) -> None:
    farm, path = farm_world.farm(tmp_path), tmp_path / "time.toml"
    for _ in range(2):
        plan = plans.parse(placed(farm, BRANCH, PLAN, path, elsewhere=False), path)
        assert plan.schedule.placement == "together"
        assert plan.schedule.placement_trial == TRIAL
    other = BRANCH.model_copy(update={"name": "other"})
    placed(farm, other, PLAN, path, elsewhere=False)
    assert len(tried) == 2, "one of each branch"


def test_elsewhere_nothing_is_tried_and_the_file_decides(tmp_path: Path, tried: list[str]) -> None:
    farm, path = farm_world.farm(tmp_path), tmp_path / "time.toml"
    assert placed(farm, BRANCH, PLAN, path, elsewhere=True) == PLAN
    together = BRANCH.model_copy(update={"placement": "together"})
    plan = plans.parse(placed(farm, together, PLAN, path, elsewhere=True), path)
    assert (plan.schedule.placement, plan.schedule.placement_trial) == ("together", None)
    assert tried == []


def test_a_plan_that_cannot_be_placed_is_not_tried(tmp_path: Path, tried: list[str]) -> None:
    text = PLAN.replace('version = "17"', 'dsn = "host=db1 user=u dbname=d"\nallow_drop = true')
    path = tmp_path / "time.toml"
    assert placed(farm_world.farm(tmp_path), BRANCH, text, path, elsewhere=False) == text
    assert tried == []


def test_a_trial_that_fails_is_no_head_s_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(plan: plans.Plan) -> PlacementTrial:
        raise ServerError("the server ended")

    monkeypatch.setattr(placement_trial, "measured", measured)
    with pytest.raises(HostError, match="the trial of a placement: the server ended"):
        placed(farm_world.farm(tmp_path), BRANCH, PLAN, tmp_path / "p.toml", elsewhere=False)


def test_the_file_takes_a_placement(tmp_path: Path) -> None:
    text = 'folder = "f"\n[[branches]]\nname = "a"\nsource = "s"\npinned = "18.0"\nsteps = ["x"]\n'
    path = tmp_path / "farm.toml"
    assert file.parse(text, path).branches[0].placement is None
    assert file.parse(f'{text}placement = "apart"\n', path).branches[0].placement == "apart"
    with pytest.raises(PlanError, match="placement"):
        file.parse(f'{text}placement = "near"\n', path)
