"""The example of docs/workload.md, "A program as the load", as pasted: psql on a real server."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import own_lab
from dbdyno.analysis import compare
from dbdyno.analysis.step import assemble
from dbdyno.store import Results
from server_place import builds

pytestmark = pytest.mark.live

PAGE = Path(__file__).parent.parent / "docs" / "workload.md"
PLAN = """
name = "points"
base = "plain"
[arms.plain]
base_dir = "{base_dir}"
[arms.slow]
base_dir = "{base_dir}"
settings = {{ enable_indexscan = "off", enable_bitmapscan = "off" }}
[server]
data_dir = "{data}"
[schedule]
blocks = 3
[schedule.void]
foreign = 1
[[workloads]]
name = "./mine.toml"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The example's files, with a plan of two arms of one build."""
    if shutil.which("psql") is None:
        pytest.skip("no psql here: `apt-get install postgresql-client`")
    section = PAGE.read_text().split("## A program as the load\n")[1].split("\n## ")[0]
    workload = re.findall(r"```toml\n(.*?)```", section, re.S)[0]
    assert '"20000"' in workload
    (tmp_path / "mine.toml").write_text(workload.replace('"20000"', '"2000"'))  # scans are slow
    script = tmp_path / "points.sh"
    script.write_text(re.findall(r"```sh\n(.*?)```", section, re.S)[0])
    script.chmod(0o755)
    data = Path("/var/tmp") / f"dyno-test-{os.getpid()}"
    (base_dir,) = [path for path in builds() if path.name.startswith("17")] or builds()[-1:]
    (tmp_path / "plan.toml").write_text(PLAN.format(base_dir=base_dir, data=data))
    yield tmp_path
    subprocess.run(["rm", "-rf", str(data)], check=True)


def dyno(*arguments: str | Path) -> str:
    ended = subprocess.run(
        own_lab.command(*arguments), capture_output=True, text=True, timeout=500, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_example_of_the_page_measures_two_arms_and_says_which_is_slower(folder: Path) -> None:
    dyno("run", folder / "plan.toml", "--out", folder)
    results = Results.open(folder / "points")
    (plain, slow) = sorted(results.blocks()[0].runs(), key=lambda run: run.arm)
    run = assemble.step_run(plain.steps()[-1])
    assert run.ending.status == "ok", run.ending.reason
    assert run.metrics["qps"] is not None
    cpu_us = run.metrics["connections_cpu_per_op"]
    assert cpu_us is not None
    assert 1 < cpu_us < 10_000, "psql's session has ended, and its CPU is known all the same"
    assert run.metrics["generator_cpu_per_op"] is None
    assert assemble.step_run(slow.steps()[-1]).window.limited is None
    comparison = compare.load(folder / "points")
    (step,) = [one for one in comparison.steps if one.step == "points"]
    ratios = next(cell for cell in step.cells if cell.arm == "slow").ratios
    assert ratios["connections_cpu_per_op"].value > 1.5
    assert any("limit unknown" in text for text in run.warnings)
    words = " ".join(dyno("compare", folder / "points").split())
    # How sure three short blocks are of it is up to the machine.
    said = r"slow against plain, 3 blocks: .* (Slower: points |Leans slower, cannot tell points: )"
    assert re.search(said, words), words
