"""A warm-up of several seconds: it is kept, and counts in no figure."""

from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.run import blocks

PLAN = """
name = "warm"
arms.a = { engine = "fake", fake = { default_us = 1000, jitter = 0.0 } }
[[workloads]]
name = "pgbench"
steps = ["select-only"]
parameters = { clients = 2, seconds = 2, warmup_s = 3 }
[schedule]
blocks = 1
"""


def test_seconds_of_the_warm_up_have_numbers_up_to_0_and_are_left_out(tmp_path: Path) -> None:
    outcome = blocks.run(plan.parse(PLAN, None), tmp_path, wait=True)
    assert outcome.failed == 0
    (step,) = [one for one in compare.load(outcome.folder).steps if one.step == "select-only"]
    (run,) = step.cells[0].runs
    assert run.metrics["qps"] == pytest.approx(2000, rel=0.01)
    (events,) = outcome.folder.glob("**/*select-only/events.jsonl")
    lines = [line for line in events.read_text().splitlines() if '"event":"tick"' in line]
    assert '"tick":-2' in lines[0] and '"measured":false' in lines[0]
    assert len(lines) == 6, "with what was in flight at the end"
