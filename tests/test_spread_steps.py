"""Whole steps whose load two generators share are judged as those of one generator."""

from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.host import program
from dbdyno.model import StepRun
from dbdyno.run import blocks
from dbdyno.store import Results
from doubted import doubted
from run_builder import owners
from spread_seats import seat, shared_by

WORKLOAD = """
[parameters]
clients = 4
[tables.t]
create = "CREATE TABLE {t} (a int)"
[statements]
read = "SELECT a FROM {t}"
write = "UPDATE {t} SET a = 1"

[[steps]]
name = "write"
creates = ["t"]
headline = { metric = "seconds", role = "write", count = "operations" }
roles.write = { run = "write", stop = { operations = 1000 } }

[[steps]]
name = "read"
seconds = 8
writes = false
headline = { metric = "qps", role = "read", count = "operations" }
roles.read = { run = "read", per = "step", connections = 5 }
roles.paced = { run = "write", per = "step", connections = 3, pace = { per_s = 100 } }
"""
PLAN = """
name = "shared"
[arms.one]
engine = "fake"
fake = { service_us = { write = 2_000, read = 1_000 }, jitter = 0, """
PLAN += """server_cpu_us = { read = 40.0 } }
[[workloads]]
name = "./w.toml"
"""


OF_THE_HOST = {"cpups", "cpupq", "generator_cpu_per_op", "generator_share"}
"""Metrics that differ where the generator works for it, too."""


@pytest.fixture(autouse=True)
def generator() -> Path:
    """The installed dyno-loadgen."""
    return program.find("dyno-loadgen")


def taken(folder: Path) -> dict[str, StepRun]:
    """The steps of the plan, by name."""
    folder.mkdir()
    (folder / "w.toml").write_text(WORKLOAD)
    outcome = blocks.run(plan.parse(PLAN, folder / "plan.toml"), folder, wait=True)
    comparison = compare.load(outcome.folder)
    assert Results.open(outcome.folder).blocks(), "it is complete"
    return {step.step: step.cells[0].runs[0] for step in comparison.steps}


def test_a_plan_on_two_seats_finds_what_it_finds_on_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = taken(tmp_path / "alone")
    shared_by([seat("c1", offset_ns=10**12), seat("c2", offset_ns=2 * 10**12)], monkeypatch)
    shared = taken(tmp_path / "shared")
    for name, run in shared.items():
        assert run.ending == alone[name].ending
        assert doubted(run) == doubted(alone[name]), name
        differ = {
            metric
            for metric, value in alone[name].metrics.items()
            if run.metrics[metric] != (value if value is None else pytest.approx(value))
        }
        assert differ <= OF_THE_HOST, name
    assert shared["read"].metrics["qps"] == pytest.approx(5 * 1000)
    assert shared["write"].metrics["seconds"] == pytest.approx(2.0)
    assert "generator" not in owners(shared["read"])
