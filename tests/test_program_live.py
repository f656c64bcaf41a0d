"""The example of docs/workload.md, "A program as the load", as pasted: psql on a real server."""

import re
import shutil
from pathlib import Path

import pytest

from dbdyno.analysis.step import assemble
from doubted import doubted
from two_arms import dyno, of_17, two_arms

pytestmark = pytest.mark.live

PAGE = Path(__file__).parent.parent / "docs" / "workload.md"


@pytest.fixture
def example(tmp_path: Path) -> str:
    """The example's workload file; its script lies where it is looked for."""
    if shutil.which("psql") is None:
        pytest.skip("no psql here: `apt-get install postgresql-client`")
    section = PAGE.read_text().split("## A program as the load\n")[1].split("\n## ")[0]
    workload = re.findall(r"```toml\n(.*?)```", section, re.S)[0]
    assert '"20000"' in workload
    script = tmp_path / "points.sh"
    script.write_text(re.findall(r"```sh\n(.*?)```", section, re.S)[0])
    script.chmod(0o755)
    return workload.replace('"20000"', '"2000"')  # scans are slow


def test_the_example_of_the_page_measures_two_arms_and_says_which_is_slower(
    example: str, tmp_path: Path
) -> None:
    outcome = two_arms(tmp_path, example, of_17(), blocks=3)
    run = outcome.last_step()
    assert run.metrics["qps"] is not None
    cpu_us = run.metrics["connections_cpu_per_op"]
    assert cpu_us is not None
    assert 1 < cpu_us < 10_000, "psql's session has ended, and its CPU is known all the same"
    assert run.metrics["generator_cpu_per_op"] is None
    assert assemble.step_run(outcome.slow.steps()[-1]).window.limited is None
    assert outcome.cell("points").estimates["connections_cpu_per_op"].value > 1.5
    assert any("limit unknown" in text for text in doubted(run))
    words = " ".join(dyno("compare", outcome.folder).split())
    # How sure three short blocks are of it is up to the machine.
    said = r"slow against plain: 1 (slower|open) in 3 blocks"
    assert re.search(said, words), words
