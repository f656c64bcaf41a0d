"""Every shipped benchmark to the end under the counter, on a real server."""

import shutil
import subprocess
from pathlib import Path

import pytest

from dbdyno.findings.work import plan as work
from dbdyno.model.count import Count
from dbdyno.store import Results
from own_lab import command
from server_place import ends

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        shutil.which("valgrind") is None, reason="no valgrind here: `apt-get install valgrind`"
    ),
]

PLAN = """
[arms.own]
base_dir = "{base_dir}"
[[workloads]]
{workload}
[count]
operations = 20
warmup = 10
repeats = 1
only = true
"""
CBC = """
name = "cbc"
steps = ["t00-ctas", "t01-vacuum", "t02-index", "t03-select-max", "t04-selectr"]
parameters = { size_gb = 0.001 }
"""
OUTSIDE = """
name = "ybio"
set = "outside"
steps = ["setup", "run"]
parameters = { tab_rows = 5000, batch_size_setup = 1000, batch_size = 100, pct_update = 20 }
"""
PROCEDURES = """
name = "ybio"
steps = ["call-setup", "call-run"]
parameters = { tab_rows = 5000, batch_size_setup = 1000, batch_size = 100, run_seconds = 0 }
"""
SCRIPTS = """
pgbench = ["read.sql", "transfer.sql"]
parameters = { scale = 1, protocol = "prepared" }
"""
INSERTS = """
name = "insert-benchmark"
steps = ["l.i0", "l.x", "l.i1", "l.i2"]
parameters = { clients = 1, rows = 3000, rows_i1 = 2500, rows_i2 = 500, wait_s = 0 }
"""
POINT_QUERIES = """
name = "sysbench"
steps = ["point-query", "range-covered-pk", "update-index"]
parameters = { tables = 1, rows = 2000 }
"""


def counted(folder: Path, workload: str, base_dir: Path) -> dict[str, Count]:
    """The counts of a workload's steps; the run ends with status 0."""
    for script in (Path(__file__).parent.parent / "dbdyno/plan/shipped" / "scripts").iterdir():
        shutil.copy(script, folder)
    file = folder / "own.toml"
    file.write_text(PLAN.format(base_dir=base_dir, workload=workload))
    done = subprocess.run(
        command("run", file, "--out", folder), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    counts = {}
    for step, arms in work.read(work.repeats(Results.open(folder / "own"))).items():
        (count,) = arms["own"]
        assert isinstance(count, Count), count
        counts[step[1]] = count
    return counts


@pytest.mark.soak
@pytest.mark.parametrize(
    ("workload", "steps", "function"),
    [
        (CBC, {"t03-select-max": 1e4, "t04-selectr": 1e5}, "ExplainOneQuery"),
        (OUTSIDE, {"run": 1e5}, "ExecAgg"),
        (PROCEDURES, {"call-run": 1e5}, "plpgsql_call_handler"),
        (SCRIPTS, {"scripts": 1e4}, "heap_update"),
        (INSERTS, {"l.x": 1e6, "l.i1": 1e5, "l.i2": 1e5}, "heap_delete"),
    ],
    ids=["cbc", "ybio", "ybio-procedures", "pgbench-scripts", "insert-benchmark"],
)
def test_a_benchmark_is_counted_to_its_end(
    tmp_path: Path, workload: str, steps: dict[str, float], function: str
) -> None:
    """Each step has the instructions of an operation; the last one enters its own function."""
    counts = counted(tmp_path, workload, ends()[-1])
    assert counts.keys() >= steps.keys()
    for name, least in steps.items():
        assert counts[name].instructions > least, name
    names = {row.function for row in counts[list(steps)[-1]].functions}
    assert {"PostgresMain", function} <= names


def test_background_processes_stand_apart(tmp_path: Path) -> None:
    """By kind, beside the session's own instructions; the checkpointer is always there."""
    counts = counted(tmp_path, POINT_QUERIES, ends()[-1])
    for count in counts.values():
        assert count.background is not None
        assert {"checkpointer", "background writer"} <= count.background.keys()
        own = {row.function for row in count.functions}
        assert "CheckpointerMain" not in own
        assert "ProcessConfigFile" not in own
        total = sum(row.instructions for row in count.functions)
        assert count.instructions == pytest.approx(total, rel=1e-3)
