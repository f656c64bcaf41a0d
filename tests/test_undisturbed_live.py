"""A delay planted into a real server is told beside programs that keep all processors busy."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.model import Comparison
from dbdyno.model.metric.primary import UNDISTURBED
from dbdyno.run import blocks
from server_place import builds

pytestmark = pytest.mark.live

ROOT = Path(__file__).resolve().parents[1]
NS = 8000
"""What each reply takes longer, about."""
PLAN = """
name = "planted"
[arms.plain]
base_dir = "{plain}"
[arms.slower]
base_dir = "{slower}"
[server]
data_dir = "{data}"
[schedule.void]
foreign = 1
[[workloads]]
name = "sysbench"
parameters = {{ rows = 1000, seconds = 1, warmup_s = 0.2, clients = {clients} }}
steps = ["fill", "point-query"]
save = "post-fill"
restart = true
[schedule]
blocks = 4
interleave = "turn"
turn_s = 0.25
repeats_max = 0
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that the servers' account can enter."""
    folder = Path("/var/tmp") / f"dyno-undisturbed-{os.getpid()}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def slower(place: Path) -> Path:
    """The newest server with a delay in each reply."""
    planted = place / "slower"
    subprocess.run([ROOT / "tools" / "plant", builds()[-1], "0.01", planted], check=True)
    start = planted / "bin" / "postgres"
    start.write_text(start.read_text().replace("PLANT_SHARE=0.01", f"PLANT_TURNS={NS}"))
    return planted


@pytest.fixture
def neighbours() -> Iterator[None]:
    """Two programs for each processor that never rest, as long as this one is there."""
    spin = f"import os\nwhile os.getppid() == {os.getpid()}: pass"
    count = 2 * (os.cpu_count() or 1)
    with ExitStack() as stack:
        for _ in range(count):
            busy = subprocess.Popen([sys.executable, "-c", spin])
            stack.callback(busy.wait)
            stack.callback(busy.kill)
        yield


def compared(place: Path, slower: Path, clients: int) -> Comparison:
    text = PLAN.format(
        plain=builds()[-1], slower=slower, data=place / f"data{clients}", clients=clients
    )
    path = place / f"planted{clients}.toml"
    path.write_text(text)
    blocks.run(plan.load(path), place / f"out{clients}", wait=True)
    return compare.load(place / f"out{clients}" / "planted")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler: apt-get install gcc")
def test_a_planted_delay_is_told_beside_busy_neighbours(
    place: Path, slower: Path, neighbours: None
) -> None:
    (step,) = (step for step in compared(place, slower, 1).steps if step.measured)
    verdict = step.cells[1].verdict
    assert verdict is not None
    assert (verdict.word, UNDISTURBED in verdict.by) == ("slower", True)
    judgement = next(each for each in verdict.judgements if each.metric == UNDISTURBED)
    assert judgement.base_us is not None
    added_us = judgement.base_us * (judgement.told[0] - 1)
    assert NS / 3000 < added_us < NS / 200


def test_more_clients_than_processors_have_no_undisturbed_time(place: Path) -> None:
    clients = 4 * (os.cpu_count() or 1)
    (step,) = (step for step in compared(place, builds()[-1], clients).steps if step.measured)
    assert "connections share" in step.left_out
    assert all(run.metrics.get(UNDISTURBED) is None for run in step.runs)
