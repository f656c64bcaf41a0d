"""The example results say what they said, figure by figure, and their plans go on as begun."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from msgspec import to_builtins

import example_figures
from dbdyno import plan, workload
from dbdyno.engine.preset import Capacity
from dbdyno.host.observe import facts
from dbdyno.model import Json
from dbdyno.model.error import ResultError
from dbdyno.run import blocks
from dbdyno.run.check import plan_record
from dbdyno.run.ready_plan import ReadyPlan
from dbdyno.store import Results, continuation

EXAMPLES = example_figures.examples()
KINDS = {
    "run", "turns", "writes-in-turn", "profile", "sweep", "nodes", "attribution",
    "bisect", "begun", "count", "application",
}  # fmt: skip
BEGUN = example_figures.KINDS / "begun"
IN_SHORT = {"turns", "begun"}
"""Kinds whose figures are compared in `make test`: a result and one that goes on."""
HOW = "list each with its reason, then `python tools/example_figures.py --write`"


def test_there_is_an_example_of_each_kind() -> None:
    assert {example.name for example in EXAMPLES} == KINDS


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(one, marks=[] if one.name in IN_SHORT else [pytest.mark.long])
        for one in EXAMPLES
    ],
    ids=lambda path: path.name,
)
def test_every_figure_of_an_example_is_what_it_was(example: Path) -> None:
    before, now = example_figures.kept(example), example_figures.of_example(example)
    changed = list(example_figures.departures(example.name, before, now))
    assert not changed, "\n".join([f"{len(changed)} figures changed; {HOW}", *changed])


def test_a_change_is_listed_by_example_step_arm_and_metric() -> None:
    before = {"point, b, qps": {"ratio": 1.02, "verdict": "faster"}, "point, a, qps": {"value": 5}}
    now = {"point, b, qps": {"ratio": 1.0200001, "verdict": "same"}, "scan, a, qps": {"value": 7}}
    assert list(example_figures.departures("turns", before, now)) == [
        "turns, point, b, qps, verdict: faster → same",
        "turns, point, a, qps, value: 5 → none",
        "turns, scan, a, qps, value: none → 7",
    ]


@pytest.mark.long
def test_figures_are_written_only_if_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(BEGUN, tmp_path / "begun")
    monkeypatch.setattr(example_figures, "KINDS", tmp_path)
    written = tmp_path / "begun" / example_figures.FIGURES
    said = written.read_text()
    written.write_text(said.replace('"value": 10000.0', '"value": 10007.0'))
    assert said != written.read_text()
    for words, status in (([], 1), ([], 1), (["--write"], 0), ([], 0)):
        monkeypatch.setattr(sys, "argv", ["example_figures", *words])
        assert example_figures.main() == status
    assert written.read_text() == said
    assert (
        "begun, sysbench point-query, old, qps, value: 10007.0 → 10000.0" in capsys.readouterr().out
    )


# --- Plans that were begun -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "example", [one for one in EXAMPLES if (one / "plan.toml").exists()], ids=lambda path: path.name
)
def test_the_plan_of_an_example_may_go_on(example: Path) -> None:
    with example_figures.unpacked(example) as folder:
        before: Json = json.loads((folder / "plan.json").read_text())
    its = plan.parse((example / "plan.toml").read_text(), Path(f"{before['name']}.toml"))
    prepared = ReadyPlan(
        builds={}, releases={}, steps={}, sizing=Capacity(**before["sizing"]), points={},
        copies={}, copy_bytes={}, disk=(), data_path=Path("/"), device=None,
    )  # fmt: skip
    now: Json = json.loads(json.dumps(plan_record.plan_json(its, prepared), default=list))
    now["format"] = before["format"]
    as_today(before)
    # What only this host's servers tell is as it was.
    arms = {arm["name"]: arm for arm in before["arms"]}
    now["arms"] = [{**arms[arm["name"]], **without_nothing(arm)} for arm in now["arms"]]
    assert continuation.refused(before, now, before["blocks"]) is None


def as_today(plan_json: Json) -> None:
    """Gives shipped workloads their hash of today: files that changed since do not go on."""
    for use in plan_json["workloads"]:
        use["sha256"] = workload.sha256(use["name"])


def without_nothing(arm: Json) -> Json:
    return {key: value for key, value in arm.items() if value is not None}


@pytest.mark.long
def test_a_plan_that_an_earlier_version_began_goes_on_as_begun(tmp_path: Path) -> None:
    file = shutil.copyfile(BEGUN / "plan.toml", tmp_path / "begun.toml")
    with example_figures.unpacked(BEGUN) as folder:
        shutil.copytree(folder, tmp_path / "out" / "begun")
    before = Results.open(tmp_path / "out" / "begun")
    assert [block.state for block in before.blocks()] == ["done", "broken"]
    with pytest.raises(ResultError, match="of a workload file that has changed since"):
        blocks.run(plan.load(file), tmp_path / "out", wait=True)
    as_planned_today(before)
    say_machine(before)
    first = files(before, 1)
    outcome = blocks.run(plan.load(file), tmp_path / "out", wait=True)
    assert outcome.failed == 0
    after = Results.open(outcome.folder)
    assert [block.state for block in after.blocks() if block.state == "done"] == ["done"] * 3
    assert files(after, 1) == first, "what was measured stays as it is"
    orders = [block.order().order for block in after.blocks() if block.state == "done"]
    assert orders[0] == before.blocks()[0].order().order


def as_planned_today(results: Results) -> None:
    """Writes the plan by the names of today."""
    plan_json = results.plan_json()
    as_today(plan_json)
    (results.folder / "plan.json").write_text(json.dumps(plan_json))


def say_machine(results: Results) -> None:
    """Says that the result was begun on this machine, with the kernel of today."""
    now = to_builtins(facts.collect(results.folder, measure=False).machine)
    path = results.folder / "host.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | now))


def files(results: Results, number: int) -> dict[str, bytes]:
    (block,) = [one for one in results.blocks() if (one.number, one.state) == (number, "done")]
    return {
        str(path.relative_to(block.path)): path.read_bytes()
        for path in block.path.rglob("*")
        if path.is_file()
    }
