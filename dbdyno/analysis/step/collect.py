"""The steps of a result folder, derived: from what was kept of them, or anew on all cores."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from dbdyno.analysis.step import assemble, damaged_files, parallel
from dbdyno.analysis.step.compact_series import PackedSeries
from dbdyno.analysis.step.compact_stacks import PackedStacks
from dbdyno.analysis.step.json_codec import from_plain, to_plain
from dbdyno.model import StepRun
from dbdyno.model.error import ResultError
from dbdyno.store import Files, Shelf, StepFolder, checksums
from dbdyno.store.checksums import Checksums

BYTES_MIN = 4_000_000
"""Of raw files: with fewer, other processes are not worth their beginning."""


def step_runs(folders: Sequence[StepFolder], shelf: Shelf | None) -> list[StepRun]:
    """The runs of these steps in their order, with packed series.

    What is derived anew is kept on the shelf. Files that are not as they were when their block
    ended make a step damaged; where they still are so, the kept values are those of these files.
    """
    with _uncollected():
        found = [_kept(folder, shelf) for folder in folders]
    missing = [folder for folder, run in zip(folders, found, strict=True) if run is None]
    checksums = _of_steps(missing)
    tasks = [
        _Task(folder=folder, files=folder.files(), expected=expected, shelf=shelf)
        for folder, expected in zip(missing, checksums, strict=True)
    ]
    size = sum(size for task in tasks for size, _ in task.files.values())
    made = iter(parallel.spread(_derived, tasks, processes=None if size > BYTES_MIN else 1))
    return [next(made) if run is None else run for run in found]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's search for cycles, which what is read does not have.

    Millions of objects are made; the search would go through all of them again and again, and
    takes a quarter of the time of reading.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _kept(folder: StepFolder, shelf: Shelf | None) -> StepRun | None:
    """The shelf's entry of a step; an entry that dyno did not make counts as none."""
    plain = shelf.read(folder.path) if shelf is not None else None
    if plain is None:
        return None
    try:
        run = from_plain(StepRun, plain)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return run if (run.arm, run.block) == (folder.arm, folder.block) else None


def packed(run: StepRun) -> StepRun:
    """The same step with all series and call stacks in their packed forms."""
    server, waits = run.server, run.server.waits
    if waits is not None:
        packed_waits = replace(waits, over_time=PackedSeries.of(waits.over_time))
        server = replace(server, waits=packed_waits)
    profile = run.profile
    if profile is not None:
        profile = replace(profile, stacks=PackedStacks.of(profile.stacks))
    return replace(run, series=PackedSeries.of(run.series), server=server, profile=profile)


class _Task(NamedTuple):
    """A step to derive anew."""

    folder: StepFolder
    files: Files  # before they are read
    expected: Checksums | None  # None: its block has none
    shelf: Shelf | None


def _of_steps(folders: Sequence[StepFolder]) -> list[Checksums | None]:
    """The checksums of each step's files; each block's are read once."""
    of_block: dict[Path, Checksums | None] = {}
    for folder in folders:
        block = folder.block_path
        if block not in of_block:
            of_block[block] = checksums.read(block)
    return [
        None if (known := of_block[folder.block_path]) is None else folder.checksums_of(known)
        for folder in folders
    ]


def _derived(task: _Task) -> StepRun:
    """A step derived anew, which is kept on the shelf."""
    run = packed(_intact(task))
    if task.shelf is not None:
        task.shelf.keep(task.folder.path, task.files, to_plain(run))
    return run


def _intact(task: _Task) -> StepRun:
    """The step; one that cannot be judged where a file is not as it was."""
    folder = task.folder
    if task.expected is not None:
        try:
            damage = next(checksums.of_folder_damaged(folder.path, task.expected), None)
        except ResultError as error:
            return damaged_files.failed(folder, damaged_files.words(folder, error))
        if damage is not None:
            reason = f"{damaged_files.PREFIX}{folder.place}/{damage.name}: {damage.text}"
            return damaged_files.failed(folder, reason)
    return assemble.step_run(folder)
