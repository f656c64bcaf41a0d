"""Loop devices with a file system of their own, for tests that need a second device.

Whatever lacks for that (root, losetup, mkfs, the kernel's file system) skips the test and is said.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

IMAGES = Path("/var/tmp")
OF = {
    "losetup": "mount",
    "blkdiscard": "util-linux",
    "iostat": "sysstat",
    "mkfs.xfs": "xfsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "mkfs.ext4": "e2fsprogs",
}
"""Debian's packages of programs."""
SIZE_BYTES = 3 << 30
"""Of an image, whose file has holes until it is written; xfs wants 300 MB and more."""
LIMIT_S = 60.0
MKFS = {"xfs": ("mkfs.xfs", "-q"), "btrfs": ("mkfs.btrfs", "-q"), "ext4": ("mkfs.ext4", "-q")}


@contextmanager
def device() -> Iterator[str]:
    """A loop device without a file system: its path. Skips the test where there can be none."""
    for lacking in filter(None, (not_root(), without("losetup"))):
        pytest.skip(lacking)
    folder = Path(tempfile.mkdtemp(prefix="dyno-loop-", dir=IMAGES))
    image = folder / "image"
    try:
        image.touch()
        os.truncate(image, SIZE_BYTES)
        done = ran("losetup", "--find", "--show", str(image))
        if done.returncode != 0:
            pytest.skip(f"no loop device: {done.stderr.strip()}")
        path = done.stdout.strip()
        try:
            yield path
        finally:
            assert ran("losetup", "--detach", path).returncode == 0
    finally:
        shutil.rmtree(folder)


@contextmanager
def mounted(file_system: str) -> Iterator[tuple[str, Path]]:
    """A loop device with this file system: its name, and the folder where it is mounted."""
    program, *options = MKFS[file_system]
    for lacking in filter(None, (not_root(), without(program), unknown(file_system))):
        pytest.skip(lacking)
    with device() as path:
        made = ran(program, *options, path)
        assert made.returncode == 0, made.stderr
        folder = Path(tempfile.mkdtemp(prefix="dyno-mounted-", dir=IMAGES))
        folder.chmod(0o755)
        try:
            done = ran("mount", "-t", file_system, path, str(folder))
            if done.returncode != 0:
                pytest.skip(f"{file_system} cannot be mounted: {done.stderr.strip()}")
            try:
                folder.chmod(0o755)
                yield Path(path).name, folder
            finally:
                gone = ran("umount", str(folder))
                assert gone.returncode == 0, gone.stderr
        finally:
            folder.rmdir()


def not_root() -> str:
    """Why this account makes no loop devices; nothing if it can."""
    return "" if os.geteuid() == 0 else "loop devices need root: `sudo make test-all`"


def without(program: str) -> str:
    """That a program lacks; nothing if it is there."""
    return "" if shutil.which(program) else f"no {program} here: `apt-get install {OF[program]}`"


def unknown(file_system: str) -> str:
    """That the kernel lacks a file system; nothing if it has it, or loads it now."""
    if shutil.which("modprobe"):
        ran("modprobe", "--quiet", file_system)
    known = Path("/proc/filesystems").read_text().split()
    return (
        ""
        if file_system in known
        else f"this kernel has no {file_system}: `modprobe {file_system}`"
    )


def ran(*command: str) -> subprocess.CompletedProcess[str]:
    """A command that ended, within a limit."""
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
