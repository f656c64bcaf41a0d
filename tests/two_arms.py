"""Two arms of one build by a workload file of a test's own; one of them may not use its indexes.

Nor parallel workers: those of a short scan end before a reading knows whose they are, and their CPU
would have no owner.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import own_lab
from dbdyno.analysis import compare
from dbdyno.analysis.step import assemble
from dbdyno.model import Cell, Comparison, StepRun
from dbdyno.store import Results, RunFolder
from doubted import doubted
from server_place import builds, ends

PLAN = """
name = "beside"
base = "plain"
[arms.plain]
base_dir = "{base_dir}"
[arms.slow]
base_dir = "{base_dir}"
[arms.slow.settings]
enable_indexscan = "off"
enable_bitmapscan = "off"
max_parallel_workers_per_gather = "0"
[server]
data_dir = "{data}"
[schedule]
blocks = {blocks}
{schedule}
[schedule.void]
foreign = 1
[[workloads]]
name = "./mine.toml"
"""


@dataclass(frozen=True)
class TwoArms:
    """What came of them, and the runs of the first block."""

    folder: Path
    comparison: Comparison
    plain: RunFolder
    slow: RunFolder

    def cell(self, step: str) -> Cell:
        """The slow arm in a step."""
        (its,) = [one for one in self.comparison.steps if one.step == step]
        return next(cell for cell in its.cells if cell.arm == "slow")

    def last_step(self) -> StepRun:
        """The last step of the plain arm, which ended well."""
        run = assemble.step_run(self.plain.steps()[-1])
        assert run.ending.status == "ok", run.ending.reason
        return run

    def slow_is_seen(self, step: str) -> StepRun:
        """Rate and CPU tell the arms apart; the plain one's last step, which has its figures."""
        run = self.last_step()
        for name in ("qps", "response_p99_us", "cpu_per_op", "generator_cpu_per_op"):
            assert run.metrics[name], name
        assert run.metrics["connections_cpu_per_op"] is None, "its sessions are known"
        assert len(run.series["query.rate"].y) == 2
        ratios, slow = self.cell(step).estimates, assemble.step_run(self.slow.steps()[-1])
        assert {"cpu_per_op", "qps"} <= ratios.keys(), (slow.ending, doubted(slow), slow.metrics)
        assert ratios["cpu_per_op"].value > 2
        assert ratios["qps"].value < 0.5
        assert self.slow.steps()
        return run


def of_17() -> Path:
    """The folder of PostgreSQL 17, or the newest."""
    (found,) = [path for path in builds() if path.name.startswith("17")] or ends()[-1:]
    return found


def two_arms(
    folder: Path, workload: str, base_dir: Path, schedule: str = "", *, blocks: int = 1
) -> TwoArms:
    """Runs both by `dyno run` as a user would; `schedule`: what else stands in its table."""
    (folder / "mine.toml").write_text(workload)
    data = Path("/var/tmp") / f"dyno-test-{os.getpid()}"
    text = PLAN.format(base_dir=base_dir, data=data, schedule=schedule, blocks=blocks)
    (folder / "plan.toml").write_text(text)
    try:
        dyno("run", folder / "plan.toml", "--out", folder)
    finally:
        shutil.rmtree(data, ignore_errors=True)
    results = folder / "beside"
    plain, slow = sorted(Results.open(results).blocks()[0].runs(), key=lambda run: run.arm)
    return TwoArms(results, compare.load(results), plain, slow)


def dyno(*arguments: str | Path) -> str:
    """What a `dyno` prints that ends well."""
    ended = subprocess.run(
        own_lab.command(*arguments), capture_output=True, text=True, timeout=500, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
