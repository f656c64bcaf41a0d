"""Facts of what limits a process here: its own limits, control groups, the login service."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from dbdyno.host.observe import files, procfs
from dbdyno.host.observe.reader import HostReader
from dbdyno.model.host_facts import ControlGroup, Limit, LoginService, ProcessLimits

UNLIMITED = "unlimited"
NEVER_BYTES = 1 << 60
"""From here on a control group of version 1 has no limit: it shows the largest number it can."""
LIMITS = {
    "open_files": "Max open files",
    "locked_memory_bytes": "Max locked memory",
    "processes": "Max processes",
}
LOGIND = ("/etc/systemd/logind.conf", "/etc/systemd/logind.conf.d/*.conf")


def of_process(reader: HostReader) -> ProcessLimits:
    """The limits that servers inherit from dyno, each as soft and hard one."""
    text = reader.text("limits", "/proc/self/limits") or ""
    lines = {
        key: re.search(rf"^{title}\s+(\S+)\s+(\S+)", text, re.MULTILINE)
        for key, title in LIMITS.items()
    }
    return ProcessLimits(
        **{
            key: tuple(word if word == UNLIMITED else int(word) for word in line.groups())
            for key, line in lines.items()
            if line is not None
        }
    )


def control_group(reader: HostReader) -> ControlGroup:
    """The tightest limits of the control groups that dyno is in: CPUs, memory, processes."""
    mounted = groups(reader)
    looked = {name: mounted.folders(name) for name in ("cpu", "memory", "pids")}
    for name in (name for name, folders in looked.items() if not folders):
        reader.nothing(f"control_group.{name}_max", "no control group is mounted here")
    return ControlGroup(
        version=mounted.version,
        cpu_max=least([cpus(reader, folder) for folder in looked["cpu"]]),
        memory_max=least([memory(reader, folder) for folder in looked["memory"]]),
        pids_max=least([number(reader, f"{folder}/pids.max") for folder in looked["pids"]]),
    )


@dataclass(frozen=True)
class Groups:
    """The control groups that dyno is in, and where their kinds are mounted."""

    membership: str  # /proc/self/cgroup
    unified: str | None  # the mount of version 2
    controllers: Mapping[str, str]  # of version 1: controller -> its mount

    @property
    def version(self) -> int | None:
        """Of the groups by which processors and memory are counted; None: of none."""
        if "cpu" in self.controllers or "memory" in self.controllers:
            return 1
        return None if self.unified is None else 2

    def folders(self, controller: str) -> list[str]:
        """The folders of the group and of those above it, the innermost first."""
        for line in self.membership.splitlines():
            _, names, path = line.split(":", 2)
            if names == "" and self.unified is not None and controller not in self.controllers:
                return above(self.unified, path)
            if controller in names.split(",") and controller in self.controllers:
                return above(self.controllers[controller], path)
        return []


def groups(reader: HostReader) -> Groups:
    """The control groups that dyno is in; folders that a container does not show are among them."""
    mounts = procfs.mountinfo(reader.text("control_group", "/proc/self/mountinfo") or "")
    version_2 = (mount.mount_point for mount in mounts if mount.file_system == "cgroup2")
    return Groups(
        membership=reader.text("control_group", "/proc/self/cgroup") or "",
        unified=next(version_2, None),
        controllers={
            name: mount.mount_point
            for mount in mounts
            if mount.file_system == "cgroup"
            for name in mount.options.split(",")
        },
    )


def above(mount: str, path: str) -> list[str]:
    """A group's folder and those above it, up to the mount."""
    inside = PurePosixPath(path.lstrip("/"))
    return [str(PurePosixPath(mount) / part) for part in (inside, *inside.parents)]


def cpus(reader: HostReader, folder: str) -> Limit:
    """How many CPUs' time a group may use: quota by period."""
    both = files.line(reader.at(f"{folder}/cpu.max"))
    quota, _, period = (both or "").partition(" ")
    if both is None:
        quota = files.line(reader.at(f"{folder}/cpu.cfs_quota_us")) or ""
        period = files.line(reader.at(f"{folder}/cpu.cfs_period_us")) or ""
    if not quota:
        return None
    if quota in ("max", "-1") or not period.isdigit() or int(period) == 0:
        return UNLIMITED
    return int(quota) / int(period)


def memory(reader: HostReader, folder: str) -> Limit:
    """How much memory a group may use, in bytes; the page cache counts."""
    found = number(reader, f"{folder}/memory.max")
    if found is None:
        found = number(reader, f"{folder}/memory.limit_in_bytes")
    return UNLIMITED if isinstance(found, int) and found >= NEVER_BYTES else found


def number(reader: HostReader, path: str) -> int | str | None:
    """A limit of a control group: a number, or `max`."""
    found = files.line(reader.at(path))
    return None if found is None else UNLIMITED if found == "max" else int(found)


def least(limits: list[Limit]) -> Limit:
    """The tightest of some limits; None where none of them can be read.

    The topmost group has no files of its limits: whoever is in no other one has none.
    """
    numbers = [limit for limit in limits if isinstance(limit, int | float)]
    if numbers:
        return min(numbers)
    return UNLIMITED if limits else None


def login_service(reader: HostReader) -> LoginService:
    """Whether systemd-logind runs, and removes what a user's processes share when they log out."""
    if not (running := reader.at("/run/systemd/system").is_dir()):
        return LoginService(running=running)
    paths = [path for pattern in LOGIND for path in reader.found(pattern)]
    words = [
        found[-1].strip()
        for path in paths
        if (found := re.findall(r"^\s*RemoveIPC\s*=(.*)$", files.text(path) or "", re.MULTILINE))
    ]
    if not words:
        reader.nothing(
            "login_service.remove_ipc",
            "no logind.conf sets RemoveIPC; the default is `yes`, of some distributions `no`",
        )
    return LoginService(running=running, remove_ipc=words[-1] if words else None)


def user_id(reader: HostReader) -> int | None:
    """The user that dyno runs as."""
    return os.geteuid() if reader.here else None
