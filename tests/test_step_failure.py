"""What a run does after a step that failed, and what stands beside a headline in seconds."""

from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.host import program
from dbdyno.model import StepRun
from dbdyno.run import blocks as runner
from workload_reader import complaint

WORKLOAD = """
[tables.t]
create = "CREATE TABLE {t} (a int)"

[statements]
read = "SELECT a FROM {t}"
write = "UPDATE {t} SET a = 1"

[[steps]]
name = "make"
creates = ["t"]
headline = { metric = "seconds", role = "write", work = 10_485_760 }
roles.write = { run = "write", stop = { operations = 10 } }

[[steps]]
name = "read"
writes = false
on_failure = "go_on"
headline = { metric = "seconds", role = "read", count = "rows", work = 500 }
roles.read = { run = "read", stop = { operations = 10 } }

[[steps]]
name = "last"
headline = { metric = "seconds", role = "write" }
roles.write = { run = "write", stop = { operations = 10 } }
"""
PLAN = """
name = "failures"

[arms.one]
engine = "fake"
fake = { service_us = { write = 100_000, read = 50_000 }, errors = [{errors}] }

[[workloads]]
name = "./w.toml"
"""
ERROR = '{ statement = "read", every = 5, code = "57014" }'


@pytest.fixture(autouse=True)
def generator() -> Path:
    """The installed dyno-loadgen."""
    return program.find("dyno-loadgen")


def taken(folder: Path, text: str = WORKLOAD, errors: str = "") -> dict[str, StepRun]:
    """The steps of a plan on the fake server, by name."""
    (folder / "w.toml").write_text(text)
    read = plan.parse(PLAN.replace("{errors}", errors), folder / "failures.toml")
    comparison = compare.load(runner.run(read, folder, wait=True).folder)
    return {step.step: step.cells[0].runs[0] for step in comparison.steps}


def test_a_step_that_reads_may_fail_and_the_run_goes_on(tmp_path: Path) -> None:
    found = taken(tmp_path, errors=ERROR)
    assert [run.ending.status for run in found.values()] == ["ok", "failed", "ok"]
    assert "57014" in str(found["read"].ending.reason)
    assert found["last"].metrics["seconds"] == pytest.approx(1.0)


def test_without_a_word_the_steps_after_it_are_skipped(tmp_path: Path) -> None:
    found = taken(tmp_path, WORKLOAD.replace('on_failure = "go_on"\n', ""), ERROR)
    assert [run.ending.status for run in found.values()] == ["ok", "failed", "skipped"]


def test_only_a_step_that_reads_can_say_that_the_run_goes_on(tmp_path: Path) -> None:
    said = complaint(WORKLOAD.replace("writes = false\n", ""), tmp_path)
    assert said.startswith("key `steps[2].on_failure`: a step that writes")


def test_a_headline_in_seconds_has_its_work_beside_it(tmp_path: Path) -> None:
    found = taken(tmp_path)
    assert found["make"].metrics["seconds"] == pytest.approx(1.0)
    assert found["make"].metrics["mbps"] == pytest.approx(10.0)
    assert found["read"].metrics["ips"] == pytest.approx(1000.0), "rows by the window's seconds"
    assert found["read"].metrics["mbps"] is None
    assert found["last"].metrics["mbps"] is None
