"""The steps of a result folder, derived: from what was kept of them, or anew on all cores."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, msgpack

from dbdyno.analysis.step import assemble
from dbdyno.analysis.step.compact_series import PackedSeries, SeriesBytes
from dbdyno.analysis.step.compact_stacks import PackedStacks
from dbdyno.evidence import damaged_files, parallel
from dbdyno.findings import steps
from dbdyno.model import Series, StepRun
from dbdyno.model.error import ResultError
from dbdyno.model.profile import Stack
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
        kept = [_kept(folder, shelf) for folder in folders]
    missing = [folder for folder, run in zip(folders, kept, strict=True) if run is None]
    checksums = _of_steps(missing)
    tasks = [
        _Task(folder=folder, files=folder.files(), expected=expected, shelf=shelf)
        for folder, expected in zip(missing, checksums, strict=True)
    ]
    size = sum(size for task in tasks for size, _ in task.files.values())
    made = iter(parallel.spread(_derived, tasks, processes=None if size > BYTES_MIN else 1))
    return [next(made) if run is None else run for run in kept]


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
    kept = shelf.read(folder.path, StoredStep) if shelf is not None else None
    if kept is None or (kept.run.arm, kept.run.block) != (folder.arm, folder.block):
        return None
    return kept.step_run()


class StoredStep(Struct, frozen=True):
    """A step as it is kept: its findings, series and call stacks lie packed beside it."""

    run: StepRun  # without them
    findings: Mapping[str, bytes]  # by the name of their facts
    series: SeriesBytes
    stacks: bytes | None

    @classmethod
    def of(cls, run: StepRun) -> StoredStep:
        """A step to be kept."""
        profile = run.profile
        return cls(
            run=replace(_with_large_parts(run, series={}, stacks={}), findings={}),
            findings={name: msgpack.encode(facts) for name, facts in run.findings.items()},
            series=PackedSeries.of(run.series).content,
            stacks=None if profile is None else PackedStacks.of(profile.stacks).content,
        )

    def step_run(self) -> StepRun:
        """The step with its findings, and its series and call stacks packed."""
        stacks = self.stacks
        return _with_large_parts(
            replace(self.run, findings=steps.decoded(self.findings)),
            series=PackedSeries(self.series),
            stacks={} if stacks is None else PackedStacks(stacks),
        )


def _with_large_parts(
    run: StepRun, *, series: Mapping[str, Series], stacks: Mapping[Stack, int]
) -> StepRun:
    profile = run.profile
    if profile is not None:
        profile = replace(profile, stacks=stacks)
    return replace(run, series=series, profile=profile)


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
    kept = StoredStep.of(_intact(task))
    if task.shelf is not None:
        task.shelf.keep(task.folder.path, task.files, kept)
    return kept.step_run()


def _intact(task: _Task) -> StepRun:
    """The step; one that cannot be judged where a file is not as it was."""
    folder = task.folder
    if task.expected is not None:
        try:
            damage = next(checksums.of_folder_damaged(folder.path, task.expected), None)
        except ResultError as error:
            return damaged_files.damaged(folder, damaged_files.words(folder, error))
        if damage is not None:
            reason = f"{folder.place}/{damage.name}: {damage.text}"
            return damaged_files.damaged(folder, reason)
    return assemble.step_run(folder)
