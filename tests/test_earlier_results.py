"""What earlier results tell a new plan: scatter of its only step, how long steps should be."""

from __future__ import annotations

import json
from collections.abc import Callable, Set
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import read_steps
from dbdyno import plan, store
from dbdyno.analysis import compare
from dbdyno.analysis.compare import earlier_calibration, earlier_results
from dbdyno.analysis.step import assemble
from dbdyno.analysis.step.evidence import Evidence
from dbdyno.host.lock import HostLock
from dbdyno.model import Json, Plan, Step, Stretch, WorkloadUse
from dbdyno.model.error import ResultError
from dbdyno.model.host_prior import HostPrior, Prior
from dbdyno.report.section import verdicts
from dbdyno.run import blocks as runner
from dbdyno.run import looks, prior
from dbdyno.run.way import Here
from dbdyno.store import Results
from result_builder import build, make_step, plant
from result_planted import Planted

STEP = "l.i0"
WANTED = make_step(STEP, plant(STEP))
BLOCKS = 4
SLICES = {"interleave": "slice", "slice_s": 1.0}


@pytest.fixture(autouse=True)
def _turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step took ten turns that scatter by 3 %: the results here are of a constant pace."""

    def turns(found: Evidence) -> tuple[Stretch, ...]:
        random = Random(str(found.step["arm"]) + str(found.step["block"]))
        return tuple(
            Stretch(
                turn=number,
                turns=1,
                seconds=1.0,
                rate=random.lognormvariate(5, 0.03),
                cpu_us=random.lognormvariate(5, 0.03),
            )
            for number in range(1, 11)
        )

    monkeypatch.setattr(assemble, "stretches", turns)


def noisy(seed: int, slower: float = 1.0) -> Callable[[str, str, int], Planted]:
    """A step that scatters by 1 % between blocks, in throughput and in CPU."""

    def planted(arm: str, step: str, block: int) -> Planted:
        random = Random(f"{seed} {arm} {block}")
        faster = random.lognormvariate(0, 0.01) / (slower if arm == "pg18" else 1.0)
        cost = 20.0 * random.lognormvariate(0, 0.01) * (slower if arm == "pg18" else 1.0)
        return plant(step, faster=faster, role_cpu_us={"insert": cost})

    return planted


def change(folder: Path, key: str, **to: object) -> Path:
    """The result with other values in an object of plan.json."""
    path = folder / "plan.json"
    written = json.loads(path.read_text())
    written[key] |= to
    store.write_json(path, written)
    return folder


def result(parent: Path, name: str, seed: int, *, blocks: int = BLOCKS, **to: object) -> Path:
    """An earlier result in turns."""
    made = build(parent, name=name, steps=(STEP,), blocks=blocks, planted=noisy(seed))
    return change(made, "schedule", **(SLICES | to))


def calibrated(parent: Path, name: str, blocks: int) -> Path:
    """A calibration, of comparisons of four blocks each."""
    made = result(parent, name, seed=99, blocks=blocks, comparison=BLOCKS, ghost=True)
    written = json.loads((made / "plan.json").read_text())
    written["arms"][1] |= {"same_as": "pg17", "shown": True}
    store.write_json(made / "plan.json", written)
    return made


def begun(parent: Path) -> Results:
    """The new result, before its first block."""
    made = build(parent, name="new", steps=(STEP,), blocks=0, planned_blocks=BLOCKS)
    return Results.open(change(made, "schedule", **SLICES))


def begun_or_open(parent: Path) -> Results:
    """The same, where another test may have made it."""
    return Results.open(parent / "new") if (parent / "new").exists() else begun(parent)


@pytest.fixture(scope="module", name="five")
def _five(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five earlier results."""
    parent = tmp_path_factory.mktemp("results")
    for number in range(5):
        result(parent, f"r{number}", seed=number)
    return parent


# --- Which results lend ------------------------------------------------------------------------


def test_five_results_of_the_host_lend(five: Path) -> None:
    found = earlier_results.prior(begun_or_open(five), WANTED)
    assert found is not None
    assert (found.workload, found.step) == (WANTED.workload, STEP)
    assert found.folders == ("r0", "r1", "r2", "r3", "r4")
    assert set(found.metrics) == {"ips", "cpu_per_op"}
    for its in found.metrics.values():
        assert (its.results, its.freedom) == (5, 15)
        assert 0.3e-4 < its.variance < 10e-4, "two arms of 1 % each: 2e-4"
        assert 0.3 < its.scale * 10 < 10, "turns alone imply 1.8e-3 / 10"


def test_four_lend_nothing_and_the_result_itself_is_none_of_them(tmp_path: Path) -> None:
    for number in range(4):
        result(tmp_path, f"r{number}", seed=number)
    own = Results.open(result(tmp_path, "new", seed=5))
    assert earlier_results.prior(own, WANTED) is None
    result(tmp_path, "r4", seed=4)
    assert earlier_results.prior(own, WANTED) is not None


def other_window(step: Step) -> Step:
    return replace(step, job=step.job | {"stop": step.job["stop"] | {"warmup_s": 5}})


@pytest.mark.parametrize(
    "step", [other_window(WANTED), replace(WANTED, name="l.i1"), replace(WANTED, workload="other")]
)
def test_another_step_or_window_takes_nothing(five: Path, step: Step) -> None:
    assert earlier_results.prior(begun_or_open(five), step) is None


@pytest.mark.parametrize(
    "host",
    [{"kernel": "6.13.0"}, {"cpu": {"model": "another"}}, {"memory_bytes": 1 << 30}],
)
def test_another_kernel_or_processor_takes_nothing(five: Path, host: Json) -> None:
    own = begun_or_open(five)
    before = own.host()
    assert before is not None
    own.write_host(before | host)
    try:
        assert earlier_results.prior(own, WANTED) is None
    finally:
        own.write_host(before)


@pytest.mark.parametrize(
    "schedule", [{"slice_s": 2.0}, {"interleave": "step", "slice_s": None}, {"interleave": "duet"}]
)
def test_another_interleaving_takes_nothing(five: Path, schedule: Json) -> None:
    own = begun_or_open(five)
    changed = replace(own, plan=own.plan | {"schedule": own.plan["schedule"] | schedule})
    assert earlier_results.prior(changed, WANTED) is None


def test_each_comparison_of_a_calibration_is_one_and_they_come_first(tmp_path: Path) -> None:
    for number in range(3):
        result(tmp_path, f"r{number}", seed=number)
    calibrated(tmp_path, "new.calibration", 3 * BLOCKS)
    own = begun(tmp_path)
    found = earlier_results.prior(own, WANTED)
    assert found is not None
    assert found.metrics["ips"].results == 6, "three comparisons, and three results beside them"
    calibrated(tmp_path, "more.calibration", 2 * BLOCKS)
    found = earlier_results.prior(own, WANTED)
    assert found is not None
    assert found.folders == ("more.calibration", "new.calibration")
    assert found.metrics["ips"].results == 5


def test_a_damaged_result_and_other_folders_lend_nothing(tmp_path: Path) -> None:
    for number in range(5):
        result(tmp_path, f"r{number}", seed=number)
    (tmp_path / "notes").mkdir()
    own = begun(tmp_path)
    assert earlier_results.prior(own, WANTED) is not None
    (job,) = (tmp_path / "r0" / "blocks" / "001" / "pg17").rglob("job.json")
    job.write_text("{")
    assert earlier_results.prior(own, WANTED) is None


# --- Which calibration tells how long steps should be -------------------------------------------


def with_other_lengths(results: Results, folder: Path) -> Plan:
    """A plan of the same steps that leaves open how long they are."""
    (use,) = results.plan["workloads"]
    its = WorkloadUse(
        name=use["name"],
        parameters=use["parameters"] | {"seconds": 7},
        **{key: use[key] for key in ("set", "preset", "fill", "warm")},
    )
    of = made(folder, "one")
    base = replace(of.arms[0], engine=results.plan["arms"][0]["engine"])
    return replace(of, arms=(base, *of.arms[1:]), workloads=(its,))


def test_the_newest_calibration_of_these_steps_and_this_host_tells(tmp_path: Path) -> None:
    result(tmp_path, "r0", seed=0)
    results = Results.open(calibrated(tmp_path, "first.calibration", 2 * BLOCKS))
    of, host = with_other_lengths(results, tmp_path), results.host() or {}
    wanted = {(WANTED.workload, STEP)}
    found = earlier_calibration.newest(tmp_path, host, of, wanted)
    assert found is not None
    assert found.folder == "first.calibration"
    assert [(its.step, its.metric) for its in found.budgets] == [
        (STEP, "ips"), (STEP, "cpu_per_op"),
    ]  # fmt: skip
    later = Results.open(calibrated(tmp_path, "a.calibration", 2 * BLOCKS))
    later.write_host(host | {"since_unix_ns": 2})
    found = earlier_calibration.newest(tmp_path, host, of, wanted)
    assert found is not None
    assert found.folder == "a.calibration"

    def nothing(host: Json = host, of: Plan = of, steps: Set[tuple[str, str]] = wanted) -> bool:
        return earlier_calibration.newest(tmp_path, host, of, steps) is None

    assert nothing(host=host | {"kernel": "6.13.0"})
    assert nothing(steps={*wanted, (WANTED.workload, "l.x")})
    assert nothing(steps=set())
    (use,) = of.workloads
    others = use.parameters | {"rows": 5}
    assert nothing(of=replace(of, workloads=(replace(use, parameters=others),)))
    assert nothing(of=replace(of, arms=(replace(of.arms[0], engine="mysql"), *of.arms[1:])))
    change(later.folder, "schedule", interleave="step")
    change(results.folder, "schedule", interleave="step")
    assert nothing()


# --- What is kept and said ---------------------------------------------------------------------

QUIET = HostPrior(
    results=10,
    freedom=30,
    variance=0.5e-4,
    variance_freedom=20.0,
    scale=0.1,
    scale_freedom=20.0,
)
PRIOR = Prior(
    workload=WANTED.workload,
    step=STEP,
    folders=("r0", "r1"),
    metrics={"ips": QUIET, "cpu_per_op": QUIET},
)


def test_a_prior_comes_back_as_it_was_kept_and_is_never_changed(tmp_path: Path) -> None:
    own = begun(tmp_path)
    assert own.prior() is None
    own.keep_prior(PRIOR)
    assert own.prior() == PRIOR
    with pytest.raises(AssertionError):
        own.keep_prior(PRIOR)
    with pytest.raises(AssertionError):
        Results.open(result(tmp_path, "r0", seed=0)).keep_prior(PRIOR)


def test_a_damaged_prior_is_named(tmp_path: Path) -> None:
    own = result(tmp_path, "r0", seed=0)
    (own / "prior.json").write_text('{"workload": "w", "step": "s", "folders": []}')
    with pytest.raises(ResultError, match=r"prior\.json: the key `metrics` is missing"):
        Results.open(own).prior()
    assert any("prior.json" in line for line in compare.load(own).warnings)


def test_a_step_is_judged_by_its_prior_and_its_own_word_stands_beside(tmp_path: Path) -> None:
    made = build(tmp_path, name="new", steps=(STEP,), blocks=3, planted=noisy(3, slower=1.03))
    alone = compare.load(made).steps[0].cells[1].verdict
    store.write_json(made / "prior.json", json.loads(json.dumps(PRIOR, default=vars)))
    lent = compare.load(made).steps[0].cells[1].verdict
    assert alone is not None
    assert lent is not None
    assert (alone.word, alone.word_own) == ("cannot tell", None)
    assert (lent.word, lent.word_own) == ("slower", "cannot tell")
    assert all(0 < one.lent <= 4 for one in lent.judgements)
    assert [one.sd for one in lent.judgements] == [one.sd for one in alone.judgements]
    told = verdicts.details(lent.judgements[0])
    assert "degrees of freedom lent by earlier results of this host" in told
    assert "by its own blocks: cannot tell" in told


def test_several_steps_take_nothing_of_it(tmp_path: Path) -> None:
    made = build(tmp_path, name="new", steps=(STEP, "l.x"), blocks=3, planted=noisy(3))
    before = compare.load(made).steps
    store.write_json(made / "prior.json", json.loads(json.dumps(PRIOR, default=vars)))
    assert compare.load(made).steps == before


# --- When a plan begins ------------------------------------------------------------------------

PLAN = """
name = "single"
[arms.a]
engine = "fake"
fake = { default_us = 100 }
[arms.b]
engine = "fake"
fake = { default_us = 100 }
[[workloads]]
name = "./reads.toml"
steps = STEPS
[schedule]
blocks = 2
"""


def made(folder: Path, *steps: str) -> Plan:
    (folder / "reads.toml").write_text(read_steps.text())
    return plan.parse(PLAN.replace("STEPS", json.dumps(steps)), folder / "plan.toml")


def in_turns(of: Plan) -> Plan:
    """The plan as if it had turns, which the fake has not."""
    return replace(of, schedule=replace(of.schedule, interleave="slice"))


def settled(folder: Path, of: Plan) -> list[tuple[str, str]]:
    """Which steps were asked for, by result and step; then PRIOR is lent."""
    asked = []

    def seek(results: Results, step: Step) -> Prior:
        asked.append((results.folder.name, step.name))
        return PRIOR

    with HostLock(plan=of.name, wait=True), runner.opened(of, folder) as lab:
        prior.settle(replace(lab, plan=in_turns(of)), seek)
    return asked


def test_a_plan_with_a_single_step_asks_once_and_keeps_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = made(tmp_path, "one")
    assert settled(tmp_path, of) == [("single", "one")]
    assert Results.open(tmp_path / "single").prior() == PRIOR
    said = "prior: 10 earlier comparisons of this host lend to the scatter of `one`: r0, r1"
    assert said in capsys.readouterr().err
    assert settled(tmp_path, of) == []


def test_several_steps_and_calibrations_ask_for_nothing(tmp_path: Path) -> None:
    assert settled(tmp_path, made(tmp_path, "one", "three")) == []
    of = made(tmp_path, "one")
    several = replace(of, name="c", schedule=replace(of.schedule, comparison=2, blocks=4))
    assert settled(tmp_path, several) == []


def test_a_result_with_a_block_asks_no_more_and_without_turns_a_line_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = made(tmp_path, "one")
    looks.run(of, tmp_path, compare.load, seek=earlier_results.prior, way=Here(wait=True))
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("prior")]
    assert len(said) == 1
    assert 'without turns (interleave = "slice") dyno cannot tell' in said[0]
    assert settled(tmp_path, of) == []
    assert Results.open(tmp_path / "single").prior() is None
