"""The facts of this machine are real, complete in their keys, and can be written as JSON."""

import json
import os
import platform
from pathlib import Path

import msgspec
import pytest

from dbdyno.host.observe import canary, device, facts, files
from dbdyno.host.observe.reader import HostReader
from dbdyno.model.error import GeneratorError, LabDied
from dbdyno.model.host_facts import Storage


def test_the_facts_of_this_machine_are_its_own(tmp_path: Path) -> None:
    found = json.loads(msgspec.json.encode(facts.collect(tmp_path)))
    assert found["kernel"] == platform.release()
    assert found["memory_bytes"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert found["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert found["cpu"]["cpus"] == os.cpu_count()
    assert found["sysctl"]["vm.swappiness"] == int(Path("/proc/sys/vm/swappiness").read_text())
    assert found["data"]["path"] == str(tmp_path)
    assert found["data"]["free_bytes"] > 0


def test_every_documented_key_is_there(tmp_path: Path) -> None:
    found = msgspec.to_builtins(facts.collect(tmp_path))
    documented = {
        "": "cpu memory_bytes swap_bytes kernel os boot_id hostname_hash thp huge_pages "
        "clock_source virtual container data sysctl",
        "cpu": "model cores sockets threads_per_core mhz_max governor smt flags_short",
        "thp": "enabled defrag",
        "data": "path file_system mount_options device devices model rotational scheduler "
        "size_bytes free_bytes unsure",
    }
    for part, keys in documented.items():
        assert set(keys.split()) <= (found[part] if part else found).keys()


def test_a_missing_program_to_detect_machines_is_made_up_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert facts.detect("--vm") is None
    assert isinstance(facts.container(HostReader()), bool)
    assert facts.virtual(HostReader(), [{"flags": "fpu hypervisor"}]) is not None


def test_the_host_is_named_by_a_hash_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts.socket, "gethostname", lambda: "a-name-of-its-own")
    found = facts.collect(tmp_path)
    assert "a-name-of-its-own" not in str(found)
    monkeypatch.setattr(facts.socket, "gethostname", lambda: "another")
    assert facts.collect(tmp_path).hostname_hash != found.hostname_hash


def test_the_chosen_word_is_the_one_in_brackets(tmp_path: Path) -> None:
    path = tmp_path / "enabled"
    path.write_text("always [madvise] never\n")
    assert files.chosen(path) == "madvise"
    path.write_text("none\n")
    assert files.chosen(path) == "none"
    assert files.chosen(tmp_path / "missing") is None


def test_a_file_that_is_no_number_or_not_there_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "word").write_text("notsupported\n")
    (tmp_path / "number").write_text("7\n")
    assert files.number(tmp_path / "word") is None
    assert files.number(tmp_path / "number") == 7
    assert files.number(tmp_path / "missing") is None
    assert files.line(tmp_path) is None


def test_a_record_longer_than_one_read_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "status"
    path.write_text("x" * (3 * files.RECORD_BYTES) + "end")
    assert files.record(str(path)) == path.read_text()
    path.write_text("y" * files.RECORD_BYTES)
    assert files.record(str(path)) == path.read_text()


# The device under a folder is found through partitions, device mapper and md.


class Machine:
    """A made-up /sys and mount table; the folder `data` lies on the device that is mounted."""

    def __init__(self, root: Path) -> None:
        self.sys = root / "sys"
        self.mountinfo = root / "mountinfo"
        self.data = root / "data"
        self.data.mkdir()
        (self.sys / "dev/block").mkdir(parents=True)

    def disk(self, name: str, *, slaves: tuple[Path, ...] = (), under: Path | None = None) -> Path:
        """A block device; `under` a disk it is a partition."""
        node = (under or self.sys / "devices") / name
        (node / "slaves").mkdir(parents=True)
        (node / "size").write_text("2048\n")
        if under is not None:
            (node / "partition").write_text("1\n")
        else:
            (node / "queue").mkdir()
            (node / "queue/rotational").write_text("0\n")
            (node / "queue/scheduler").write_text("none [mq-deadline] kyber\n")
        for slave in slaves:
            (node / "slaves" / slave.name).symlink_to(slave)
        return node

    def mount(self, node: Path | None, file_system: str = "ext4") -> Storage:
        """Mounts `node` where the data lies, and looks for the device under it."""
        number = self.data.stat().st_dev
        shown = f"{os.major(number)}:{os.minor(number)}"
        if node is not None:
            (self.sys / "dev/block" / shown).symlink_to(node)
        self.mountinfo.write_text(
            f"1 0 0:1 / / rw - rootfs none rw\n"
            f"2 1 {shown} / {self.data} rw,noatime - {file_system} /dev/{node} rw\n"
        )
        return device.find(self.data / "not/yet", sys=self.sys, mountinfo=self.mountinfo)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_partition_counts_as_its_disk(machine: Machine) -> None:
    disk = machine.disk("sda")
    found = machine.mount(machine.disk("sda1", under=disk))
    assert (found.device, found.devices, found.unsure) == ("sda", ("sda",), None)
    assert found.scheduler == "mq-deadline"
    assert found.rotational is False
    assert found.size_bytes == 1 << 20
    assert (found.file_system, found.mount_options) == ("ext4", "rw,noatime")


def test_a_volume_over_one_disk_counts_as_the_disk(machine: Machine) -> None:
    part = machine.disk("nvme0n1p2", under=machine.disk("nvme0n1"))
    found = machine.mount(machine.disk("dm-0", slaves=(part,)))
    assert (found.device, found.devices) == ("nvme0n1", ("nvme0n1",))


def test_an_array_counts_as_itself_and_names_its_disks(machine: Machine) -> None:
    parts = tuple(machine.disk(f"sd{x}1", under=machine.disk(f"sd{x}")) for x in "ba")
    array = machine.disk("md0", slaves=parts)
    found = machine.mount(machine.disk("dm-3", slaves=(array,)))
    assert (found.device, found.devices) == ("md0", ("sda", "sdb"))


def test_volumes_of_one_disk_are_that_disk_once(machine: Machine) -> None:
    disk = machine.disk("sda")
    parts = tuple(machine.disk(f"sda{n}", under=disk) for n in (1, 2))
    found = machine.mount(machine.disk("dm-0", slaves=parts))
    assert (found.device, found.devices) == ("dm-0", ("sda",))


@pytest.mark.parametrize("file_system", ["overlay", "tmpfs"])
def test_what_has_no_device_of_its_own_is_marked_unsure(machine: Machine, file_system: str) -> None:
    found = machine.mount(machine.disk("sda"), file_system)
    assert (found.device, found.devices) == (None, ())
    assert file_system in str(found.unsure)


def test_a_device_that_is_not_shown_is_marked_unsure(machine: Machine) -> None:
    found = machine.mount(None, "zfs")
    assert found.device is None
    assert found.unsure == "no block device is known for `zfs`"


def test_a_loop_device_is_named_with_its_file(machine: Machine) -> None:
    node = machine.disk("loop0")
    (node / "loop").mkdir()
    (node / "loop/backing_file").write_text("/images/a.img\n")
    assert machine.mount(node).unsure == "loop0 is a loop device over `/images/a.img`"


def test_a_pool_may_lie_on_more_devices(machine: Machine) -> None:
    assert "further devices" in str(machine.mount(machine.disk("sda"), "btrfs").unsure)


def test_the_deepest_mount_holds_a_folder(machine: Machine) -> None:
    mounts = device.procfs.mountinfo(
        "1 0 1:1 / / rw - ext4 /dev/a rw\n"
        "2 1 1:2 / /var/lib rw - ext4 /dev/b rw\n"
        "3 1 1:3 / /var/lib rw - xfs /dev/c rw\n"
        "4 1 1:4 / /var/library rw - ext4 /dev/d rw\n"
    )
    found = device.mount_of(Path("/var/lib/dyno"), mounts)
    assert found is not None
    assert found.source == "/dev/c"


def test_this_machine_has_something_under_its_root() -> None:
    found = device.find(Path("/"))
    assert found.file_system
    assert found.device or found.unsure


# The canary's reading is taken from dyno-loadgen, and what goes wrong is said in one line.


READING = {"cpu_us": 20000.5, "memory_ns": 80, "fsync_us_p50": 900, "fsync_us_max": 4000}


def program(folder: Path, body: str) -> Path:
    """An executable stand-in for dyno-loadgen."""
    path = folder / "dyno-loadgen"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_the_reading_is_returned_as_printed(tmp_path: Path) -> None:
    loadgen = program(
        tmp_path, f"[ \"$*\" = 'canary --dir {tmp_path}' ] && echo '{json.dumps(READING)}'"
    )
    assert msgspec.to_builtins(canary.run(tmp_path, loadgen)) == READING


def test_the_device_is_asked_for_by_its_bytes(tmp_path: Path) -> None:
    device = {"bytes": 1 << 20, "write_mbps": 800.5, "read_mbps": 2000, "direct": True}
    printed = json.dumps(READING | {"device": device})
    wanted = f"canary --dir {tmp_path} --device 1048576"
    loadgen = program(tmp_path, f"[ \"$*\" = '{wanted}' ] && echo '{printed}'")
    said = canary.run(tmp_path, loadgen, 1 << 20)
    assert msgspec.to_builtins(said) == READING | {"device": device}
    older = program(tmp_path, f"echo '{json.dumps(READING)}'")
    with pytest.raises(GeneratorError, match="one version"):
        canary.run(tmp_path, older, 1 << 20)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("echo 'no space left' >&2; exit 3", "no space left"),
        ("exit 3", "exit status 3"),
        ("echo nonsense", "nonsense"),
        ("echo '{\"cpu_us\": 1}'", "one version"),
        ("sleep 5", "did not end within"),
    ],
)
def test_what_goes_wrong_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, said: str
) -> None:
    monkeypatch.setattr(canary, "LIMIT_S", 0.5)
    with pytest.raises((GeneratorError, LabDied), match=said) as raised:
        canary.run(tmp_path, program(tmp_path, body))
    assert "\n" not in str(raised.value)


def test_a_canary_that_is_killed_is_a_death_of_the_labs_own(tmp_path: Path) -> None:
    with pytest.raises(LabDied, match="exit status -9"):
        canary.run(tmp_path, program(tmp_path, "kill -9 $$"))


def test_a_missing_program_is_said(tmp_path: Path) -> None:
    with pytest.raises(GeneratorError, match="cannot be run: No such file"):
        canary.run(tmp_path, tmp_path / "missing")
