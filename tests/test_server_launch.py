"""Where a server's process runs: its processors, its memory, its limit."""

import os
import re
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.engine import Build
from dbdyno.host import account as accounts
from dbdyno.host import capacity, launch
from dbdyno.host.observe import limits
from dbdyno.host.observe.reader import HostReader
from dbdyno.model import Arm, Placement
from dbdyno.model.error import HostError, PlanError
from dbdyno.model.host_facts import ControlGroup
from dbdyno.run.check import preflight
from dbdyno.run.ready_plan import ReadyPlan, provide_server

SELF = accounts.Account(name="self", uid=os.geteuid(), gid=os.getegid(), other=False)
PLAN = """
[arms.a]
engine = "fake"
fake = { default_us = 1 }
[[workloads]]
name = "insert-benchmark"
steps = ["l.i0"]
"""


def ended(arm: Arm, folder: Path, *, account: accounts.Account, placement: Placement) -> str:
    """What a program says of itself that is started as a server is."""
    asked = "taskset -cp $$; echo $TRIED; id -u; cat /proc/$$/cgroup /proc/$$/numa_maps"
    command = ["sh", "-c", asked]
    with (folder / "said").open("wb") as file:
        running = launch.start(
            command, arm=arm, placement=placement, account=account, environment={},
            output=file, folder=Path("/"), before=lambda: None,
        )  # fmt: skip
        running.wait(timeout=120)
    return (folder / "said").read_text()


def test_a_server_runs_on_its_processors_with_its_environment(tmp_path: Path):
    cpu = min(os.sched_getaffinity(0))
    arm = Arm(name="a", engine="postgres", environment={"TRIED": "yes"})
    said = ended(arm, tmp_path, account=SELF, placement=Placement(server_cpus=str(cpu)))
    assert f"affinity list: {cpu}\n" in said
    assert "\nyes\n" in said


def test_a_server_with_a_memory_limit_is_in_its_own_cgroup_as_its_account(tmp_path: Path):
    arm = Arm(name="limited", engine="postgres", memory_max="64MB")
    try:
        launch.check(arm, Placement())
    except HostError as error:
        pytest.skip(str(error))
    account = accounts.choose("postgres")
    tmp_path.chmod(0o755)
    said = ended(arm, tmp_path, account=account, placement=Placement())
    group = launch.group_of(arm)
    assert f"\n{account.uid}\n" in said
    assert group.name in said
    files = [group / name for name in launch.LIMIT_FILES if (group / name).exists()]
    assert [file.read_text().strip() for file in files] == [str(64 << 20)]
    launch.leave(arm)
    assert not group.exists()


@pytest.mark.skipif(
    shutil.which("numactl") is None, reason="no numactl here: `apt-get install numactl`"
)
def test_a_servers_memory_is_interleaved_over_the_nodes(tmp_path: Path):
    arm = Arm(name="a", engine="postgres")
    said = ended(arm, tmp_path, account=SELF, placement=Placement(interleave_memory=True))
    assert re.search(r"^[0-9a-f]+ interleave:", said, re.MULTILINE)


def test_where_cgroups_cannot_limit_memory_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(launch, "own_group", lambda reader: tmp_path)  # a folder that is no cgroup
    with pytest.raises(HostError, match=r"^arms\.a\.memory_max: this host does not let `"):
        launch.check(Arm(name="a", engine="postgres", memory_max="1GB"), Placement())
    assert not any(tmp_path.iterdir())


MEMORY_1 = "1 0 0:1 / /groups/memory rw - cgroup cgroup rw,memory\n"
UNIFIED = "2 0 0:2 / /groups rw - cgroup2 cgroup2 rw\n"


@pytest.mark.parametrize(
    ("mounts", "membership", "found"),
    [
        (MEMORY_1 + UNIFIED, "4:memory:/mine\n0::/\n", "memory/mine"),
        (MEMORY_1, "4:memory:/elsewhere\n", "memory"),
        (UNIFIED, "0::/user/session\n", "user"),
        (UNIFIED, "0::/elsewhere/inside\n", "."),
        (UNIFIED, "0::/\n", "."),
    ],
)
def test_the_cgroup_is_found_in_both_versions_and_in_containers(
    tmp_path: Path, mounts: str, membership: str, found: str
):
    for folder in ("groups/memory/mine", "groups/user/session", "proc/self"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(membership)
    (tmp_path / "proc/self/mountinfo").write_text(mounts)
    assert launch.own_group(HostReader(root=tmp_path)) == tmp_path / "groups" / found


def test_a_server_may_have_no_more_than_its_own_limit_of_memory(tmp_path: Path):
    host = capacity.here(tmp_path, cpus="0")
    arm = Arm(name="a", engine="postgres", memory_max="64MB")
    assert (host.cores, host.memory_bytes) == (1, capacity.memory_bytes())
    assert capacity.of_arm(arm, host).memory_bytes == 64 << 20
    assert capacity.of_arm(replace(arm, memory_max="9TB"), host) == host


def test_an_arms_preset_is_sized_to_the_plans_processors_and_to_the_arms_own_limit(tmp_path: Path):
    asked = PLAN.replace(
        'engine = "fake"\nfake = { default_us = 1 }',
        f'base_dir = "{tmp_path}"\nconfig = "x10a"\nmemory_max = "1GB"',
    )
    parsed = plan.parse(f'{asked}[server]\ncpus = "0"\n', None)
    build = Build(
        engine="postgres", base_dir=tmp_path, program=tmp_path, version="17.6", version_num=170006
    )
    sizing = preflight.size(parsed, None)
    assert sizing.cores == 1
    prepared = ReadyPlan(
        builds={"a": build}, releases={}, steps={"insert-benchmark": {"a": ()}}, sizing=sizing,
        points={}, copies={}, copy_bytes={}, disk=(), data_path=tmp_path, device=None,
    )  # fmt: skip
    settled = preflight.settle(parsed, prepared)
    server = provide_server(parsed, parsed.arms[0], replace(prepared, settled=settled), tmp_path)
    assert server.setting("shared_buffers") == "737MB"
    large = replace(prepared, sizing=replace(sizing, cores=48))
    other = preflight.settle(parsed, large)["a"].values
    assert server.setting("bgwriter_delay") != other["bgwriter_delay"]


def test_a_containers_limits_are_what_presets_are_sized_to(monkeypatch: pytest.MonkeyPatch):
    group = ControlGroup(cpu_max=0.5, memory_max=64 << 20)
    monkeypatch.setattr(limits, "control_group", lambda reader: group)
    assert (capacity.cores(), capacity.memory_bytes()) == (1, 64 << 20)
    group = ControlGroup(cpu_max="unlimited")
    assert capacity.cores() == len(os.sched_getaffinity(0))
    assert capacity.memory_bytes() > 64 << 20


def test_lists_of_processors_are_read_as_taskset_reads_them():
    assert capacity.cpus_of("0-2,8") == {0, 1, 2, 8}


def test_processors_that_are_not_there_are_named_before_the_run():
    with pytest.raises(HostError, match=r"generator\.cpus: `4095` does not name processors"):
        preflight.prepare(plan.parse(PLAN + '[generator]\ncpus = "4095"\n', None))


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(HostError, match="needs `numactl`: apt-get install numactl"):
        launch.check(Arm(name="a", engine="postgres"), Placement(interleave_memory=True))


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ('[server]\ncpus = "0 to 3"', "key `server.cpus`: '0 to 3' is not a list of processors"),
        ('[generator]\ncpus = ""', "key `generator.cpus`: '' is not a list of processors"),
    ],
)
def test_wrong_lists_of_processors_get_one_line(more: str, sentence: str):
    with pytest.raises(PlanError) as caught:
        plan.parse(PLAN + more, None)
    assert sentence in str(caught.value)


def test_the_generator_runs_on_its_processors():
    from dbdyno.run.driver.loadgen import Generator

    cpu = max(os.sched_getaffinity(0))
    with Generator({}, keep=lambda line: None, cpus=str(cpu)) as generator:
        allowed: set[int] = set()
        end_s = time.monotonic() + 60
        while allowed != {cpu} and time.monotonic() < end_s and generator.pid:
            try:
                allowed = os.sched_getaffinity(generator.pid)
            except ProcessLookupError:
                break
    assert allowed == {cpu}
