"""The steps of a result folder, derived: from what was kept of them, or anew on all cores."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from dbdyno.analysis.step import assemble, parallel
from dbdyno.analysis.step.compact_series import PackedSeries
from dbdyno.analysis.step.compact_stacks import PackedStacks
from dbdyno.analysis.step.json_codec import from_plain, to_plain
from dbdyno.model import StepRun
from dbdyno.store import Files, Shelf, StepFolder

BYTES_MIN = 4_000_000
"""Of raw files: with fewer, other processes are not worth their beginning."""


def step_runs(folders: Sequence[StepFolder], shelf: Shelf | None) -> list[StepRun]:
    """The runs of these steps in their order, with packed series.

    What is derived anew is kept on the shelf.
    """
    with _uncollected():
        found = [_kept(folder, shelf) for folder in folders]
    missing = [folder for folder, run in zip(folders, found, strict=True) if run is None]
    tasks = [(folder, folder.files(), shelf) for folder in missing]
    size = sum(bytes_ for _, files, _ in tasks for bytes_, _ in files.values())
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


def _derived(task: tuple[StepFolder, Files, Shelf | None]) -> StepRun:
    """A step derived anew, which is kept on the shelf, with its files before they were read."""
    folder, before, shelf = task
    run = packed(assemble.step_run(folder))
    if shelf is not None:
        shelf.keep(folder.path, before, to_plain(run))
    return run
