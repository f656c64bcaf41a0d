"""Finds the block device under a folder, through partitions, device mapper and md."""

import os
from pathlib import Path

from dbdyno.host.observe import files, procfs
from dbdyno.host.observe.procfs import Mount
from dbdyno.model.host_facts import Storage

SYS = Path("/sys")
MOUNTINFO = Path("/proc/self/mountinfo")

WITHOUT_DEVICE = {
    "overlay": "overlay file system: the device below it cannot be told",
    "tmpfs": "tmpfs: the data is in memory, on no device",
    "ramfs": "ramfs: the data is in memory, on no device",
}
SHARED_POOLS = ("btrfs", "bcachefs")
"""File systems that may lie on more devices than the one their mount names."""


def find(path: Path, *, sys: Path = SYS, mountinfo: Path = MOUNTINFO) -> Storage:
    """The device under `path` (or under its nearest parent that exists), without what is free.

    Never raises for a machine that tells less: the fields are None then, and `unsure` says why.
    """
    folder = existing(path)
    mount = mount_of(folder, procfs.mountinfo(files.text(mountinfo) or ""))
    without = WITHOUT_DEVICE.get(mount.file_system) if mount else None
    node = None if without else block_folder(sys, device_number(folder, mount))
    if node is None:
        reason = without or f"no block device is known for `{file_system(mount)}`"
        return describe(path, mount, None, (), reason)
    leaves = bottom(node)
    return describe(path, mount, counted(node), leaves, doubt(mount, leaves))


def layers(path: Path, *, sys: Path = SYS, mountinfo: Path = MOUNTINFO) -> list[Path]:
    """The folders under /sys of all devices under `path`: first what is mounted, last the disks.

    Partitions are given as their disk, which has the queue.
    """
    folder = existing(path)
    mount = mount_of(folder, procfs.mountinfo(files.text(mountinfo) or ""))
    if mount is None or mount.file_system in WITHOUT_DEVICE:
        return []
    node = block_folder(sys, device_number(folder, mount))
    layer, found = [node] if node is not None else [], dict[Path, None]()
    while layer:
        found |= dict.fromkeys(one for one in layer if not (one / "partition").exists())
        layer = [lower for one in layer for lower in below(one)]
    return list(found)


def existing(path: Path) -> Path:
    """`path`, or its nearest parent that exists, without symbolic links."""
    found = path.resolve()
    while not found.exists():
        found = found.parent
    return found


def mount_of(folder: Path, mounts: list[Mount]) -> Mount | None:
    """The mount that `folder` lies in: the deepest mount point, the latest of equal ones."""
    holding = [mount for mount in mounts if folder.is_relative_to(mount.mount_point)]
    return max(reversed(holding), key=lambda mount: len(mount.mount_point), default=None)


def file_system(mount: Mount | None) -> str:
    """The file system's name for a message."""
    return mount.file_system if mount else "an unknown file system"


def device_number(folder: Path, mount: Mount | None) -> str:
    """Major and minor number; btrfs and the like show an anonymous one, their source the real."""
    number = folder.stat().st_dev
    if os.major(number) == 0 and mount and mount.source.startswith("/dev/"):
        source = Path(mount.source)
        number = source.stat().st_rdev if source.exists() else number
    return f"{os.major(number)}:{os.minor(number)}"


def block_folder(sys: Path, number: str) -> Path | None:
    """The folder under /sys that describes the block device with this number."""
    link = sys / "dev/block" / number
    return link.resolve() if link.exists() else None


def below(node: Path) -> list[Path]:
    """The devices directly under one: a partition's disk, the slaves of dm and md."""
    if (node / "partition").exists():
        return [node.parent]
    slaves = node / "slaves"
    return sorted(link.resolve() for link in slaves.iterdir()) if slaves.is_dir() else []


def bottom(node: Path) -> tuple[Path, ...]:
    """The physical devices under one, each once, in the order of their names."""
    under = below(node)
    if not under:
        return (node,)
    return tuple(sorted({leaf for lower in under for leaf in bottom(lower)}))


def counted(node: Path) -> Path:
    """The deepest device that still has all the traffic: down to the first that is spread out."""
    under = below(node)
    return counted(under[0]) if len(under) == 1 else node


def doubt(mount: Mount | None, leaves: tuple[Path, ...]) -> str | None:
    """Why the counters may not be those of the folder's storage."""
    if mount and mount.file_system in SHARED_POOLS:
        return f"{mount.file_system}: there may be further devices"
    loops = [leaf for leaf in leaves if (leaf / "loop").is_dir()]
    if loops:
        backing = files.line(loops[0] / "loop/backing_file")
        return f"{loops[0].name} is a loop device over `{backing}`"
    return None


def describe(
    path: Path, mount: Mount | None, node: Path | None, leaves: tuple[Path, ...], unsure: str | None
) -> Storage:
    """Reads what /sys tells of the device."""
    leaf = leaves[0] if leaves else None
    sectors = files.number(node / "size") if node else None
    rotational = files.number(node / "queue/rotational") if node else None
    return Storage(
        path=str(path),
        mount_point=mount.mount_point if mount else None,
        file_system=mount.file_system if mount else None,
        mount_options=mount.options if mount else None,
        device=node.name if node else None,
        devices=tuple(leaf.name for leaf in leaves),
        model=files.line(leaf / "device/model") if leaf else None,
        rotational=None if rotational is None else bool(rotational),
        scheduler=files.chosen(leaf / "queue/scheduler") if leaf else None,
        size_bytes=None if sectors is None else sectors * procfs.SECTOR_BYTES,
        unsure=unsure,
    )
