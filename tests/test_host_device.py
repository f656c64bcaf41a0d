"""The device under a folder is found through partitions, device mapper and md."""

import os
from pathlib import Path

import pytest

from dbdyno.host.observe import device
from dbdyno.model.host_facts import Storage


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
