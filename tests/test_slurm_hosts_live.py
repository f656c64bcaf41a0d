"""A block by Slurm whose job has two nodes: the server on one, its load from the other."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import own_lab
import python_script
import slurm_cluster
from dbdyno import plan as plans
from dbdyno.run import looks
from dbdyno.run.slurm.cluster import ClusterRequest
from dbdyno.run.slurm.runner import Patience, SlurmRunner
from dbdyno.store import Results
from server_place import ends
from slurm_cluster import TestCluster
from test_looks_run import SOONER

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(slurm_cluster.missing() is not None, reason=str(slurm_cluster.missing())),
]
TIMES = Patience(poll_s=0.1, settle_s=1.0, patience_s=60)
PLAN = """
name = "two-nodes"
[hosts.server]
[hosts.client]
[server]
host = "server"
[generator]
hosts = ["client"]
[arms.pg]
base_dir = "{build}"
[[workloads]]
name = "sysbench"
parameters = {{ tables = 1, rows = 2_000, seconds = 1, warmup_s = 0 }}
steps = ["fill", "point-query"]
[schedule]
blocks = 1
void = {{ foreign = 1.0 }}
"""
AGENT = """
import os, sys
sys.path[:0] = {paths!r}
import own_lab
from pathlib import Path
folder = Path({folder!r}) / ("agent-" + os.environ["SLURMD_NODENAME"])
folder.mkdir(exist_ok=True)
own_lab.take(folder)
from dbdyno.cli import main
sys.exit(main())
"""
"""The `dyno` of a node, whose lab is its own."""


@pytest.fixture(name="cluster")
def _cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[TestCluster]:
    with slurm_cluster.cluster() as its:
        for name, value in its.environment.items():
            monkeypatch.setenv(name, value)
        programs = its.folder / "bin"
        programs.mkdir()
        tests = Path(own_lab.__file__).parent
        paths = [str(tests), str(tests.parent)]
        agent = AGENT.format(paths=paths, folder=str(its.folder))
        python_script.write(programs / "dyno", agent)
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        monkeypatch.setenv("HOME", str(its.folder))  # no ~/.local/bin before it
        yield its


def test_a_job_of_two_nodes_has_the_server_on_one_and_its_load_from_the_other(
    cluster: TestCluster, tmp_path: Path
) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.format(build=ends()[-1]))
    runner = SlurmRunner(ClusterRequest(), command=cluster.command, times=TIMES)
    outcome = looks.run(plans.load(path), tmp_path / "out", SOONER, runner=runner, quiet=True)
    assert (outcome.failed, outcome.voids) == (0, 0)
    results = Results.open(outcome.folder)
    (block,) = results.blocks()
    assert block.state == "done"
    assert block.host in slurm_cluster.NODES
    (step,) = [one for one in block.runs()[0].steps() if one.name == "point-query"]
    done = json.loads((step.path / "done.json").read_text())
    assert set(done["network"]) == {"client"}
    facts = json.loads((block.path / "pg" / "server.json").read_text())
    assert facts["access"]["clients"] == ["127.0.0.1"]
    assert facts["encryption"].startswith("TLS")
