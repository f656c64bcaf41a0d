"""Computes a plan's needs on disk, folder by folder, beside the free space there."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dbdyno.engine import golden
from dbdyno.host import data_folder, quiesce
from dbdyno.model.error import HostError
from dbdyno.model.grouping import grouped

SPARE_BYTES = 1 << 30
"""The space that has to stay free beside the needs: results, sorts of index builds."""
TAKEN_BYTES_MIN = 256 << 20
"""So much may be missing that no folder has: files without a name, what a file system keeps."""
DATA, WAL, COPIES = "data", "write-ahead log", "golden copies"
DEVICE = "the canary's file"


@dataclass(frozen=True, kw_only=True)
class Need:
    """Bytes that something takes at most, in the folder `root`."""

    what: str  # DATA, WAL, COPIES or DEVICE
    root: Path
    bytes: int
    setting: str = ""  # that decides it, with its arm


def largest(needs: Iterable[Need]) -> list[Need]:
    """The needs of runs of which one is there at a time: of each subject and folder the most."""
    most: dict[tuple[str, Path], Need] = {}
    for need in needs:
        place = (need.what, need.root)
        most[place] = max(most.get(place, need), need, key=lambda need: need.bytes)
    return list(most.values())


def total(needs: Iterable[Need]) -> list[Need]:
    """The needs of what stays: of each subject and folder the sum."""
    sums: dict[tuple[str, Path], int] = {}
    for need in needs:
        place = (need.what, need.root)
        sums[place] = need.bytes + sums.get(place, 0)
    return [Need(what=what, root=root, bytes=size) for (what, root), size in sums.items()]


def by_file_system(needs: Iterable[Need]) -> list[list[Need]]:
    """The needs that share the room of one file system, together."""
    shared = grouped((os.stat(quiesce.existing(need.root)).st_dev, need) for need in needs)
    return list(shared.values())


def available(needs: Sequence[Need], arms: Sequence[str]) -> int:
    """The bytes that are free for needs of one file system, with what old runs of `arms` hold.

    Raises HostError where the file system cannot be asked.
    """
    roots = {need.root for need in needs}
    old = [
        root / arm for root in roots for arm in arms if (root / arm / data_folder.MARK).is_file()
    ]
    return quiesce.room(needs[0].root) + golden.census(*old).bytes


def refuse_full(needs: Iterable[Need], arms: Sequence[str]) -> None:
    """Raises HostError where a file system has no room for all of its needs and a spare."""
    for shared in by_file_system(needs):
        free = available(shared, arms)
        if sum(need.bytes for need in shared) + SPARE_BYTES > free:
            root = shared[0].root
            raise HostError(
                f"`{root}` has {gb(free)} free; the plan needs {listed(shared)}, and "
                f"{gb(SPARE_BYTES)} to spare: {remedy(shared)}or set server.data_dir"
            )


def refuse_exhausted(needs: Iterable[Need], reason: str) -> None:
    """Raises HostError where a file system has not even the spare left, so that `reason` follows.

    Before the plan began there was room for all of its needs beside that.
    """
    for root in {need.root for need in needs}:
        free = quiesce.room(root)
        if free < SPARE_BYTES:
            raise HostError(
                f"`{root}` has {gb(free)} free ({reason}): free space there, then run the same "
                "command to continue"
            )


def remedy(needs: Sequence[Need]) -> str:
    """What makes the needs less: of the logs, of the copies, of the rows."""
    largest = max(needs, key=lambda need: need.bytes)
    first = "lower that setting, " if largest.setting else "ask for fewer rows, "
    copies = any(need.what == COPIES and need.bytes for need in needs)
    return first + ("remove golden copies or `save`, " if copies else "")


def listed(needs: Iterable[Need]) -> str:
    """The needs in words: `3.2 GB of data, 1.0 GB of write-ahead log`."""
    words = [
        f"{gb(need.bytes)} of {need.what}" + (f" ({need.setting})" if need.setting else "")
        for need in needs
        if need.bytes
    ]
    return ", ".join(words) or "0 GB"


def gb(amount: int) -> str:
    """Bytes as `3.2 GB` (1 GB = 2^30 bytes, as PostgreSQL counts)."""
    return f"{amount / (1 << 30):.1f} GB"


# --- Whose doing it is that a disk fills ---------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DiskLevel:
    """How full a file system is, and how much of it the lab's own folders take, in bytes."""

    root: Path
    free: int
    own: int


def levels(roots: Iterable[Path]) -> dict[int, DiskLevel]:
    """The level of each file system of these folders, by its device."""
    whole = {root.absolute() for root in roots}
    outer = sorted(root for root in whole if whole.isdisjoint(root.parents))
    folders = grouped((quiesce.existing(root).stat().st_dev, root) for root in outer)
    return {
        device: DiskLevel(root=own[0], free=quiesce.room(own[0]), own=sum(map(allocated, own)))
        for device, own in folders.items()
    }


def allocated(folder: Path) -> int:
    """The bytes that the files below a folder take on the disk; those that vanish take none."""
    size = 0
    for inside, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                size += 512 * os.lstat(os.path.join(inside, name)).st_blocks
    return size


def taken_by_others(before: Mapping[int, DiskLevel], now: Mapping[int, DiskLevel]) -> str | None:
    """Says that a disk is nearly full by other programs' doing; None where none is.

    Its free space has fallen by more than the lab's folders have grown.
    """
    for device, first in before.items():
        last = now.get(device, first)
        others = (first.free - last.free) - (last.own - first.own)
        if last.free < SPARE_BYTES and others > TAKEN_BYTES_MIN:
            return (
                f"other programs took {gb(others)} on the disk of `{first.root}`, which has "
                f"{gb(last.free)} free: free space there, and keep it for the lab"
            )
    return None
