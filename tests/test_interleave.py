"""Arms that are up at once and take the steps that read in turn: orders, plans, a fake's run."""

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import pytest

import read_steps
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.host import capacity, program
from dbdyno.model import Plan, Schedule, Step
from dbdyno.model.error import PlanError, ResultError
from dbdyno.model.step_files import Turns
from dbdyno.plan import schedule
from dbdyno.run import blocks
from dbdyno.run.check import dry_run, preflight
from dbdyno.run.progress import Forecast, Leg
from dbdyno.store import Results

PLAN = """
name = "together"
[arms.a]
engine = "fake"
fake = { service_us = { point = 100 } }
[arms.b]
engine = "fake"
fake = { service_us = { point = 105 }, MORE }
[arms.c]
engine = "fake"
fake = { service_us = { point = 110 } }
[[workloads]]
name = "./reads.toml"
[schedule]
blocks = 2
interleave = "step"
"""


def made(folder: Path, change: tuple[str, str] = ("", ""), **writes: bool) -> Plan:
    (folder / "reads.toml").write_text(read_steps.text(**writes))
    text = PLAN.replace(*change).replace("MORE", "default_us = 100")
    return plan.parse(text, folder / "plan.toml")


# --- Orders ------------------------------------------------------------------------------------


def test_each_arm_comes_once_in_each_step_and_round_in_an_order_of_its_own(tmp_path: Path) -> None:
    of = made(tmp_path)
    steps = preflight.prepare(of).steps["./reads.toml"]["a"]
    orders = [schedule.of_step(of, block, step) for block in range(1, 60) for step in steps]
    turns = [schedule.of_turn(of, 1, steps[1], turn) for turn in range(1, 300)]
    for drawn in (orders, turns):
        assert {tuple(sorted(order)) for order in drawn} == {("a", "b", "c")}
        counts = Counter(drawn)
        assert len(counts) == 6, "every order comes"
        assert max(counts.values()) < 2.0 * min(counts.values()) + 10
    assert orders != [schedule.of_step(replace(of, seed=7), 1, step) for step in steps] * 59


def test_steps_and_turns_begin_with_the_arm_that_ended_those_before(tmp_path: Path) -> None:
    of = made(tmp_path)
    steps = preflight.prepare(of).steps["./reads.toml"]["a"]
    linked: Counter[bool] = Counter()
    for block in range(1, 30):
        for before, step in pairwise(steps):
            order = schedule.of_step(of, block, step)
            linked[order[0] == schedule.of_step(of, block, before)[-1]] += 1
            linked[order[-1] == schedule.of_step(of, block + 1, step)[0]] += 1
        for turn in range(1, 30):
            order = schedule.of_turn(of, block, steps[1], turn)
            linked[order[-1] == schedule.of_turn(of, block, steps[1], turn + 1)[0]] += 1
            linked[order[-1] == schedule.of_turn(of, block + 1, steps[1], turn)[0]] += 1
    # All but one in six, which are drawn afresh; of these a third by chance.
    assert linked[False] / linked.total() == pytest.approx(1 / 6 * 2 / 3, abs=0.03)


def test_two_arms_change_places_in_each_turn_and_in_each_block(tmp_path: Path) -> None:
    of = made(tmp_path)
    of = replace(of, arms=of.arms[:2])
    step = preflight.prepare(of).steps["./reads.toml"]["a"][1]
    for block, turn in product((1, 7, 13), range(1, 5)):
        order = schedule.of_turn(of, block, step, turn)
        assert schedule.of_turn(of, block, step, turn + 1) == order[::-1]
        assert schedule.of_turn(of, block + 1, step, turn) == order[::-1]


def steps_that_write(*writes: bool) -> list[Step]:
    base = Step(
        ordinal=1, name="s", workload="w", measured=True, writes=True, warm="none", setup=(),
        job={}, headline=None, sla=None, pad_to_s=None, roles={}, tables=(), explain={},
        expected_s=None, nominal_s=None,
    )  # fmt: skip
    return [replace(base, ordinal=number, writes=one) for number, one in enumerate(writes, 1)]


@pytest.mark.parametrize(
    ("writes", "cut"),
    [((True, False, True, False, False), 3), ((False, False), 0), ((True,), 1), ((), 0)],
)
def test_the_prelude_ends_with_the_last_step_that_writes(writes: tuple[bool, ...], cut: int):
    steps = steps_that_write(*writes)
    assert schedule.parted(steps) == (tuple(steps[:cut]), tuple(steps[cut:]))


# --- Plans -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            ('"step"', '"stp"'),
            "key `schedule.interleave`: must be 'run', 'step' or 'turn', not 'stp'; did "
            "you mean `step`?",
        ),
        (
            ('"step"', '"step"\nturn_s = 2'),
            'key `schedule.turn_s`: is for interleave = "turn"; write that, or remove it',
        ),
        (
            ('"step"', '"step"\nwrites_in_turn = true'),
            'key `schedule.writes_in_turn`: is for interleave = "turn"; write that, or '
            "remove it",
        ),
        (
            ('"step"', '"turn"\nturn_s = 0.1'),
            "key `schedule.turn_s`: must be from 0.2 to 60, not 0.1",
        ),
        (
            ('"step"', '"turn"'),
            'key `arms.a.engine`: "fake" has its own clock and cannot take turns; use "step", '
            'not interleave = "turn"',
        ),
        (
            ('engine = "fake"\nfake = { service_us = { point = 110 } }', 'version = "17"\n'
             'config = "x10a"'),
            'key `arms.c.memory`: missing; with interleave = "step" all servers run at once: '
            "write the share of each",
        ),
        (
            ('"./reads.toml"', '"insert-benchmark"'),
            'key `workloads[1]`: step `l.x` writes, and with interleave = "step" arms take turns '
            "only in steps that read; leave it out by `steps` or `groups`, or use "
            'interleave = "run"',
        ),
        (
            ('"./reads.toml"', '"insert-benchmark"\nsteps = ["l.i0", "cleanup"]'),
            "key `workloads[1]`: no step that only reads follows `cleanup`, so "
            'interleave = "step" has nothing to interleave; add one, or use interleave = "run"',
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_in_turns_gets_one_line(
    tmp_path: Path, change: tuple[str, str], line: str
) -> None:
    with pytest.raises(PlanError) as error:
        made(tmp_path, change)
    assert str(error.value).removeprefix(f"{tmp_path}/plan.toml: ") == line


def test_a_measured_step_that_writes_is_refused_and_a_hidden_one_begins_the_turns(tmp_path: Path):
    with pytest.raises(PlanError, match="step `three` writes"):
        made(tmp_path, three=True)
    of = made(tmp_path, two=True)
    steps = preflight.prepare(of).steps["./reads.toml"]["a"]
    assert [step.name for step in schedule.parted(steps)[1]] == ["three", "four"]


INSERTS = """
[arms.a]
version = "17"
[arms.b]
version = "18"
[[workloads]]
name = "insert-benchmark"
steps = STEPS
SAVE
[schedule]
interleave = "turn"
writes_in_turn = WRITES
"""


def inserts(*steps: str, save: str = 'save = "post-l.x"', writes: bool = True) -> Plan:
    text = INSERTS.replace("STEPS", json.dumps(steps)).replace("SAVE", save)
    return plan.parse(text.replace("WRITES", str(writes).lower()), Path("/plans/plan.toml"))


def test_steps_that_write_take_turns_after_what_is_kept_where_the_plan_says_so() -> None:
    of = inserts("l.i0", "l.x", "l.i1", "l.i2")
    (use,) = of.workloads
    steps = [
        replace(step, name=name)
        for step, name in zip(steps_that_write(*4 * [True]), use.steps or (), strict=True)
    ]
    assert schedule.in_turn(of, use, steps) == (tuple(steps[:2]), tuple(steps[2:]))
    assert schedule.in_turn(of, use, steps[2:]) == ((), tuple(steps[2:]))
    every = replace(of, schedule=replace(of.schedule, writes_in_turn=False))
    assert schedule.in_turn(every, use, steps) == (tuple(steps), ())
    assert not schedule.wait_together(of, use, steps), "an arm first goes through its prelude"
    assert schedule.wait_together(of, use, steps[2:]), "that of a copy, which stands for it"
    alone = replace(of, schedule=replace(of.schedule, interleave="run", writes_in_turn=False))
    assert not schedule.wait_together(alone, use, steps[2:])


@pytest.mark.parametrize(
    ("steps", "how", "line"),
    [
        (("l.i0", "l.x", "l.i1"), {"save": ""}, "with writes_in_turn = true all steps after that "
         'of `save` are taken in turns; add `save`, such as save = "post-fill"'),
        (("l.i0", "l.x", "cleanup", "qr100"), {}, "step `cleanup` writes and is not measured, so "
         "arms cannot take turns in it; leave it out by `steps`, or save after it"),
        (("l.i0", "l.x", "l.i1"), {"writes": False}, 'step `l.x` writes, and with interleave = '
         '"turn" arms take turns only in steps that read; leave it out by `steps` or `groups`, or '
         'use interleave = "run", or say writes_in_turn = true'),
    ],
)  # fmt: skip
def test_turns_that_write_without_a_beginning_are_refused(
    steps: tuple[str, ...], how: dict[str, object], line: str
) -> None:
    with pytest.raises(PlanError) as error:
        inserts(*steps, **how)  # type: ignore[arg-type]
    assert str(error.value) == f"/plans/plan.toml: key `workloads[1]`: {line}"


def test_servers_whose_memory_is_more_than_the_hosts_are_refused(tmp_path: Path) -> None:
    of = made(tmp_path)
    half = f"{capacity.memory_bytes() // 2 + (1 << 20) >> 20}MB"
    arms = tuple(replace(arm, memory=half) for arm in of.arms[:2])
    with pytest.raises(PlanError, match=r"for a, .* GB for b need .* GB, and the host has"):
        preflight.refuse_short_memory(replace(of, arms=arms))
    preflight.refuse_short_memory(replace(of, arms=arms, schedule=Schedule()))


def test_the_outlook_says_who_takes_which_step_when(tmp_path: Path) -> None:
    of = made(tmp_path)
    said = dry_run.describe(of, preflight.prepare(of))
    steps = preflight.prepare(of).steps["./reads.toml"]["a"][1:]
    for step in steps:
        order = " ".join(schedule.of_step(of, 2, step))
        assert (
            f"  {step.name}: {order}"
            in said[said.index(f"block 2: {' '.join(schedule.block(of, 2).order)}") :]
        )
    assert "  01 fill  about 0 s" in said
    assert "  02 one   about 3 s each, arms in turn" in said


def test_arms_at_one_step_are_at_one_step_of_the_way() -> None:
    names = ["", "one", "one", "two", "two", "two"]
    forecast = Forecast([Leg("w", name, 1.0) for name in names])
    places = []
    for leg in forecast.legs[:]:
        places.append(forecast.place())
        forecast.finish(leg, 1.0)
    assert places == [None, (1, 2), (1, 2), (2, 2), (2, 2), (2, 2)]


# --- A run -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("generator")
class TestRun:
    """Runs of the fake."""

    @pytest.fixture
    def generator(self) -> Path:
        return program.find("dyno-loadgen")

    @pytest.fixture(scope="class")
    @classmethod
    def whole(cls, tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Path]:
        """The plan, and its result folder."""
        of = made(path := tmp_path_factory.mktemp("whole"))
        return of, blocks.run(of, path / "out", wait=True).folder

    def test_planted_differences_come_out_step_by_step(self, whole: tuple[Plan, Path]) -> None:
        of, folder = whole
        comparison = compare.load(folder)
        for name in ("one", "three", "four"):
            (found,) = [step for step in comparison.steps if step.step == name]
            ratios = {cell.arm: cell.ratio for cell in found.cells}
            assert ratios["b"].value == pytest.approx(100 / 105, rel=2e-3)
            assert ratios["c"].value == pytest.approx(100 / 110, rel=2e-3)
            assert ratios["c"].blocks == 2
        prepared = preflight.prepare(of)
        for block in Results.open(folder).blocks():
            steps = {
                (run.arm, step.name): step.done() for run in block.runs() for step in run.steps()
            }
            for step in prepared.steps["./reads.toml"]["a"][1:]:
                order = list(schedule.of_step(of, block.number, step))
                assert all(steps[arm, step.name].turns == Turns(order=order) for arm in order)
            assert all(steps[arm, "fill"].turns is None for arm in "abc")
            assert block.order().interleave == "step"

    def test_the_steps_begin_in_the_drawn_order(self, whole: tuple[Plan, Path]) -> None:
        of, folder = whole
        of = replace(of, arms=tuple(reversed(of.arms)))
        steps = preflight.prepare(of).steps["./reads.toml"]["a"][1:]
        for number in (1, 2):
            wanted = [
                (step.name, arm) for step in steps for arm in schedule.of_step(of, number, step)
            ]
            files = folder.glob(f"blocks/{number:03d}/*/reads/*/step.json")
            begun = sorted(files, key=lambda path: path.stat().st_mtime_ns)
            said = [json.loads(path.read_text()) for path in begun]
            assert [(one["name"], one["arm"]) for one in said if one["name"] != "fill"] == wanted

    def test_an_arm_that_fails_is_skipped_later_and_the_others_go_on(self, tmp_path: Path) -> None:
        error = 'errors = [{ statement = "other", every = 50, code = "XX000" }]'
        (tmp_path / "reads.toml").write_text(read_steps.text())
        text = PLAN.replace("MORE", error).replace("blocks = 2", "blocks = 1")
        of = plan.parse(text, tmp_path / "plan.toml")
        outcome = blocks.run(of, tmp_path / "out", wait=True)
        assert outcome.failed == 3, "two failed, three and four skipped"
        for block in Results.open(outcome.folder).blocks():
            for run in block.runs():
                failed = {step.name: step.failed() for step in run.steps()}
                if run.arm != "b":
                    assert set(failed.values()) == {None}
                    continue
                assert "XX000" in failed["two"].reason
                assert {failed[one].status for one in ("three", "four")} == {"skipped"}

    def test_how_arms_are_interleaved_belongs_to_what_was_measured(
        self, whole: tuple[Plan, Path], tmp_path: Path
    ) -> None:
        _, folder = whole
        with pytest.raises(
            ResultError, match=r'`schedule\.interleave` is "run" now and was "step"'
        ):
            blocks.run(made(tmp_path, ('"step"', '"run"')), folder.parent, wait=True)
