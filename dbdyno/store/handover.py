"""Blocks that another process measures into a result folder of its own, and hands over.

Before it measures, that folder is told what its lab has to know: the plan, the looks, which blocks
there are elsewhere, and how they ended. Afterwards its blocks are moved here, each by one rename.
"""

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from msgspec import Struct

from dbdyno.model.block_files import BlockDone, Order, VoidReason
from dbdyno.store import disk, void_blocks
from dbdyno.store.file import made, read_struct_if_there, write_atomically, write_json
from dbdyno.store.folder import BlockFolder
from dbdyno.store.results import Results

SETTLED = ("plan.json", "looks.json", "commits.json.gz")
"""The files of a result that are settled before its first block."""
SECOND = "measured twice: another job had this block done already"


class BlockEnds(Struct, frozen=True, omit_defaults=True):
    """The files of a block by which a lab knows whether it was begun, and how it ended."""

    order: Order | None = None
    done: BlockDone | None = None
    void: VoidReason | None = None


def outline(
    results: Results,
    others: Iterable[Results],
    folder: Path,
    *,
    number: int | None,
    host: str | None = None,
) -> frozenset[str]:
    """Makes a result folder that knows of the blocks elsewhere, without what was measured.

    `others`: further folders with blocks of this plan; `number`: the block that is to be measured;
    `host`: its host's name. Returns the names of the blocks that are in `folder` now.
    """
    made(folder)
    for name in SETTLED:
        if (results.folder / name).exists():
            write_atomically(folder / name, (results.folder / name).read_bytes())
    if host is not None and (facts := results.hosts().get(host)) is not None:
        write_json(folder / "host.json", facts)
    if host is not None and (measured := results.generator_of(host)) is not None:
        Results.open(folder).keep_generator(measured)
    # Whoever collects moves blocks from the others to the results: looked at in this order, a block
    # is seen twice at worst, and is then the same by its begin.
    seen = {
        (block.number, begun): block
        for block in [*(block for other in others for block in other.blocks()), *results.blocks()]
        if (begun := block.begun_unix_ns) is not None
    }
    for block in seen.values():
        if block.void is not None:
            write_ends(_free_void(folder, block.number), ends(block))
        elif block.number != number:
            write_ends(folder / "blocks" / block.path.name, ends(block))
    return frozenset(block.path.name for block in Results.open(folder).blocks())


def ends(block: BlockFolder) -> BlockEnds:
    """What is known of a block without its runs. Raises ResultError where that is damaged."""
    return BlockEnds(
        order=read_struct_if_there(block.path / "order.json", Order),
        done=block.done(),
        void=read_struct_if_there(block.path / void_blocks.NAME, VoidReason),
    )


def write_ends(folder: Path, known: BlockEnds) -> None:
    """Makes the folder of a block of which so much is known."""
    made(folder)
    files = {"order.json": known.order, "done.json": known.done, void_blocks.NAME: known.void}
    for name, content in files.items():
        if content is not None:
            write_json(folder / name, content)


def new_blocks(results: Results, before: Collection[str]) -> list[BlockFolder]:
    """The blocks that were made after `before` was told."""
    return [block for block in results.blocks() if block.path.name not in before]


def take(block: BlockFolder, results: Results, reason: str, cause: str | None = None) -> str | None:
    """Moves a block of another folder into `results`; None where it is done, else why it is void.

    One that is not complete is void for `reason`, if it has none of its own, and so is one that is
    there already.
    """
    is_second = block.state == "done" and results.block_state(block.number) == "done"
    is_done = block.state == "done" and not is_second
    if is_done:
        target = results.folder / "blocks" / f"{block.number:03d}"
    else:
        if block.void is None:
            void_blocks.say(block.path, SECOND if is_second else reason, cause)
        target = _free_void(results.folder, block.number)
    made(target.parent)
    disk.rename(block.path, target)
    disk.sync_path(target.parent)
    disk.sync_path(block.path.parent)
    return None if is_done else void_blocks.reason(target)


def _free_void(folder: Path, number: int) -> Path:
    """The name of the next void block of this number."""
    names = [path.name for path in (folder / "blocks").glob(f"{number:03d}.void*")]
    tries = [int(match[1]) for name in names if (match := re.search(r"void(\d+)$", name))]
    return folder / "blocks" / f"{number:03d}.void{max(tries, default=0) + 1}"
