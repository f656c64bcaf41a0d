"""Looks on a real server: blocks that begin with a golden copy do open steps alone."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.model import Comparison
from dbdyno.model.looks import Looks
from dbdyno.run import looks
from dbdyno.run.runner import LocalRunner
from dbdyno.store import Results
from server_place import ends

pytestmark = pytest.mark.live
PLAN = """
name = "looked"
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
blocks = "until decided"
"""
AFTER = ["point-query", "points-covered-si"]
DECIDED_AFTER = {"point-query": 3, "points-covered-si": 4}


@pytest.fixture
def data() -> Iterator[Path]:
    """A folder for data that the servers' account can enter."""
    folder = Path("/var/tmp") / f"dyno-looks-{os.getpid()}"
    folder.mkdir()
    yield folder
    assert not list(folder.glob("*/data")), "a data directory stayed behind"
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def with_planted_words(results: Results) -> Comparison:
    """The comparison in truth, but with words that make the test short."""
    found = compare.load(results)
    steps = []
    for step in found.steps:
        decided = found.blocks >= DECIDED_AFTER.get(step.step, 0)
        word = "same" if decided else "open"
        # A reason that a loaded machine gives, as of a generator at its limit, would keep it open.
        cells = tuple(
            cell
            if cell.verdict is None
            else replace(cell, verdict=replace(cell.verdict, word=word, reason=""))
            for cell in step.cells
        )
        steps.append(replace(step, cells=cells))
    return replace(found, steps=tuple(steps))


def test_blocks_from_a_golden_copy_do_only_the_steps_that_are_open(data: Path, tmp_path: Path):
    of = plan.parse(PLAN.format(build=ends()[-1], data=data), None)
    outcome = looks.run(of, tmp_path, with_planted_words, runner=LocalRunner(wait=True))
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
    assert results.looks() == Looks(first=None, minutes_max=120.0)
    comparison = compare.load(results)
    blocks = {step.step: step.cells[1].verdict for step in comparison.steps}
    judged = {name: verdict.judgements[0].blocks for name, verdict in blocks.items() if verdict}
    assert judged == DECIDED_AFTER
