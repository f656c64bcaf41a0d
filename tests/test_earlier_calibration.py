"""What an earlier calibration tells a new plan: how long its steps should be."""

from __future__ import annotations

import json
from collections.abc import Set
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from msgspec import structs

import read_steps
from dbdyno import plan, store
from dbdyno.analysis.compare import earlier_calibration
from dbdyno.analysis.step import assemble
from dbdyno.analysis.step.evidence import Evidence
from dbdyno.model import Plan, Segment, WorkloadUse
from dbdyno.model.host_facts import HostFacts
from dbdyno.store import Results
from result_builder import build, make_step, plant
from result_planted import Planted

STEP = "l.i0"
WANTED = make_step(STEP, plant(STEP))
BLOCKS = 4
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
steps = ["one"]
[schedule]
blocks = 2
"""


@pytest.fixture(autouse=True)
def _turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step took ten turns that scatter by 3 %: the results here are of a constant pace."""

    def turns(found: Evidence) -> tuple[Segment, ...]:
        random = Random(found.step.arm + str(found.step.block))
        return tuple(
            Segment(
                turn=number,
                turns=1,
                seconds=1.0,
                rate=random.lognormvariate(5, 0.03),
                cpu_us=random.lognormvariate(5, 0.03),
            )
            for number in range(1, 11)
        )

    monkeypatch.setattr(assemble, "segments", turns)


def noisy(arm: str, step: str, block: int) -> Planted:
    """A step that scatters by 1 % between blocks, in throughput and in CPU."""
    random = Random(f"{arm} {block}")
    faster, cost = random.lognormvariate(0, 0.01), 20.0 * random.lognormvariate(0, 0.01)
    return plant(step, faster=faster, role_cpu_us={"insert": cost})


def change(folder: Path, **to: object) -> Path:
    """The result with other values in the schedule of plan.json."""
    path = folder / "plan.json"
    written = json.loads(path.read_text())
    written["schedule"] |= to
    store.write_json(path, written)
    return folder


def result(parent: Path, name: str, blocks: int, **to: object) -> Path:
    """An earlier result in turns."""
    made = build(parent, name=name, steps=(STEP,), blocks=blocks, planted=noisy)
    return change(made, interleave="slice", slice_s=1.0, **to)


def calibrated(parent: Path, name: str, blocks: int) -> Path:
    """A calibration, of comparisons of four blocks each."""
    made = result(parent, name, blocks, comparison=BLOCKS, aa_arm=True)
    written = json.loads((made / "plan.json").read_text())
    written["arms"][1] |= {"same_as": "pg17", "shown": True}
    store.write_json(made / "plan.json", written)
    return made


def with_other_lengths(results: Results, folder: Path) -> Plan:
    """A plan of the same steps that leaves open how long they are."""
    (use,) = results.plan.workloads
    its = WorkloadUse(
        name=use.name,
        parameters={**use.parameters, "seconds": 7},
        set=use.set,
        preset=use.preset,
        fill=use.fill,
        warm=use.warm,
    )
    (folder / "reads.toml").write_text(read_steps.text())
    of = plan.parse(PLAN, folder / "plan.toml")
    base = replace(of.arms[0], engine=results.plan.arms[0].engine)
    return replace(of, arms=(base, *of.arms[1:]), workloads=(its,))


@pytest.mark.long
def test_the_newest_calibration_of_these_steps_and_this_host_tells(tmp_path: Path) -> None:
    result(tmp_path, "r0", BLOCKS)
    results = Results.open(calibrated(tmp_path, "first.calibration", 2 * BLOCKS))
    of, host = with_other_lengths(results, tmp_path), results.host() or HostFacts()
    wanted = {(WANTED.workload, STEP)}
    found = earlier_calibration.newest(tmp_path, host, of, wanted)
    assert found is not None
    assert found.folder == "first.calibration"
    assert [(its.step, its.metric) for its in found.budgets] == [
        (STEP, "ips"), (STEP, "cpu_per_op"),
    ]  # fmt: skip
    later = Results.open(calibrated(tmp_path, "a.calibration", 2 * BLOCKS))
    later.write_host(structs.replace(host, since_unix_ns=2))
    found = earlier_calibration.newest(tmp_path, host, of, wanted)
    assert found is not None
    assert found.folder == "a.calibration"

    def nothing(
        host: HostFacts = host, of: Plan = of, steps: Set[tuple[str, str]] = wanted
    ) -> bool:
        return earlier_calibration.newest(tmp_path, host, of, steps) is None

    assert nothing(host=structs.replace(host, kernel="6.13.0"))
    assert nothing(steps={*wanted, (WANTED.workload, "l.x")})
    assert nothing(steps=set())
    (use,) = of.workloads
    others = use.parameters | {"rows": 5}
    assert nothing(of=replace(of, workloads=(replace(use, parameters=others),)))
    assert nothing(of=replace(of, arms=(replace(of.arms[0], engine="mysql"), *of.arms[1:])))
    change(later.folder, interleave="step")
    change(results.folder, interleave="step")
    assert nothing()
