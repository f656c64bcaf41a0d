"""Which arms and blocks of a result are shown, and when it is complete: looks, A/A arms."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.judge.pairing import by_block
from dbdyno.model import Arm, Cell, Comparison, Json, Plan, Schedule
from dbdyno.model.error import PlanError, ResultError
from dbdyno.model.looks import Looks
from dbdyno.model.verdict import Aims
from dbdyno.plan import aa_arm, schedule
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


# A/A arms: which ones a plan has, and where their runs lie in a block.


PLAN = """
base = "old"
[arms.old]
engine = "fake"
fake = { default_us = 100 }
[arms.new]
engine = "fake"
fake = { default_us = 90 }
[[workloads]]
name = "insert-benchmark"
parameters = { rows = 1000, seconds = 1 }
[schedule]
AA_ARM
"""


def parse(text: str) -> Plan:
    return plan.parse(text, Path("/plans/p.toml"))


def with_others(others: int, *, seed: int = 1, blocks: int = 1) -> Plan:
    """A plan of a base and so many other arms."""
    arms = [Arm(name=name, engine="fake") for name in ("base", *map(str, range(others)))]
    return Plan(
        name="p",
        path=None,
        text="",
        seed=seed,
        base="base",
        arms=aa_arm.with_aa_arms(arms, "base", aa_arm=False),
        workloads=(),
        schedule=Schedule(blocks=blocks),
    )


def gaps(order: tuple[str, ...]) -> list[int]:
    """How many other arms come before, between and after the runs of the base."""
    marks = "".join("B" if name.startswith("base") else "-" for name in order)
    return [len(gap) for gap in marks.split("B")]


# --- Which ones --------------------------------------------------------------------------------


def test_an_aa_arm_is_the_base_under_another_name_and_an_arm_like_others() -> None:
    made = parse(PLAN.replace("AA_ARM", "aa_arm = true"))
    assert [arm.name for arm in made.arms] == ["old", "new", "ghost"]
    old, _, aa_arm = made.arms
    assert aa_arm == replace(old, name="ghost", same_as="old")
    assert aa_arm.shown
    assert made.schedule.aa_arm
    assert [arm.name for arm in parse(PLAN.replace("AA_ARM", "")).arms] == ["old", "new"]


@pytest.mark.parametrize(
    ("others", "repeats"), [(0, []), (4, []), (5, [2]), (8, [2]), (9, [2, 3]), (13, [2, 3, 4])]
)
def test_the_base_runs_once_for_each_four_other_arms(others: int, repeats: list[int]) -> None:
    hidden = [arm for arm in with_others(others).arms if arm.same_as is not None]
    assert [arm.name for arm in hidden] == [f"base.again{number}" for number in repeats]
    assert all(arm.same_as == "base" and not arm.shown for arm in hidden)


def test_the_aa_arm_counts_among_the_other_arms() -> None:
    arms = [Arm(name=name, engine="fake") for name in "abcde"]
    assert len(aa_arm.with_aa_arms(arms, "a", aa_arm=False)) == 5
    made = aa_arm.with_aa_arms(arms, "a", aa_arm=True)
    assert [arm.name for arm in made[5:]] == ["ghost", "a.again2"]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            ("arms.new", "arms.ghost"),
            "key `arms.ghost`: `ghost` is the A/A arm's name; rename the arm, or "
            "remove `schedule.aa_arm`",
        ),
        (
            ("arms.new", 'arms."old.again2"'),
            "key `arms.old.again2`: names that end like this (`.again2`) are those of hidden A/A "
            "arms; rename the arm",
        ),
    ],
)
def test_the_names_of_aa_arms_are_refused(change: tuple[str, str], line: str) -> None:
    with pytest.raises(PlanError) as error:
        parse(PLAN.replace("AA_ARM", "aa_arm = true").replace(*change))
    assert str(error.value) == f"/plans/p.toml: {line}"


def test_an_arm_may_be_called_ghost_where_there_is_none() -> None:
    made = parse(PLAN.replace("AA_ARM", "").replace("arms.new", "arms.ghost"))
    assert [(arm.name, arm.same_as) for arm in made.arms] == [("old", None), ("ghost", None)]


# --- Where they lie ----------------------------------------------------------------------------


@given(st.integers(5, 30), st.integers(0, 2**53 - 1))
def test_at_most_four_other_arms_lie_before_between_and_after_the_bases_runs(
    others: int, seed: int
) -> None:
    made = with_others(others, seed=seed, blocks=3)
    for block in schedule.blocks(made):
        assert sorted(block.order) == sorted(arm.name for arm in made.arms)
        assert max(gaps(block.order)) <= 4


@given(st.integers(1, 20), st.integers(0, 1000))
def test_the_others_keep_their_order_whether_or_not_there_are_hidden_aa_arms(
    others: int, seed: int
) -> None:
    def of_others(made: Plan) -> list[list[str]]:
        blocks = schedule.blocks(made)
        return [[n for n in block.order if not n.startswith("base")] for block in blocks]

    made = with_others(others, seed=seed, blocks=3)
    plain = replace(made, arms=tuple(arm for arm in made.arms if arm.same_as is None))
    assert of_others(made) == of_others(plain)


@given(st.integers(5, 20), st.integers(0, 1000), st.integers(1, 5))
def test_more_blocks_leave_the_earlier_ones_as_they_are(others: int, seed: int, further: int):
    few = schedule.blocks(with_others(others, seed=seed, blocks=3))
    assert schedule.blocks(with_others(others, seed=seed, blocks=3 + further))[:3] == few


@pytest.mark.long
def test_every_way_of_laying_the_bases_runs_is_equally_likely() -> None:
    drawn = schedule.blocks(with_others(8, blocks=15_000))[::2]
    ways = Counter(tuple(gaps(block.order)) for block in drawn)
    # Eight others in three gaps of four at most: 15 ways, 500 of each expected, sd 21.6.
    assert len(ways) == 15
    assert all(abs(count - 500) < 110 for count in ways.values()), ways


def test_which_of_the_bases_data_directories_comes_first_is_drawn() -> None:
    blocks = schedule.blocks(with_others(5, blocks=800))
    first = Counter(next(n for n in block.order if n.startswith("base")) for block in blocks[::2])
    assert abs(first["base"] - 200) < 50
    assert first["base"] + first["base.again2"] == 400
