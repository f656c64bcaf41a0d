"""A pilot on a real server: fresh blocks that begin with a golden copy do some steps alone."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.analysis.compare import pilot_noise
from dbdyno.model.verdict import Sizing
from dbdyno.run import auto
from dbdyno.stats import sample_size
from dbdyno.stats.sample_size import size
from dbdyno.store import Results
from server_place import builds

pytestmark = pytest.mark.live
PLAN = """
name = "auto"
[arms.a]
base_dir = "{build}"
config = "x10a"
memory = "256MB"
[arms.b]
base_dir = "{build}"
config = "x10a"
memory = "256MB"
settings = {{ work_mem = "8MB" }}
[server]
data_dir = "{data}"
[schedule.void]
foreign = 1
[[workloads]]
name = "sysbench"
parameters = {{ tables = 1, rows = 5_000, seconds = 1, warmup_s = 0 }}
steps = ["fill", "point-query", "points-covered-si"]
save = "post-fill"
[schedule]
blocks = "auto"
"""
AFTER = ["point-query", "points-covered-si"]
FRESH = {"point-query": 1, "points-covered-si": 2}


@pytest.fixture
def data() -> Iterator[Path]:
    """A folder for data that the servers' account can enter."""
    folder = Path("/var/tmp") / f"dyno-auto-{os.getpid()}"
    folder.mkdir()
    yield folder
    assert not list(folder.glob("*/data")), "a data directory stayed behind"
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def with_planted_blocks(*arguments: object, **named: object) -> Sizing:
    """What the pilot in truth came to, but with so many blocks that the test is short."""
    assert named["alone"] is True
    assert 0.01 < named["fixed_minutes"] < 5.0  # type: ignore[operator]
    found = size(*arguments, **named)  # type: ignore[arg-type]
    steps = tuple(replace(one, blocks=FRESH[one.step]) for one in found.steps)
    return replace(found, pilot=auto.PILOT_BLOCKS, fresh=max(FRESH.values()), steps=steps)


def test_blocks_from_a_golden_copy_do_only_the_steps_that_are_to_be_repeated(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto, "PILOT_BLOCKS", 2)
    monkeypatch.setattr(sample_size, "PILOT_BLOCKS", 2)
    monkeypatch.setattr(sample_size, "size", with_planted_blocks)
    of = plan.parse(PLAN.format(build=builds()[-1], data=data), None)
    outcome = auto.run(of, tmp_path, pilot_noise.read, wait=True)
    assert (outcome.failed, outcome.voids) == (0, 0)
    results = Results.open(outcome.folder)
    done = {
        (block.number, run.arm): [step.name for step in run.steps()]
        for block in results.blocks()
        for run in block.runs()
    }
    assert done == {
        (number, arm): steps
        for number, steps in ((1, ["fill", *AFTER]), (2, AFTER), (3, AFTER), (4, AFTER[1:]))
        for arm in ("a", "b")
    }
    sizing = results.sizing()
    assert sizing is not None
    for step in sizing.steps:
        assert all(sd > 0 for sd in step.sd.values()), step
        assert set(step.sd) == {"qps", "cpu_per_op"}
    comparison = compare.load(results)
    assert comparison.incomplete is None
    blocks = {step.step: step.cells[1].verdict for step in comparison.steps}
    judged = {name: verdict.judgements[0].blocks for name, verdict in blocks.items() if verdict}
    assert judged == FRESH
