"""`dyno calibrate`: the base beside its aa_arm, in comparisons of some blocks each."""

from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno import cli, plan
from dbdyno.model import Plan
from dbdyno.model.error import PlanError
from dbdyno.model.verdict import Aims
from dbdyno.plan import calibration, schedule, shipped_plans
from dbdyno.run.check import preflight
from dbdyno.store import Results
from server_place import a_place, ends

PLAN = """
base = "old"
[arms.new]
engine = "fake"
fake = { service_us = { insert = 90 }, jitter = 0.1 }
[arms.old]
engine = "fake"
fake = { service_us = { insert = 100 }, jitter = 0.1 }
[[workloads]]
name = "insert-benchmark"
parameters = { rows = 1000, seconds = 1 }
steps = ["l.i0"]
[schedule]
blocks = BLOCKS
"""
ROOT = Path(__file__).parent.parent


def parse(blocks: str = "4") -> Plan:
    return plan.parse(PLAN.replace("BLOCKS", blocks), Path("/plans/p.toml"))


def test_only_the_base_and_its_aa_arm_are_measured_in_a_folder_of_their_own() -> None:
    made = calibration.of(parse(), 10, None)
    assert made.name == "p.calibration"
    assert [(arm.name, arm.same_as) for arm in made.arms] == [("old", None), ("ghost", "old")]
    assert (made.schedule.blocks, made.schedule.comparison, made.schedule.aa_arm) == (40, 4, True)
    assert made.workloads == parse().workloads
    asking = replace(parse(), aims=Aims(tolerate=0.05))
    assert calibration.of(asking, 10, None).aims.tolerate is None
    assert {block.order for block in schedule.blocks(made)} == {("old", "ghost"), ("ghost", "old")}


@pytest.mark.parametrize(
    ("blocks", "asked", "each"),
    [("4", None, 4), ("4", 3, 3), ('"until decided"', None, 6), ("1", 2, 2)],
)
def test_a_comparison_has_the_plans_blocks_or_those_asked_for(
    blocks: str, asked: int | None, each: int
) -> None:
    made = calibration.of(parse(blocks), 5, asked).schedule
    assert (made.comparison, made.blocks) == (each, 5 * each)
    assert (made.until_decided, made.minutes_max) == (False, None)


@pytest.mark.parametrize(
    ("blocks", "comparisons", "asked", "line"),
    [
        ("4", 0, None, "--comparisons: must be at least 1, not 0"),
        ("4", 10, 1, "--blocks: must be at least 2, not 1"),
        (
            "1", 10, None,
            "/plans/p.toml: key `schedule.blocks`: one block decides nothing, so there is nothing "
            "to calibrate; give --blocks, such as --blocks 6",
        ),
        (
            "4", 251, None,
            "251 comparisons of 4 blocks are 1004, and a plan has at most 1000: lower "
            "--comparisons or --blocks",
        ),
    ],
)  # fmt: skip
def test_too_few_or_too_many_get_one_line(
    blocks: str, comparisons: int, asked: int | None, line: str
) -> None:
    with pytest.raises(PlanError) as error:
        calibration.of(parse(blocks), comparisons, asked)
    assert str(error.value) == line


def test_a_base_called_aa_arm_has_none() -> None:
    text = PLAN.replace("BLOCKS", "4").replace("arms.old", "arms.ghost").replace('"old"', '"ghost"')
    with pytest.raises(PlanError, match=r"key `arms\.ghost`: .*rename the arm"):
        calibration.of(plan.parse(text, Path("/plans/p.toml")), 10, None)


def test_the_plan_that_is_shipped_takes_steps_in_turns_from_a_copy() -> None:
    made = calibration.of(plan.load(shipped_plans.named("calibrate-small").path), 10, None)
    assert [arm.name for arm in made.arms] == ["pg17", "ghost"]
    assert made.schedule.interleave == "turn"
    assert made.workloads[0].save == "post-fill"


@pytest.mark.capability("calibrate")
@pytest.mark.live
def test_the_aa_arm_has_a_golden_copy_of_its_own() -> None:
    path = shipped_plans.named("calibrate-small").path
    text = path.read_text().replace('version = "17"', f'base_dir = "{ends()[-1]}"')
    made = calibration.of(plan.parse(text, path), 10, None)
    with a_place() as place:
        prepared = preflight.prepare(replace(made, data_dir=place.data_root))
    (base,), (aa_arm,) = (prepared.points["sysbench"][arm.name] for arm in made.arms)
    assert base.seed == aa_arm.seed
    assert prepared.copy_bytes.keys() == {base.key, aa_arm.key}


def test_a_calibration_of_fakes_goes_from_the_command_to_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "fakes.toml"
    path.write_text(PLAN.replace("BLOCKS", "2"))
    command = ["dyno", "calibrate", str(path), "--comparisons", "2", "--out", str(tmp_path)]
    monkeypatch.setattr("sys.argv", [*command, "--wait"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    results = Results.open(tmp_path / "fakes.calibration")
    assert results.plan.schedule.comparison == 2
    assert [arm.name for arm in results.plan.arms] == ["old", "ghost"]
    assert [block.state for block in results.blocks()] == ["done"] * 4
    assert "ghost" in capsys.readouterr().out
