"""Result folders at a glance: where they lie, whether they changed, how far they have come.

Nothing here reads what was measured, so that a thousand results are listed in under a second.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dbdyno.model.host_facts import HostFacts
from dbdyno.model.plan_record import PlanRecord
from dbdyno.store.results import Results

DEPTH_MAX = 4
"""So many folders below a folder are searched for results."""

Stamp = tuple[int, ...]
"""Times of change in nanoseconds: of plan, host, looks, the blocks and the last of them."""


@dataclass(frozen=True, kw_only=True)
class Glance:
    """The progress of a result."""

    plan: PlanRecord
    host: HostFacts | None
    complete: int  # blocks
    begun: Path | None  # the last block, where it is not complete


def below(root: Path) -> Iterator[tuple[str, Path]]:
    """The result folders in a folder, with their places below it; the folder itself is one, too.

    Links are not followed.
    """
    if (root / "plan.json").exists():
        yield root.name, root
    else:
        yield from _below("", root, DEPTH_MAX)


def _below(prefix: str, folder: Path, depth: int) -> Iterator[tuple[str, Path]]:
    try:
        with os.scandir(folder) as entries:
            inside = [entry for entry in entries if entry.name[0] != "."]
    except OSError:
        return
    for entry in inside:
        if not entry.is_dir(follow_symlinks=False):
            continue
        if os.path.exists(f"{entry.path}/plan.json"):
            yield f"{prefix}{entry.name}", Path(entry.path)
        elif depth > 1:
            yield from _below(f"{prefix}{entry.name}/", Path(entry.path), depth - 1)


def stamp(folder: Path) -> Stamp:
    """The stamp that tells whether a result has changed; a running step does not change it."""
    blocks = folder / "blocks"
    last = max(_numbered(blocks), default="")
    paths = [folder / "plan.json", folder / "host.json", folder / "looks.json", blocks]
    paths += [blocks / last] if last else []
    return tuple(_changed_ns(path) for path in paths)


def glance(folder: Path) -> Glance:
    """The progress of the result in a folder. Raises ResultError where it holds none."""
    results, blocks = Results.open(folder), folder / "blocks"
    names = sorted(_numbered(blocks))
    done = {name for name in names if (blocks / name / "done.json").exists()}
    return Glance(
        plan=results.plan,
        host=results.host(),
        complete=len(done),
        begun=blocks / names[-1] if names and names[-1] not in done else None,
    )


def written_s(block: Path) -> float:
    """When anything of a block was written last, as Unix time; 0 where nothing is there."""
    folders = [Path(folder) for folder, _, _ in os.walk(block)]
    newest = max(folders, key=_changed_ns, default=block)
    return max(map(_changed_ns, [newest, *newest.glob("*.jsonl")])) / 1e9


def _numbered(blocks: Path) -> list[str]:
    """The names of the blocks that are not set aside."""
    try:
        return [name for name in os.listdir(blocks) if name.isdigit()]
    except OSError:
        return []


def _changed_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
