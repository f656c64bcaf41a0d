"""Which arms and blocks of a result are shown, and when it is complete: looks, A/A arms."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from dbdyno.analysis import compare
from dbdyno.judge.pairing import by_block
from dbdyno.model import Cell, Comparison, Json
from dbdyno.model.error import ResultError
from dbdyno.model.looks import Looks
from dbdyno.model.verdict import Aims
from doubted import doubted
from result_builder import MINUTES_PER_BLOCK, build, plant
from result_planted import Planted

STEPS = ("l.i1", "qr100")
UNTIL_DECIDED = Looks(first=None, minutes_max=120.0)


def change(path: Path, how: Callable[[Json], object]) -> None:
    """Changes a file of JSON in place."""
    value = json.loads(path.read_text())
    how(value)
    path.write_text(json.dumps(value))


def faster_in(blocks: set[int]) -> Callable[[str, str, int], Planted]:
    """pg18 is 20 % faster in these blocks alone."""

    def planted(arm: str, step: str, block: int) -> Planted:
        return plant(step, faster=1.2 if arm == "pg18" and block in blocks else 1.0)

    return planted


def cell(comparison: Comparison, step: str = "qr100", arm: str = "pg18") -> Cell:
    (found,) = [s for s in comparison.steps if s.step == step]
    return next(its for its in found.cells if its.arm == arm)


def until_decided(folder: Path, looks: Looks | None = UNTIL_DECIDED) -> Comparison:
    """The folder's comparison, where its plan had said `blocks = "until decided"`."""

    def ask(plan: Json) -> None:
        plan.update(blocks=30)
        plan["schedule"].update(until_decided=True)

    change(folder / "plan.json", ask)
    if looks is not None:
        (folder / "looks.json").write_text(json.dumps(asdict(looks)))
    return compare.load(folder)


@pytest.mark.long
def test_all_complete_blocks_are_shown_and_files_that_older_versions_wrote_are_not_read(
    tmp_path: Path,
) -> None:
    folder = build(tmp_path, blocks=5, steps=("qr100",), planted=faster_in({1, 2}))
    before = compare.load(folder)
    for name in ("sizing.json", "prior.json"):
        (folder / name).write_text("{")
    assert [run.block for run in cell(before).runs] == [1, 2, 3, 4, 5]
    assert compare.load(folder) == before


def test_a_plan_is_complete_when_every_step_is_decided(tmp_path: Path) -> None:
    folder = build(tmp_path, blocks=4, steps=("qr100",), planted=faster_in({1, 2, 3, 4}))
    comparison = until_decided(folder)
    assert cell(comparison).verdict.word == "faster"  # type: ignore[union-attr]
    assert comparison.incomplete is None


@pytest.mark.long
def test_a_plan_with_an_open_step_is_complete_when_there_is_no_look_to_come(tmp_path: Path) -> None:
    folder = build(tmp_path, blocks=5, steps=("qr100",), planted=faster_in({1, 5}))
    assert until_decided(folder).incomplete == "5 blocks done, the next look is after 6"
    assert until_decided(folder, replace(UNTIL_DECIDED, last=5)).incomplete is None


def test_before_its_first_look_a_plan_is_not_complete(tmp_path: Path) -> None:
    folder = build(tmp_path, blocks=2, steps=("qr100",), planted=faster_in({1, 2}))
    assert until_decided(folder).incomplete == "2 blocks done, the next look is after 3"


@pytest.mark.long
def test_a_block_that_was_to_do_some_steps_lacks_the_others_without_a_word(tmp_path: Path) -> None:
    folder = build(tmp_path, blocks=3, steps=STEPS, planted=faster_in({1, 2, 3}))
    for arm in ("pg17", "pg18"):
        shutil.rmtree(folder / "blocks" / "003" / arm / "insert-benchmark" / "03-l.i1")
    order = folder / "blocks" / "003" / "order.json"
    change(order, lambda value: value.update(steps={"insert-benchmark": ["qr100"]}))
    comparison = compare.load(folder)
    short, whole = cell(comparison, "l.i1"), cell(comparison, "qr100")
    assert [run.ending.status for run in short.runs] == ["ok", "ok"]
    assert [run.ending.status for run in whole.runs] == ["ok", "ok", "ok"]
    assert short.verdict is not None and short.verdict.outcome == ""
    assert [its.judgement.blocks for its in comparison.overall][:1] == [2]
    change(order, lambda value: value.update(steps=None))
    assert [run.ending.status for run in cell(compare.load(folder), "l.i1").runs][2] == "skipped"


def test_hidden_aa_arms_are_no_arms_and_all_of_their_files_are_used(tmp_path: Path) -> None:
    """pg18 runs beside the A/A arm, in a half of the block in which the host is slower."""
    arms = ("pg17", "pg17.again2", "pg18")

    def planted(arm: str, step: str, block: int) -> Planted:
        return plant(step, faster=1.0 if arm == "pg17" else 0.7)

    folder = build(tmp_path, arms=arms, blocks=2, steps=("qr100",), planted=planted)

    def hide(plan: Json) -> None:
        plan["arms"][1].update(same_as="pg17", shown=False)

    change(folder / "plan.json", hide)
    change(
        folder / "blocks" / "002" / "order.json",
        lambda value: value.update(order=["pg17", "pg18", "pg17.again2"]),
    )
    comparison = compare.load(folder)
    assert comparison.arms == ("pg17", "pg18")
    assert set(comparison.servers) == {"pg17", "pg18"}
    assert comparison.title == "example: pg18 against pg17"
    assert not [line for line in doubted(comparison) if "missing" in line]
    (step,) = comparison.steps
    assert [its.arm for its in step.cells] == ["pg17", "pg18"]
    found = cell(comparison)
    assert found.ratio is not None
    # block 1: next to the A/A arm; block 2: as near to both, and the earlier is the base itself
    assert found.ratio.value == pytest.approx((1.0 * 0.7) ** 0.5, rel=1e-4)
    assert by_block(found.runs, "qps") == {1: pytest.approx(3_500), 2: pytest.approx(3_500)}
    with pytest.raises(ResultError, match=r"no arm `pg17.again2`.*it has pg17, pg18"):
        compare.load(folder, base="pg17.again2")
    assert [run.position for run in found.runs] == [2, 1]


def test_an_aa_arm_calibrates_its_own_base_only(tmp_path: Path) -> None:
    folder = build(tmp_path, arms=("pg17", "ghost"), blocks=4, steps=("qr100",))

    def aa_arm(plan: Json) -> None:
        plan["arms"][1].update(same_as="pg17")
        plan["schedule"].update(comparison=2)

    change(folder / "plan.json", aa_arm)
    found = compare.load(folder).calibration
    assert found is not None
    assert (found.arm, found.comparisons, found.blocks_each) == ("ghost", 2, 2)
    assert (found.tests, found.rejected, found.false_verdicts) == (4, 0, 0)
    assert compare.load(folder, base="ghost").calibration is None


def test_the_place_in_a_step_taken_in_turns_is_the_steps_own(tmp_path: Path) -> None:
    folder = build(tmp_path, blocks=1, steps=("qr100",))
    for arm in ("pg17", "pg18"):
        done = folder / "blocks/001" / arm / "insert-benchmark" / "06-qr100" / "done.json"
        change(done, lambda value: value.update(turns={"order": ["pg18", "pg17"]}))
    comparison = compare.load(folder)
    assert [cell(comparison, arm=arm).runs[0].position for arm in ("pg17", "pg18")] == [1, 0]


def test_the_aims_are_the_plans_or_the_defaults(tmp_path: Path) -> None:
    folder = build(tmp_path, steps=("qr100",))
    assert compare.load(folder).aims == Aims()
    change(folder / "plan.json", lambda plan: plan.update(verdict={"margin": 0.1, "power": 0.9}))
    found = compare.load(folder)
    assert found.aims == replace(Aims(), margin=0.1, power=0.9)
    verdict = cell(found).verdict
    assert verdict is not None and verdict.judgements[0].margin == 0.1


def test_a_block_costs_what_blocks_took_but_for_those_that_made_a_copy(tmp_path: Path) -> None:
    """Rates of pg18 swing by block, so that nothing can be told; two blocks took far longer."""

    def planted(arm: str, step: str, block: int) -> Planted:
        return plant(step, faster=(1.0, 1.1, 0.9, 1.0)[block] if arm == "pg18" else 1.0)

    def minutes(folder: Path) -> float:
        verdict = cell(compare.load(folder)).verdict
        assert verdict is not None
        needed, minutes = (
            verdict.judgements[0].blocks_needed,
            verdict.judgements[0].minutes_needed,
        )
        assert needed is not None and minutes is not None
        return minutes / needed

    folder = build(tmp_path, steps=("qr100",), planted=planted)
    for number in ("001", "002"):
        block = folder / "blocks" / number
        change(block / "done.json", lambda one: one.update(ended_unix_ns=one["ended_unix_ns"] * 2))
        golden = {"began": False, "workload": "insert-benchmark", "step": "l.i0"}
        golden |= {"step_ordinal": 1, "key": "k", "made_unix_ns": 1}
        for arm in ("pg17", "pg18"):
            (block / arm / "insert-benchmark" / "golden.json").write_text(json.dumps(golden))
    assert minutes(folder) == pytest.approx(MINUTES_PER_BLOCK)
    for path in folder.glob("blocks/*/*/insert-benchmark/golden.json"):
        path.unlink()
    assert minutes(folder) > 1_000 * MINUTES_PER_BLOCK, "then they count like any other"
