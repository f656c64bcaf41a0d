"""blocks = "auto" with the fake server: pilot, what it came to, fresh blocks, and every break."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import read_steps
from dbdyno import cli, plan, store
from dbdyno.analysis import compare
from dbdyno.analysis.compare import pilot_noise
from dbdyno.host import program
from dbdyno.model import Block, Plan
from dbdyno.model.error import ResultError
from dbdyno.model.verdict import PILOT_BLOCKS, Sized, Sizing
from dbdyno.plan import schedule
from dbdyno.run import auto, blocks
from dbdyno.run.arm import Lab
from dbdyno.run.driver import GeneratorDied
from dbdyno.stats import sample_size
from dbdyno.store import Results, Took

PLAN = """
name = "auto"
[arms.a]
engine = "fake"
fake = { service_us = { point = 200, other = 60_000 } }
[arms.b]
engine = "fake"
fake = { service_us = { point = 200, other = 60_000 }, jitter = 0.9 }
[[workloads]]
name = "./reads.toml"
[verdict]
effect = 0.2
[schedule]
blocks = "auto"
"""
STEPS = {"steady": ("point", True), "warm": ("point", False), "noisy": ("other", True)}
"""By step: what it runs, and whether it is measured. `noisy` has 50 operations, all unlike in b."""
WHOLE = ("fill", "steady", "warm", "noisy")
ALONE = ("fill", "warm", "noisy")
"""What a block does that is for `noisy` alone: the warm-up before it stays."""

pytestmark = pytest.mark.usefixtures("generator")


@pytest.fixture(name="generator")
def _generator() -> Path:
    return program.find("dyno-loadgen")


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


def blocks_of(folder: Path) -> dict[str, tuple[str, ...] | None]:
    """By block what it is to do; None: all."""
    its = ((one, one.steps()) for one in Results.open(folder).blocks())
    return {one.path.name: None if steps is None else steps["reads"] for one, steps in its}


def steps_done(folder: Path, block: int) -> set[tuple[str, str]]:
    return {
        (run.arm, step.name)
        for one in Results.open(folder).blocks()
        if one.number == block and one.void is None
        for run in one.runs()
        for step in run.steps()
    }


def blocks_by_step(sizing: Sizing) -> dict[str, int]:
    return {one.step: one.blocks for one in sizing.steps}


def sized(folder: Path) -> Sizing:
    found = Results.open(folder).sizing()
    assert found is not None
    return found


@pytest.fixture(scope="module", name="done")
def _done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result folder of a plan that was never broken off."""
    folder = tmp_path_factory.mktemp("whole")
    return auto.run(made(folder), folder, pilot_noise.read, wait=True).folder


# --- From the pilot to the verdict -------------------------------------------------------------


def test_the_noisier_step_gets_more_fresh_blocks_and_these_do_without_the_other(done: Path) -> None:
    sizing = sized(done)
    counts = blocks_by_step(sizing)
    assert counts["steady"] == sample_size.FRESH_MIN < counts["noisy"] == sizing.fresh
    found = blocks_of(done)
    assert len(found) == sizing.pilot + sizing.fresh
    whole = sizing.pilot + counts["steady"]
    assert list(found.values()) == [None] * whole + [ALONE] * (len(found) - whole)


def test_a_block_that_does_some_steps_is_complete_and_none_of_the_others_counts_as_lacking(
    done: Path,
) -> None:
    sizing = sized(done)
    last = sizing.pilot + sizing.fresh
    assert steps_done(done, last) == {(arm, name) for arm in "ab" for name in ALONE}
    comparison = compare.load(done)
    assert comparison.incomplete is None
    assert comparison.sizing == sizing
    for step in comparison.steps:
        for cell in step.cells:
            assert {run.ending.status for run in cell.runs} == {"ok"}


def test_verdicts_are_taken_on_the_fresh_blocks_alone(done: Path) -> None:
    sizing = sized(done)
    comparison = compare.load(done)
    assert comparison.blocks == sizing.fresh
    judged = {
        step.step: cell.verdict.judgements[0].blocks
        for step in comparison.steps
        for cell in step.cells
        if cell.verdict is not None
    }
    assert judged == blocks_by_step(sizing)


def test_the_plan_of_the_folder_takes_note_of_the_fresh_blocks(done: Path) -> None:
    sizing = sized(done)
    assert Results.open(done).plan["blocks"] == sizing.pilot + sizing.fresh
    assert store.read_json(done / "plan.001.json")["blocks"] == sizing.pilot


def test_a_block_says_how_long_it_and_each_of_its_steps_took(done: Path) -> None:
    last = Results.open(done).blocks()[-1].took()
    assert last is not None
    assert set(last.steps_s["reads"]) == set(ALONE)
    assert 0 < sum(last.steps_s["reads"].values()) < last.took_s


def test_a_plan_that_is_done_has_nothing_to_do(done: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in done.glob("blocks/*/order.json")}
    outcome = auto.run(made(done.parent), done.parent, pilot_noise.read, wait=True)
    assert (outcome.failed, outcome.voids) == (0, 0)
    assert {path: path.stat().st_mtime_ns for path in done.glob("blocks/*/order.json")} == before


def test_where_a_later_step_writes_all_steps_are_repeated_equally_often(tmp_path: Path) -> None:
    folder = auto.run(made(tmp_path, writes="noisy"), tmp_path, pilot_noise.read, wait=True).folder
    sizing = sized(folder)
    assert set(blocks_by_step(sizing).values()) == {sizing.fresh}
    assert set(blocks_of(folder).values()) == {None}


def test_an_arm_that_fails_is_a_result_and_is_repeated_as_often_as_is_least(tmp_path: Path) -> None:
    of = made(tmp_path)
    failing = of.arms[1].fake | {"errors": [{"statement": "point", "every": 5, "code": "XX000"}]}
    of = replace(of, arms=(of.arms[0], replace(of.arms[1], fake=failing)))
    outcome = auto.run(of, tmp_path, pilot_noise.read, wait=True)
    sizing = sized(outcome.folder)
    assert (sizing.fresh, {one.power for one in sizing.steps}) == (sample_size.FRESH_MIN, {0.0})
    assert outcome.failed == (sizing.pilot + sizing.fresh) * 3
    assert "too little of it to promise" in "\n".join(auto.said(of, sizing))


def test_a_plan_begins_with_as_many_blocks_as_a_pilot_has(tmp_path: Path) -> None:
    of = made(tmp_path)
    assert of.schedule.blocks == PILOT_BLOCKS


def test_the_commands_take_the_pilots_way_where_the_plan_is_auto(tmp_path: Path) -> None:
    outcome = cli.measure(made(tmp_path), tmp_path, True)
    assert Results.open(outcome.folder).sizing() is not None


def test_what_is_said_names_blocks_noise_power_and_what_is_short(tmp_path: Path) -> None:
    of = made(tmp_path, minutes_max=90)
    assert auto.announced(of).endswith("which alone are judged, all within 1 h 30 min")
    steps = [
        Sized(workload="w", step=step, sd={"ips": 0.021}, blocks=5, power=0.83, capped=capped)
        for step, capped in (("qr1", False), ("qr1000", True))
    ]
    found = "5 blocks find it in 83 % of cases"
    lines = list(auto.said(of, Sizing(pilot=3, fresh=5, steps=tuple(steps), minutes=42.0)))
    assert lines == [
        "the pilot asks for 5 fresh blocks, about 42 min 00 s; to be found: 20 %",
        f"  qr1     {found} (noise: rows inserted 2.1 %)",
        f"  qr1000  {found}; it takes more than that (noise: rows inserted 2.1 %)",
    ]


# --- Time --------------------------------------------------------------------------------------


def test_the_last_blocks_are_left_out_where_they_would_pass_minutes_max(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the pilot took, three blocks of six minutes, and one of five, without `steady`.
    of = pretended(tmp_path, monkeypatch, minutes_max=18 + 3 * 6 + 5.5)
    sizing = sized(auto.run(of, tmp_path, pilot_noise.read, wait=True).folder)
    assert blocks_by_step(sizing) == {"steady": 3, "noisy": 4}
    assert sizing.minutes == pytest.approx(4 * 3 + 3 * 1 + 4 * 2)
    assert [one.capped for one in sizing.steps] == [False, True]
    assert [one.step for one in sizing.steps if one.power < of.aims.power] == ["noisy"]


def test_a_limit_that_nothing_fits_leaves_the_fewest_blocks_and_says_that_it_is_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = pretended(tmp_path, monkeypatch, minutes_max=20)
    sizing = sized(auto.run(of, tmp_path, pilot_noise.read, wait=True).folder)
    assert set(blocks_by_step(sizing).values()) == {sample_size.FRESH_MIN}
    (line,) = [one for one in auto.said(of, sizing, left=2.0) if "minutes_max" in one]
    assert line == (
        "  that is more than `schedule.minutes_max` leaves, 2 min 00 s, but 3 are the fewest"
    )
    assert not any("minutes_max" in one for one in auto.said(of, sizing, left=sizing.minutes))


def pretended(folder: Path, monkeypatch: pytest.MonkeyPatch, *, minutes_max: float) -> Plan:
    """A plan whose pilot is done, and took six minutes a block: a step's and what is hidden."""
    of = made(folder, minutes_max=minutes_max)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(auto, "settle", stop)
        auto.run(of, folder, pilot_noise.read, wait=True)
    for path in folder.glob("auto/blocks/*/done.json"):
        steps_s = {"reads": {"steady": 60, "noisy": 120}}
        ended = json.loads(path.read_text())
        path.write_text(json.dumps(ended | {"took_s": 360, "steps_s": steps_s}))
    return of


# --- Breaks ------------------------------------------------------------------------------------


def stop(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def stop_in_block(number: int) -> Callable[..., None]:
    ended = Results.end_block

    def end_block(self: Results, block: int, *rest: object) -> None:
        if block == number:
            raise KeyboardInterrupt
        ended(self, block, *rest)  # type: ignore[arg-type]

    return end_block


@pytest.mark.parametrize(
    ("where", "what", "how", "void"),
    [
        (Results, "end_block", stop_in_block(2), "002.void1"),
        (auto, "settle", stop, None),
        (blocks, "grown", stop, None),
        (Results, "end_block", stop_in_block(4), "004.void1"),
        (Results, "end_block", stop_in_block(7), "007.void1"),
    ],
    ids=["pilot", "before the sizing", "after the sizing", "fresh", "fresh with some steps"],
)
def test_a_plan_that_is_broken_off_comes_to_the_same(
    done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *,
    where: object, what: str, how: object, void: str | None,
) -> None:  # fmt: skip
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(where, what, how)
        auto.run(made(tmp_path), tmp_path, pilot_noise.read, wait=True)
    folder = tmp_path / "auto"
    kept = folder / "sizing.json"
    before = kept.read_bytes() if kept.exists() else None
    auto.run(made(tmp_path), tmp_path, pilot_noise.read, wait=True)
    assert before in (None, kept.read_bytes()), "what was settled stays"
    assert sized(folder).steps == sized(done).steps
    found = blocks_of(folder)
    assert {name: steps for name, steps in found.items() if "void" not in name} == blocks_of(done)
    assert [name for name in found if "void" in name] == ([void] if void else [])
    if void:
        assert found[void] == found[void[:3]], "done again with the same steps"
    assert compare.load(folder).incomplete is None


def test_a_fresh_block_that_the_lab_spoils_is_done_again_with_the_same_steps(
    done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = sized(done).pilot + sized(done).fresh
    whole, spoilt = blocks.run_block, []

    def run_block(lab: Lab, block: Block) -> tuple[int, Took]:
        found = whole(lab, block)
        if block.number == last and not spoilt:
            spoilt.append(block)
            raise GeneratorDied("killed")
        return found

    monkeypatch.setattr(blocks, "run_block", run_block)
    outcome = auto.run(made(tmp_path), tmp_path, pilot_noise.read, wait=True)
    assert outcome.voids == 1
    found = blocks_of(outcome.folder)
    assert found[f"{last:03d}.void1"] == found[f"{last:03d}"] == ALONE
    assert steps_done(outcome.folder, last) == {(arm, name) for arm in "ab" for name in ALONE}


def test_an_arm_that_the_pilot_did_not_see_is_refused(done: Path) -> None:
    of = made(done.parent)
    more = replace(of, arms=(*of.arms, replace(of.arms[1], name="c")))
    with pytest.raises(ResultError, match=r"key `arms\.c`: the pilot there did not see this arm"):
        auto.run(more, done.parent, pilot_noise.read, wait=True)


def test_a_damaged_sizing_stops_the_plan_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(blocks, "grown", stop)
        auto.run(made(tmp_path), tmp_path, pilot_noise.read, wait=True)
    (tmp_path / "auto/sizing.json").write_text("{}")
    with pytest.raises(ResultError, match=r"sizing\.json: the key `pilot` is missing"):
        auto.run(made(tmp_path), tmp_path, pilot_noise.read, wait=True)
    assert len(blocks_of(tmp_path / "auto")) == PILOT_BLOCKS


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


def steps_of(folder: Path):  # type: ignore[no-untyped-def]
    from dbdyno.run.check import preflight

    return preflight.prepare(made(folder)).steps["./reads.toml", "a"]
