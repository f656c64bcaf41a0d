"""A plan goes from look to look on the fake server: which blocks it makes, what rests, its end."""

import io
import json
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

import read_steps
from dbdyno import plan, store
from dbdyno.analysis import compare
from dbdyno.model import Block, Cell, Comparison, Json, Plan, Step, StepComparison, StepRun
from dbdyno.model.error import ResultError
from dbdyno.model.looks import Looks
from dbdyno.model.verdict import Verdict, Word
from dbdyno.plan import schedule
from dbdyno.run import blocks as runner
from dbdyno.run import looks, site
from dbdyno.run.check import preflight
from dbdyno.run.driver.interface import GeneratorDied
from dbdyno.run.lab import Lab
from dbdyno.run.runner import LocalRunner
from dbdyno.store import Results

HERE = LocalRunner(wait=True)

PLAN = """
name = "looked"
arms.a = { engine = "fake", fake = { service_us = { point = 200, other = 60_000 } } }
arms.b = { engine = "fake", fake = { service_us = { point = 300, other = 90_000 } } }
[[workloads]]
name = "./reads.toml"
[schedule]
blocks = "until decided"
"""
STEPS = {"steady": ("point", True), "warm": ("point", False), "noisy": ("other", True)}
"""By step: what it runs, and whether it is measured."""
WHOLE = ("fill", "steady", "warm", "noisy")
ALONE = ("fill", "warm", "noisy")
"""What a block does that is for `noisy` alone: the warm-up before it stays."""
NEVER = 1000

pytestmark = pytest.mark.usefixtures("unmeasured")


@pytest.fixture(name="unmeasured")
def _unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks whose arms do nothing: what tests read of a result is made up as well."""
    monkeypatch.setattr(site, "measured", lambda *_: [])


def workload(writes: str = "") -> str:
    """The workload; `writes`: the step that says that it writes."""
    text = read_steps.HEAD
    for name, (statement, measured) in STEPS.items():
        tail = read_steps.SHOWN if measured else read_steps.HIDDEN
        head = read_steps.STEP.replace("NAME", name)
        text += head.replace("WRITES", "true" if name == writes else "false")
        text += tail.replace('"point"', f'"{statement}"').replace('"other"', f'"{statement}"')
    return text


def made(folder: Path, *, writes: str = "", minutes_max: float = 120) -> Plan:
    (folder / "reads.toml").write_text(workload(writes))
    return plan.parse(f"{PLAN}minutes_max = {minutes_max}", folder / "plan.toml")


def with_blocks(of: Plan, blocks: int) -> Plan:
    """The plan with a number of blocks."""
    text = of.text.replace('"until decided"', str(blocks)).split("minutes_max")[0]
    return plan.parse(text, of.path)


def reader(decided_after: Mapping[str, int]) -> looks.Read:
    """Reads a result in which a step of every arm is decided after so many blocks."""

    def read(results: Results) -> Comparison:
        done = [block for block in results.blocks() if block.state == "done"]
        arms = [arm.name for arm in results.plan.arms]
        steps = tuple(
            StepComparison(
                workload="reads",
                ordinal=WHOLE.index(name) + 1,
                step=name,
                headline="qps",
                cells=tuple(
                    cell(
                        arm,
                        "slower" if len(done) >= after else "open",
                        sum(arm in block.arms() for block in done),
                    )
                    for arm in arms
                ),
            )
            for name, after in decided_after.items()
        )
        return cast(Comparison, type("Read", (), {"steps": steps}))

    return read


def cell(arm: str, word: Word, blocks: int) -> Cell:
    verdict = Verdict(word=word, by=(), judgements=())
    return Cell(
        arm=arm, runs=(cast(StepRun, None),) * blocks, value=None, value_bound="exact", ratio=None,
        ratio_bound="exact", sla_met=None, metrics={}, estimates={},
        verdict=None if arm == "a" else verdict,
    )  # fmt: skip


SOONER = reader({"steady": 3, "noisy": 6})
UNDECIDED = reader({"steady": NEVER, "noisy": NEVER})


def blocks_of(folder: Path) -> dict[str, tuple[str, ...] | None]:
    """By block what it is to do; None: all."""
    its = ((one, one.steps()) for one in Results.open(folder).blocks())
    return {one.path.name: None if steps is None else steps["reads"] for one, steps in its}


def looks_of(folder: Path) -> Looks:
    found = Results.open(folder).looks()
    assert found is not None
    return found


def ten_minutes_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on every block took ten minutes."""

    def minutes(self: Results) -> tuple[float, ...]:
        return (10.0,) * self.complete()

    monkeypatch.setattr(Results, "minutes", minutes)


def measured(folder: Path, read: looks.Read) -> tuple[Path, str]:
    """The result folder of the plan, measured on the fake server, and what was said meanwhile."""
    with redirect_stderr(io.StringIO()) as said:
        return looks.run(made(folder), folder, read, runner=HERE).folder, said.getvalue()


@pytest.fixture(scope="module", name="whole")
def _whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A plan in which one step is decided sooner than the other."""
    return measured(tmp_path_factory.mktemp("whole"), SOONER)


@pytest.fixture(name="done")
def _done(whole: tuple[Path, str]) -> Path:
    return whole[0]


# --- Until it is decided -----------------------------------------------------------------------


def test_what_is_decided_at_a_look_rests_until_all_is(done: Path) -> None:
    whole = dict.fromkeys(("001", "002", "003"))
    assert blocks_of(done) == whole | dict.fromkeys(("004", "005", "006"), ALONE)
    assert looks_of(done) == Looks(first=None, minutes_max=120.0)


@pytest.fixture(scope="module", name="judged")
def _judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """By the lab's own judging; b is slower by a half."""
    return measured(tmp_path_factory.mktemp("judged"), compare.load)


def test_a_plan_ends_at_the_first_look_where_all_is_told_apart(judged: tuple[Path, str]) -> None:
    folder, said = judged
    assert list(blocks_of(folder)) == ["001", "002", "003"]
    assert compare.load(folder).incomplete is None
    assert "look after 3 blocks: 2 of 2 steps decided: 2 slower" in said
    assert said.rstrip().endswith("every step is decided after 3 blocks")


def test_a_look_says_what_is_decided_and_what_is_open(whole: tuple[Path, str]) -> None:
    said = whole[1].splitlines()
    assert [line for line in said if line.startswith("look")] == [
        "looks: after 3, 4, 6, 8, 12, 20 and 30 blocks, until every step is decided, or 2 h 00 min "
        "are over",
        "look after 3 blocks: 1 of 2 steps decided: 1 slower; open: noisy; next look after 4 "
        "blocks",
        "look after 4 blocks: 1 of 2 steps decided: 1 slower; open: noisy; next look after 6 "
        "blocks",
        "look after 6 blocks: 2 of 2 steps decided: 2 slower",
    ]
    assert said[-1] == "every step is decided after 6 blocks"
    titles = [line.split()[1] for line in said if line.startswith("block ")]
    assert list(dict.fromkeys(titles)) == ["1/3", "2/3", "3/3", "4/4", "5/6", "6/6"]


def test_a_plan_that_is_decided_has_nothing_to_do(done: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in done.rglob("*.json")}
    outcome = looks.run(made(done.parent), done.parent, SOONER, runner=HERE)
    assert (outcome.failed, outcome.voids) == (0, 0)
    after = {path: path.stat().st_mtime_ns for path in done.rglob("*.json")}
    assert {path.name for path in before if before[path] != after[path]} <= {"host.json"}


def test_where_a_later_step_writes_no_step_rests(tmp_path: Path) -> None:
    folder = looks.run(made(tmp_path, writes="noisy"), tmp_path, SOONER, runner=HERE).folder
    assert set(blocks_of(folder).values()) == {None}
    assert len(blocks_of(folder)) == 6


def test_a_step_that_another_look_makes_open_again_wakes_up(tmp_path: Path) -> None:
    def read(results: Results) -> Comparison:
        at_first = results.complete() < 4
        return reader({"steady": 3 if at_first else 6, "noisy": 6})(results)

    folder = looks.run(made(tmp_path), tmp_path, read, runner=HERE).folder
    assert list(blocks_of(folder).values()) == [None, None, None, ALONE, None, None]


def test_a_plan_with_the_base_alone_ends_at_the_first_look(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = made(tmp_path)
    folder = looks.run(replace(of, arms=of.arms[:1]), tmp_path, stop, runner=HERE).folder
    assert len(blocks_of(folder)) == 3
    assert "no step is compared with the base, so 3 blocks" in capsys.readouterr().err


def test_after_the_most_blocks_a_plan_ends_and_names_what_is_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = made(tmp_path)
    few = replace(of, schedule=replace(of.schedule, blocks=4))
    folder = looks.run(few, tmp_path, UNDECIDED, runner=HERE).folder
    assert len(blocks_of(folder)) == 4
    ending = "4 blocks are the most; open: steady, noisy"
    assert capsys.readouterr().err.splitlines()[-1] == ending


# --- Time --------------------------------------------------------------------------------------


def test_the_time_ends_a_plan_with_a_last_look_and_more_time_gives_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ten_minutes_each(monkeypatch)
    folder = looks.run(made(tmp_path, minutes_max=55), tmp_path, UNDECIDED, runner=HERE).folder
    assert len(blocks_of(folder)) == 5
    settled = Looks(first=None, minutes_max=55.0, last=5)
    assert looks_of(folder) == settled
    *_, look, ending = capsys.readouterr().err.splitlines()
    assert look == "look after 5 blocks: 0 of 2 steps decided; open: steady, noisy"
    assert ending == (
        "no time for a further block, about 10 min 00 s: 5 blocks took 50 min 00 s of "
        "`minutes_max`, 55 min 00 s; open: steady, noisy"
    )
    looks.run(made(tmp_path, minutes_max=85), tmp_path, UNDECIDED, runner=HERE)
    assert len(blocks_of(folder)) == 8
    assert looks_of(folder) == settled
    said = capsys.readouterr().err
    assert "look after 8" not in said
    ended = "the looks ended with block 5: further blocks give figures and no new word"
    assert said.splitlines().count(ended) == 1


def test_less_time_ends_a_plan_earlier_and_leaves_its_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ten_minutes_each(monkeypatch)
    stopped(tmp_path, monkeypatch, stop_in_block(2))
    folder = looks.run(made(tmp_path, minutes_max=35), tmp_path, UNDECIDED, runner=HERE).folder
    assert len([name for name in blocks_of(folder) if "void" not in name]) == 3
    assert looks_of(folder) == Looks(first=None, minutes_max=120.0)
    assert capsys.readouterr().err.splitlines()[-1].endswith("raise `minutes_max` for them")


def test_one_block_is_made_however_short_the_time_and_more_time_gives_its_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ten_minutes_each(monkeypatch)
    folder = looks.run(made(tmp_path, minutes_max=1), tmp_path, UNDECIDED, runner=HERE).folder
    assert len(blocks_of(folder)) == 1
    assert looks_of(folder) == Looks(first=None, minutes_max=1.0)
    assert capsys.readouterr().err.splitlines()[-1].endswith("raise `minutes_max` for them")
    looks.run(made(tmp_path, minutes_max=21), tmp_path, UNDECIDED, runner=HERE)
    assert looks_of(folder).last == len(blocks_of(folder)) == 2


# --- A number of blocks ------------------------------------------------------------------------


def test_a_plan_with_more_blocks_goes_on_to_the_next_look_and_says_those_on_the_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = made(tmp_path)
    folder = looks.run(with_blocks(of, 2), tmp_path, UNDECIDED, runner=HERE).folder
    look = (
        "look after 2 blocks: 0 of 2 steps decided; open: steady, noisy; next look after 4 blocks"
    )
    assert capsys.readouterr().err.splitlines()[-1] == f"{look}, with `blocks = 4`"
    looks.run(with_blocks(of, 3), tmp_path, UNDECIDED, runner=HERE)
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == (
        "no look after 3 blocks; the next is after 4: until then no step gets a new word"
    )
    (folder / "blocks/002/done.json").unlink()
    looks.run(with_blocks(of, 4), tmp_path, SOONER, runner=HERE)
    said = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in said if line.startswith("look")] == [
        "look after 4 blocks"
    ], "block 3 was there: with block 2 there were three"
    assert looks_of(folder) == Looks(first=2)
    assert set(blocks_of(folder).values()) == {None}


def test_a_look_that_a_plan_passes_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    of = made(tmp_path)
    stopped(tmp_path, monkeypatch, stop_in_block(2), with_blocks(of, 2))
    looks.run(with_blocks(of, 4), tmp_path, UNDECIDED, runner=HERE)
    said = capsys.readouterr().err.splitlines()
    assert [line[:20] for line in said if line.startswith("look ")] == [
        "look after 2 blocks:",
        "look after 4 blocks:",
    ]


# --- Breaks ------------------------------------------------------------------------------------


def stop(*_: object, **__: object) -> Comparison:
    raise KeyboardInterrupt


def stop_in_block(number: int) -> Callable[..., None]:
    ended = Results.end_block

    def end_block(self: Results, block: int, *rest: object) -> None:
        if block == number:
            raise KeyboardInterrupt
        ended(self, block, *rest)  # type: ignore[arg-type]

    return end_block


def stopped(
    folder: Path, monkeypatch: pytest.MonkeyPatch, how: Callable[..., None], of: Plan | None = None
) -> None:
    """Runs a plan that is broken off where a block ends."""
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Results, "end_block", how)
        looks.run(of or made(folder), folder, SOONER, runner=HERE)


@pytest.mark.parametrize("number", [2, 4, 6])
def test_a_plan_that_is_broken_off_comes_to_the_same(
    done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    stopped(tmp_path, monkeypatch, stop_in_block(number))
    folder = looks.run(made(tmp_path), tmp_path, SOONER, runner=HERE).folder
    found = blocks_of(folder)
    assert {name: steps for name, steps in found.items() if "void" not in name} == blocks_of(done)
    void = f"{number:03d}.void1"
    assert [name for name in found if "void" in name] == [void]
    assert found[void] == found[void[:3]], "done again with the same steps"
    assert looks_of(folder) == looks_of(done)


def test_a_plan_that_is_broken_off_at_a_look_comes_to_the_same(done: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        looks.run(made(tmp_path), tmp_path, stop, runner=HERE)
    assert len(blocks_of(tmp_path / "looked")) == 3
    folder = looks.run(made(tmp_path), tmp_path, SOONER, runner=HERE).folder
    assert (blocks_of(folder), looks_of(folder)) == (blocks_of(done), looks_of(done))


def test_between_two_looks_the_blocks_that_were_begun_say_what_rests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words may have changed since, as the figures are of more blocks."""
    stopped(tmp_path, monkeypatch, stop_in_block(6))
    folder = looks.run(
        made(tmp_path), tmp_path, reader({"steady": 6, "noisy": 6}), runner=HERE
    ).folder
    assert blocks_of(folder)["006"] == ALONE


def test_a_block_that_the_lab_spoils_is_done_again_with_the_same_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, spoilt = runner.run_block, []

    def run_block(lab: Lab, block: Block) -> runner.JudgedRuns:
        found = whole(lab, block)
        if block.number == 4 and not spoilt:
            spoilt.append(block)
            raise GeneratorDied("killed")
        return found

    monkeypatch.setattr(runner, "run_block", run_block)
    outcome = looks.run(made(tmp_path), tmp_path, SOONER, runner=HERE)
    assert outcome.voids == 1
    found = blocks_of(outcome.folder)
    assert found["004.void1"] == found["004"] == ALONE


def test_an_arm_that_is_added_opens_all_steps_again(tmp_path: Path) -> None:
    of = made(tmp_path)
    read = reader({"steady": 3, "noisy": 3})
    folder = looks.run(of, tmp_path, read, runner=HERE).folder
    assert len(blocks_of(folder)) == 3
    more = replace(of, arms=(*of.arms, replace(of.arms[1], name="c")))
    looks.run(more, tmp_path, read, runner=HERE)
    assert blocks_of(folder) == dict.fromkeys(("001", "002", "003", "004"))
    assert set(Results.open(folder).blocks()[-1].arms()) == {"a", "b", "c"}


# --- Folders of older versions, and damaged ones ------------------------------------------------


def test_a_folder_of_an_older_version_is_looked_at_from_where_it_was(tmp_path: Path) -> None:
    of = made(tmp_path)
    folder = looks.run(with_blocks(of, 3), tmp_path, UNDECIDED, runner=HERE).folder
    (folder / "looks.json").unlink()
    written = json.loads((folder / "plan.json").read_text())
    written["schedule"] |= {"until_decided": True, "minutes_max": 120.0}
    (folder / "plan.json").write_text(json.dumps(written))
    read = reader({"steady": 3, "noisy": 6})
    looks.run(of, tmp_path, read, runner=HERE)
    assert looks_of(folder) == Looks(first=3)
    assert list(blocks_of(folder).values()) == [None] * 3 + [ALONE] * 3
    assert store.read_struct(folder / "plan.json", Json)["schedule"]["until_decided"] is True


def test_before_its_first_block_a_plan_may_change_its_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = made(tmp_path)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Results, "begin_block", stop)
        looks.run(with_blocks(of, 4), tmp_path, UNDECIDED, runner=HERE)
    assert looks_of(tmp_path / "looked") == Looks(first=4)
    folder = looks.run(with_blocks(of, 2), tmp_path, UNDECIDED, runner=HERE).folder
    assert looks_of(folder) == Looks(first=2)


def test_damaged_looks_stop_the_plan_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(tmp_path, monkeypatch, stop_in_block(2))
    (tmp_path / "looked/looks.json").write_text("{}")
    with pytest.raises(ResultError, match=r"looks\.json: the key `first` is missing"):
        looks.run(made(tmp_path), tmp_path, SOONER, runner=HERE)
    assert list(blocks_of(tmp_path / "looked")) == ["001", "002"]


# --- Which steps a block does ------------------------------------------------------------------


def test_only_what_the_wanted_steps_need_runs_with_them(tmp_path: Path) -> None:
    steps = steps_of(tmp_path)

    def names(*wanted: str, through: int = 0) -> tuple[str, ...]:
        return tuple(step.name for step in schedule.only(steps, wanted, through=through))

    assert names("noisy") == ("fill", "warm", "noisy")
    assert names("steady") == ("fill", "steady")
    assert names("steady", "noisy") == WHOLE
    assert names("noisy", through=2) == WHOLE, "a state is kept after `steady`"
    assert names() == ()


def test_a_workload_that_a_block_leaves_out_has_no_steps(tmp_path: Path) -> None:
    steps = steps_of(tmp_path)
    block = Block(number=9, order=("a", "b"), seed=1, steps={"other": ("x",)})
    assert schedule.of_block(block, steps) == ()
    assert schedule.of_block(replace(block, steps=None), steps) == steps


def steps_of(folder: Path) -> tuple[Step, ...]:
    return preflight.prepare(made(folder)).steps["./reads.toml"]["a"]
