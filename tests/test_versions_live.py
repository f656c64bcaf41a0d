"""MariaDB 10.2 to 11.4 and MySQL 5.5 as they are fetched: the workloads' steps on each of them.

One step of what `make test` brings runs there, of the others in `make test-all`; whole suites in
`make soak`.
"""

from contextlib import contextmanager
from pathlib import Path

import pytest

from dbdyno.analysis import compare
from dbdyno.findings.waits.facts import WaitFacts
from dbdyno.host import place
from dbdyno.model import Comparison
from mysql_place import RELEASES
from one_arm import results_of
from server_place import TEST_SERVERS

pytestmark = pytest.mark.live

PLAN = """
name = "versions"
[arms.a]
engine = "{engine}"
base_dir = "{base_dir}"
config = "{config}"
memory = "256MB"
[server]
data_dir = "{data}"
[schedule.void]
foreign = 1
{observe}
[[workloads]]
{workload}
"""
CONFIGS = {"mysql": "z12a", "mariadb": "z12a"}
WAITS_FROM = (10, 6)
WAITS = '[observe]\nwaits = "50ms"'
ONE_STEP = """
name = "sysbench"
steps = ["fill", "point-query"]
parameters = { rows = 2_000, tables = 1, clients = 1, seconds = 1, warmup_s = 0, pause_s = 0 }
"""
SUITES = {
    "sysbench": """
name = "sysbench"
set = "42"
parameters = { rows = 2_000, tables = 2, clients = 2, seconds = 0.5, write_seconds = 0.5, \
scan_warm_s = 0.2, warmup_s = 0, pause_s = 0.2 }
""",
    "insert-benchmark": """
name = "insert-benchmark"
parameters = { rows = 20_000, rows_i1 = 4_000, rows_i2 = 300, rates = [100], seconds = 2, \
wait_s = 1, clients = 2 }
""",
}


@pytest.fixture(
    name="base_dir",
    params=[
        name if name in TEST_SERVERS else pytest.param(name, marks=pytest.mark.long)
        for name in RELEASES
    ],
)
def _base_dir(request: pytest.FixtureRequest) -> Path:
    """The folder of each of the servers."""
    folder = place.cache_root() / request.param
    if not folder.is_dir():
        pytest.skip(f"no {request.param} here: `dyno server fetch {' '.join(folder.parts[-2:])}`")
    return folder


def compared(base_dir: Path, workload: str, parent: Path) -> Comparison:
    """The result of a workload on a server, whose steps have all ended well."""
    engine, version = base_dir.parts[-2:]
    text = (
        PLAN.replace("{workload}", workload.replace("{", "{{").replace("}", "}}"))
        .replace("{observe}", WAITS if waits(base_dir) else "")
        .replace("{config}", CONFIGS[engine])
    )
    with contextmanager(results_of)(text, parent, engine=engine, base_dir=base_dir) as results:
        comparison = compare.load(results.folder)
    assert comparison.servers["a"].version == version
    assert not comparison.failed
    return comparison


def waits(base_dir: Path) -> bool:
    """Whether the server tells what its sessions wait for."""
    engine, version = base_dir.parts[-2:]
    return engine == "mariadb" and tuple(map(int, version.split("."))) >= WAITS_FROM


def test_a_step_runs_on_each_version_that_is_fetched(base_dir: Path, tmp_path: Path) -> None:
    comparison = compared(base_dir, ONE_STEP, tmp_path)
    step = comparison.steps[-1]
    (cell,) = step.cells
    assert step.step == "point-query"
    assert cell.value is not None and cell.value > 0
    assert bool(cell.runs[0].of(WaitFacts).waits) == waits(base_dir)


@pytest.mark.soak
@pytest.mark.parametrize("suite", SUITES)
def test_a_whole_suite_runs_on_each_version_that_is_fetched(
    base_dir: Path, suite: str, tmp_path: Path
) -> None:
    assert len(compared(base_dir, SUITES[suite], tmp_path).steps) > 5
