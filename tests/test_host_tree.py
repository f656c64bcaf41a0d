"""Facts of a host are read from a made-up root folder: what stands there, and why a null is one."""

import os
from pathlib import Path

import pytest

from dbdyno import doctor
from dbdyno.host.observe import background_load, facts, limits, processor, storage
from dbdyno.host.observe.reader import HostReader
from dbdyno.model.host_facts import (
    BusyProcess,
    ControlGroup,
    Frequency,
    HostFacts,
    HugePagePool,
    LoginService,
    ServerProcess,
)

CPU = "sys/devices/system/cpu"
FILES = {
    "proc/meminfo": "MemTotal: 8388608 kB\nMemAvailable: 6291456 kB\nSwapTotal: 1024 kB\n"
    "SwapFree: 1000 kB\nHugePages_Total: 100\nHugePages_Free: 60\nHugepagesize: 2048 kB\n",
    "proc/cpuinfo": "processor : 0\nmodel name : Example 9000\nflags : avx2 hypervisor\n\n"
    "processor : 1\nmodel name : Example 9000\n",
    "proc/sys/vm/swappiness": "60\n",
    "proc/sys/kernel/io_uring_disabled": "2\n",
    "proc/self/status": "Name: x\nCpus_allowed_list:\t0-1\n",
    "proc/self/limits": "Limit Soft Limit Hard Limit Units\n"
    "Max open files            1024                 524288               files\n"
    "Max processes             unlimited            unlimited            processes\n",
    "proc/self/cgroup": "0::/user.slice/session\n",
    "sys/fs/cgroup/user.slice/session/cpu.max": "max 100000\n",
    "sys/fs/cgroup/user.slice/cpu.max": "150000 100000\n",
    "sys/fs/cgroup/user.slice/memory.max": "4294967296\n",
    "sys/fs/cgroup/user.slice/session/pids.max": "max\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
    "sys/kernel/mm/transparent_hugepage/defrag": "always defer [madvise] never\n",
    f"{CPU}/online": "0-1\n",
    f"{CPU}/offline": "2-3\n",
    f"{CPU}/smt/control": "on\n",
    f"{CPU}/smt/active": "1\n",
    f"{CPU}/intel_pstate/no_turbo": "0\n",
    f"{CPU}/cpu0/cpufreq/scaling_governor": "powersave\n",
    f"{CPU}/cpu0/cpufreq/scaling_driver": "intel_pstate\n",
    f"{CPU}/cpu0/cpufreq/scaling_cur_freq": "1200000\n",
    f"{CPU}/cpu0/topology/core_id": "0\n",
    f"{CPU}/cpu0/topology/physical_package_id": "0\n",
    f"{CPU}/cpu0/topology/thread_siblings_list": "0,2\n",
    f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "7\n",
    f"{CPU}/vulnerabilities/retbleed": "Mitigation: IBRS\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet \n",
    "run/systemd/system/unit": "",
    "etc/systemd/logind.conf": "[Login]\n#RemoveIPC=no\n",
    "etc/systemd/logind.conf.d/own.conf": "[Login]\nRemoveIPC=yes\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host with a disk `nvme0n1`, whose partition below a volume `dm-0` has the data."""
    folder = tmp_path / "root"
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    data = tmp_path / "data"
    data.mkdir()
    number = data.stat().st_dev
    shown = f"{os.major(number)}:{os.minor(number)}"
    disk = queue(folder / "sys/devices/nvme0n1", "[none] mq-deadline bfq", 128)
    part = disk / "nvme0n1p2"
    (part / "slaves").mkdir(parents=True)
    (part / "partition").write_text("2\n")
    volume = queue(folder / "sys/devices/dm-0", "none", 8192)
    (volume / "slaves/nvme0n1p2").symlink_to(part)
    (folder / "sys/dev/block").mkdir(parents=True)
    (folder / "sys/dev/block" / shown).symlink_to(volume)
    (folder / "proc/self/mountinfo").write_text(
        f"1 0 {shown} / {data} rw,noatime - ext4 /dev/dm-0 rw,discard\n"
        "2 0 0:2 / /sys ro,relatime - sysfs sysfs rw\n"
        "3 0 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    )
    return folder


def queue(node: Path, schedulers: str, read_ahead_kb: int) -> Path:
    """A block device with a queue."""
    (node / "queue").mkdir(parents=True)
    (node / "slaves").mkdir()
    for name, text in (
        ("scheduler", schedulers),
        ("read_ahead_kb", str(read_ahead_kb)),
        ("rotational", "0"),
        ("write_cache", "write back"),
    ):
        (node / "queue" / name).write_text(f"{text}\n")
    return node


@pytest.fixture
def found(root: Path, tmp_path: Path) -> HostFacts:
    return facts.collect(tmp_path / "data", reader=HostReader(root=root))


def test_memory_swap_and_huge_pages_are_read(found: HostFacts) -> None:
    assert (found.memory_bytes, found.swap_bytes) == (8 << 30, 1 << 20)
    assert found.swap_used_bytes == 24 << 10
    assert found.huge_page_pool == HugePagePool(total=100, free=60, size_bytes=2 << 20)
    assert found.thp.enabled == "always"


def test_the_processor_its_speed_and_its_threads_are_read(found: HostFacts) -> None:
    assert (found.cpu.governor, found.cpu.smt) == ("powersave", True)
    assert found.frequency == Frequency(
        driver="intel_pstate",
        turbo=True,
        turbo_file="/sys/devices/system/cpu/intel_pstate/no_turbo",
        mhz_now=(1200, 1200),
        throttled=7,
    )
    assert found.processors.offline == "2-3"
    assert found.processors.siblings == ("0,2",)
    assert (found.clock_source, found.clock.available) == ("hpet", ("tsc", "hpet"))
    assert found.virtual == "unknown"


def test_the_tightest_group_above_counts(found: HostFacts) -> None:
    assert found.control_group == ControlGroup(
        version=2, cpu_max=1.5, memory_max=4 << 30, pids_max="unlimited"
    )
    assert found.limits.open_files == (1024, 524288)
    assert found.limits.processes == ("unlimited", "unlimited")
    assert found.login_service == LoginService(running=True, remove_ipc="yes")


def test_queues_are_read_from_the_volume_down_to_the_disk(found: HostFacts) -> None:
    layers = found.data.layers
    assert [layer.device for layer in layers] == ["dm-0", "nvme0n1"]
    assert [layer.read_ahead_bytes for layer in layers] == [8 << 20, 128 << 10]
    assert layers[1].schedulers == ("none", "mq-deadline", "bfq")
    assert found.data.device == "nvme0n1"


def test_a_null_has_its_reason_and_a_made_up_host_is_not_measured(found: HostFacts) -> None:
    assert found.sysctl["vm.zone_reclaim_mode"] is None
    unread = found.unread
    assert unread["sysctl.vm.zone_reclaim_mode"] == (
        "/proc/sys/vm/zone_reclaim_mode: there is no such file"
    )
    assert (found.look, found.sync, found.clock.read_ns) == (None, None, None)
    for fact in ("look", "sync", "clock.read_ns"):
        assert "not measured" in unread[fact]


def test_what_was_read_is_what_the_doctor_finds(found: HostFacts) -> None:
    names = {finding.name: finding for finding in doctor.findings(found)}
    assert {"governor", "turbo", "smt", "swappiness", "transparent-huge-pages", "cpu-quota",
            "memory-limit", "open-files", "io-uring", "throttled", "discard", "read-ahead",
            "swap-used"} <= names.keys()  # fmt: skip
    assert names["read-ahead"].mend == ("echo 128 > /sys/block/dm-0/queue/read_ahead_kb",)
    assert "/sys is read-only" in str(names["turbo"].barred)
    assert names["turbo"].mend == ("echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo",)


def test_control_groups_of_version_1_are_read_from_their_own_mounts(root: Path) -> None:
    (root / "proc/self/cgroup").write_text("4:memory:/box\n1:cpu,cpuacct:/\n0::/\n")
    (root / "proc/self/mountinfo").write_text(
        "1 0 0:1 / /cg/memory rw - cgroup cgroup rw,memory\n"
        "2 0 0:2 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
    )
    for path, text in (
        ("cg/memory/box/memory.limit_in_bytes", "1073741824"),
        ("cg/memory/memory.limit_in_bytes", "9223372036854771712"),
        ("cg/cpu/cpu.cfs_quota_us", "50000"),
        ("cg/cpu/cpu.cfs_period_us", "100000"),
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{text}\n")
    reader = HostReader(root=root)
    assert limits.control_group(reader) == ControlGroup(version=1, cpu_max=0.5, memory_max=1 << 30)
    assert "control_group.pids_max" in reader.unread


def test_a_file_that_may_not_be_read_says_so(root: Path) -> None:
    reader = HostReader(root=root)
    assert reader.text("folder", "/proc/self") is None
    assert reader.unread["folder"] == "/proc/self: is a directory"
    (root / "proc/word").write_text("many\n")
    assert reader.number("word", "/proc/word") is None
    assert reader.unread["word"] == "/proc/word: holds no number"


# --- This host ---------------------------------------------------------------------------------


def test_syncs_of_this_host_are_measured_and_leave_nothing(tmp_path: Path) -> None:
    found = storage.syncs(HostReader(), tmp_path / "not/yet", seconds_max=0.2)
    assert found is not None and 1 <= found.count <= storage.SYNCS_MAX
    assert 0 < found.p50_us <= found.p99_us <= found.max_us
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_not_measured() -> None:
    reader = HostReader()
    assert storage.syncs(reader, Path("/proc/sys"), seconds_max=0.2) is None
    assert "cannot be written" in reader.unread["sync"]


def test_a_look_at_this_host_sees_its_time_and_leaves_dyno_out() -> None:
    found = background_load.look(HostReader(), 0.1)
    assert 0.1 <= found.seconds < 60
    shares = [share or 0.0 for share in (found.busy_share, found.steal_share, found.iowait_share)]
    assert all(0 <= share <= 1 for share in shares) and sum(shares) <= 1.001
    assert os.getpid() not in [process.pid for process in found.processes]
    assert 0 <= background_load.clock_read_ns() < 100_000


def test_servers_are_named_once_each_without_their_children() -> None:
    stat = "{} ({}) S {} 0 0 0 0 0 0 0 0 0 {} 0 0 0 20 0 1 0 {} 0 0"
    tree = {
        (10, "postgres", 1, 5): 100, (11, "postgres", 10, 90): 110, (12, "mysqld", 1, 0): 120,
        (13, "bash", 1, 0): 130, (14, "postgres", 13, 0): 140,
    }  # fmt: skip
    before, after = (
        background_load.KernelCounters(
            at_s=at,
            host=background_load.procfs.stat("cpu 1 2 3 4\n", 100),
            swap_pages=(0, 0),
            processes={
                (pid, begun): background_load.procfs.process_stat(
                    stat.format(pid, name, parent, ticks if at else 0, begun)
                )
                for (pid, name, parent, ticks), begun in tree.items()
            },
        )
        for at in (0.0, 1.0)
    )
    assert background_load.servers(after) == (
        ServerProcess(pid=10, name="postgres"),
        ServerProcess(pid=12, name="mysqld"),
        ServerProcess(pid=14, name="postgres"),
    )
    assert background_load.busiest(before, after, 100) == (
        BusyProcess(pid=11, name="postgres", cpu_share=0.9),
        BusyProcess(pid=10, name="postgres", cpu_share=0.05),
    )


def test_this_hosts_own_layout_is_that_of_its_cpus() -> None:
    found = processor.layout(HostReader())
    assert found.online and found.allowed
