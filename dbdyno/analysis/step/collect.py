"""The steps of a result folder, derived: from what was kept of them, or anew on all cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dbdyno.analysis.step import assemble, parallel
from dbdyno.analysis.step.compact_series import PackedSeries
from dbdyno.analysis.step.json_codec import from_plain, to_plain
from dbdyno.model import StepRun
from dbdyno.store import Files, Shelf, StepFolder

BYTES_MIN = 4_000_000
"""Of raw files: with fewer, other processes are not worth their beginning."""


def step_runs(folders: Sequence[StepFolder], shelf: Shelf | None) -> list[StepRun]:
    """The runs of these steps in their order, with packed series.

    What is derived anew is kept on the shelf.
    """
    found = [_kept(folder, shelf) for folder in folders]
    missing = [place for place, run in enumerate(found) if run is None]
    files = {place: folders[place].files() for place in missing}
    size = sum(bytes_ for its in files.values() for bytes_, _ in its.values())

    def anew(place: int) -> StepRun:
        return _derived(folders[place], files[place], shelf)

    runs = parallel.spread(anew, missing, processes=None if size > BYTES_MIN else 1)
    made = dict(zip(missing, runs, strict=True))
    return [made[place] if run is None else run for place, run in enumerate(found)]


def _kept(folder: StepFolder, shelf: Shelf | None) -> StepRun | None:
    """What the shelf has of a step; an entry that is not of our making counts as none."""
    plain = shelf.read(folder.path) if shelf is not None else None
    if plain is None:
        return None
    try:
        run = from_plain(StepRun, plain)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return run if (run.arm, run.block) == (folder.arm, folder.block) else None


def packed(run: StepRun) -> StepRun:
    """The same step with all series in their packed form."""
    waits = run.waits
    if waits is not None:
        waits = replace(waits, over_time=PackedSeries.of(waits.over_time))
    return replace(run, series=PackedSeries.of(run.series), waits=waits)


def _derived(folder: StepFolder, before: Files, shelf: Shelf | None) -> StepRun:
    """A step derived anew; `before`: its files before they are read."""
    run = assemble.step_run(folder)
    run = packed(run)
    if shelf is not None:
        shelf.keep(folder.path, before, to_plain(run))
    return run
