"""An arm whose server crashes in one block: its word, the statuses, and the files as they are."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import read_steps
from command import dyno
from dbdyno.analysis import compare
from server_place import ends

pytestmark = pytest.mark.live

PLAN = """
name = "crash"
[arms.well]
base_dir = "{base_dir}"
[arms.crashing]
base_dir = "{base_dir}"
[server]
data_dir = "{data}"
[[workloads]]
name = "./reads.toml"
parameters = {{ seconds = 1 }}
steps = ["fill", "one", "three"]
[schedule]
blocks = 2
void = {{ foreign = 1 }}
[[hooks]]
when = "during-step"
steps = ["three"]
arms = ["crashing"]
at_s = 0.3
command = ["sh", "-c", "[ $DYNO_BLOCK != 2 ] || kill -9 $DYNO_SERVER_PID"]
"""


@pytest.fixture
def data() -> Iterator[Path]:
    """A folder for data that the servers' account can enter."""
    folder = Path("/var/tmp") / f"dyno-crash-{os.getpid()}"
    yield folder
    assert not list(folder.glob("*/data")), "a data directory stayed behind"


def test_an_arm_that_crashed_once_has_no_other_word_and_every_command_says_so(
    tmp_path: Path, data: Path
) -> None:
    (tmp_path / "reads.toml").write_text(read_steps.text())
    plan = tmp_path / "crash.toml"
    plan.write_text(PLAN.format(base_dir=ends()[-1], data=data))
    words = ["run", plan, "--out", tmp_path / "out", "--wait", "--quiet"]
    first = dyno(*words)
    assert first.returncode == 1, first.stderr
    again = dyno(*words)
    assert again.returncode == 1, "nothing is left to run, and the failure stays"
    folder = tmp_path / "out" / "crash"
    comparison = compare.load(folder)
    found = {step.step: step.cells[1].verdict for step in comparison.steps}
    assert found["three"] is not None
    assert found["three"].word == "failed"
    assert found["three"].outcome.startswith("failed in 1 of 2 blocks")
    assert found["one"] is not None
    assert found["one"].word != "failed", "which nothing ended"
    assert {one.judgement.word for one in comparison.overall} == {"failed"}
    assert dyno("compare", folder).returncode == 1
    assert dyno("compare", folder, "--fail-on", "slower").returncode == 1
    verified = dyno("verify", folder)
    assert verified.returncode == 0, verified.stdout
