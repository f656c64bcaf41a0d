"""Counts on real servers: two versions, and a version against itself, under callgrind."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from dbdyno.findings.work import plan as work
from dbdyno.model.count import Count
from dbdyno.model.work import WorkChange
from dbdyno.store import Results
from mysql_place import build_of
from own_lab import command
from server_place import ends

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        shutil.which("valgrind") is None, reason="no valgrind here: `apt-get install valgrind`"
    ),
]

PLAN = """
[arms.first]
base_dir = "{first}"
[arms.second]
base_dir = "{second}"
{workloads}
[count]
operations = 60
warmup = 20
repeats = {repeats}
only = true
"""
SYSBENCH = """
[[workloads]]
name = "sysbench"
steps = ["point-query", "update-index"]
parameters = { tables = 1, rows = 2000 }
"""
INSERTS = """
[[workloads]]
name = "insert-benchmark"
steps = ["l.i1"]
parameters = { clients = 1, rows = 2000, rows_i1 = 1000, wait_s = 0 }
"""


MARIADB = """
[arms.maria]
engine = "mariadb"
base_dir = "BUILD"
[[workloads]]
name = "sysbench"
steps = ["point-query", "insert"]
parameters = { tables = 1, rows = 500 }
[count]
operations = 20
warmup = 10
repeats = 1
only = true
"""


def counted(
    folder: Path, first: Path, second: Path, *, workloads: str, repeats: int
) -> dict[str, WorkChange]:
    """The changes of the second server's work, by step; the run ends with status 0."""
    file = folder / "counted.toml"
    file.write_text(PLAN.format(first=first, second=second, workloads=workloads, repeats=repeats))
    done = subprocess.run(
        command("run", file, "--out", folder), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    comparison = work.load(Results.open(folder / "counted"))
    assert comparison is not None
    return {change.step: change for change in comparison.changes}


@pytest.mark.capability("count")
def test_two_versions_differ_by_named_functions(tmp_path: Path) -> None:
    """The newest locks by other functions than the oldest; the same command finds nothing to do."""
    first, second = ends()[0], ends()[-1]
    changes = counted(tmp_path, first, second, workloads=SYSBENCH, repeats=2)
    for step in ("point-query", "update-index"):
        change = changes[step]
        assert change.of_base is not None
        assert 20_000 < change.of_base.instructions < 500_000
        assert change.of_base.atomics > 10
        assert change.fills == (2 if first != second else 0), "one build has one fill for both arms"
        assert change.of_base.log_bytes is not None
        assert (change.of_base.log_bytes > 50) == (step != "point-query")
        assert (change.of_base.pages_hit or 3) >= 3
        functions = {function.function for function in change.functions}
        assert {"ExecutorRun", "LWLockRelease", "PostgresMain"} <= functions
        if first != second:
            # Two fills tell little of what a step that writes scatters by.
            assert change.word in ("more", "less", *["open"] * (step == "update-index"))
            assert change.changed
    point = changes["point-query"]
    assert point.of_arm is not None
    total = sum(function.arm_instructions for function in point.functions)
    assert total == pytest.approx(point.of_arm.instructions, rel=1e-3)
    again = subprocess.run(
        command("run", tmp_path / "counted.toml", "--out", tmp_path),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert again.returncode == 0
    assert "point-query:" not in again.stderr
    said = subprocess.run(
        command("compare", tmp_path / "counted", "--json", "--fail-on", "more-work,less-work"),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert said.returncode == (1 if first != second else 0)
    rows = json.loads(said.stdout)["tables"]["work"]
    assert {row["workload"] for row in rows} == {"sysbench"}


def test_inserts_of_many_rows_are_counted_too(tmp_path: Path) -> None:
    first, second = ends()[0], ends()[-1]
    (change,) = counted(tmp_path, first, second, workloads=INSERTS, repeats=2).values()
    assert change.of_base is not None
    assert 20_000 < change.of_base.instructions < 20_000_000
    assert (change.of_base.log_bytes or 0) > 50
    assert change.changed or first == second


def test_a_thread_of_mariadb_is_counted_with_its_log_and_pages(tmp_path: Path) -> None:
    """Its own thread's instructions alone, and what the server says of the same window."""
    file = tmp_path / "maria.toml"
    file.write_text(MARIADB.replace("BUILD", str(build_of("mariadb").base_dir)))
    done = subprocess.run(
        command("run", file, "--out", tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    steps = work.read(work.repeats(Results.open(tmp_path / "maria")))
    (point,), (insert,) = (steps["sysbench", name]["maria"] for name in ("point-query", "insert"))
    assert isinstance(point, Count)
    assert isinstance(insert, Count)
    assert 20_000 < point.instructions < insert.instructions < 2_000_000
    assert (point.storage.log_bytes, insert.margin) == (0.0, 0.003)
    assert (insert.storage.log_bytes or 0) > 50
    assert (point.storage.pages_hit or 0) >= 1


@pytest.mark.soak
def test_a_version_does_the_same_work_as_itself(tmp_path: Path) -> None:
    """Fresh servers from one golden copy each; no function changed."""
    build = ends()[-1]
    for change in counted(tmp_path, build, build, workloads=SYSBENCH + INSERTS, repeats=2).values():
        assert change.word == "same"
        assert change.fills == 0
        assert not change.changed
