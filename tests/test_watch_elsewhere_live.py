"""`dyno watch` whose blocks in time run elsewhere: on a host by ssh, and as jobs of a cluster."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import command
import slurm_cluster
from dbdyno.cli.slurm import SlurmChoice
from dbdyno.farm import journal
from dbdyno.farm.journal import MeasurementEntry
from dbdyno.run.slurm.cluster import ClusterRequest
from dbdyno.run.slurm.runner import Patience, SlurmRunner
from dbdyno.store import Results
from hosts_lab import Lab
from server_place import an_open_folder, ends
from slurm_cluster import TestCluster

pytestmark = [pytest.mark.live, pytest.mark.soak]
FARM = """
folder = "farm"
minutes = 1
{hosts}
[[branches]]
name = "releases"
command = 'set -e; cp -a "{build}/." "$1"; cat "{folder}/next"'
pinned = "first"
every = "commit"
steps = ["point-query"]
count = false
"""
ON_H1 = """
[hosts.h1]
ssh = "h1"
[server]
host = "h1"
"""
TIMES = Patience(poll_s=0.1, settle_s=1.0, patience_s=60)


@pytest.fixture(name="folder")
def _folder() -> Iterator[Path]:
    """A folder that other hosts see, as they see no /tmp."""
    with an_open_folder("/var/tmp") as folder:
        yield folder


@pytest.fixture(name="cluster")
def _cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[TestCluster]:
    """A cluster whose jobs have the labs of their nodes."""
    if why := slurm_cluster.missing():
        pytest.skip(why)
    with slurm_cluster.cluster() as cluster:
        for name, value in cluster.environment.items():
            monkeypatch.setenv(name, value)
        way = SlurmRunner(ClusterRequest(partition="bench"), command=cluster.command, times=TIMES)
        monkeypatch.setattr(SlurmChoice, "way", lambda choice: way if choice.slurm else None)
        yield cluster


def second_head(folder: Path, hosts: str = "", options: Sequence[str] = ()) -> MeasurementEntry:
    """What was measured of a second build, which is the first one again."""
    text = FARM.format(build=ends()[-1], folder=folder, hosts=hosts)
    (folder / "farm.toml").write_text(text)
    for name in ("first", "second"):
        (folder / "next").write_text(f"{name}\n")
        ended = command.dyno("watch", "farm.toml", "--once", *options)
        assert ended.returncode == 0, ended.stderr
    measured = [
        each for each in journal.read(folder / "farm") if isinstance(each, MeasurementEntry)
    ]
    assert [each.head for each in measured] == ["first", "second"], ended.stderr
    return measured[-1]


def blocks_on(folder: Path, head: MeasurementEntry) -> set[str | None]:
    """The hosts on which a head's blocks ran, all of which ended well."""
    results = Results.open(folder / "farm" / head.folders[0])
    assert {block.state for block in results.blocks()} == {"done"}
    return {block.host for block in results.blocks()}


def both_metrics(head: MeasurementEntry) -> bool:
    """Whether throughput and CPU were compared with the head before."""
    told = {each.series.metric for each in head.readings if each.against_previous is not None}
    return told == {"qps", "cpu_per_op"}


def test_blocks_of_a_farm_run_on_the_host_that_the_file_names(
    hosts: Lab, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_SSH", hosts.ssh)
    monkeypatch.chdir(folder)
    head = second_head(folder, ON_H1)
    assert blocks_on(folder, head) == {"h1"}
    assert both_metrics(head)


def test_blocks_of_a_farm_are_jobs_of_a_cluster(
    cluster: TestCluster, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with cluster.administered():
        head = second_head(folder, options=("--slurm", "--partition", "bench"))
    ran = blocks_on(folder, head)
    assert ran and ran <= set(slurm_cluster.NODES)
    assert both_metrics(head)
