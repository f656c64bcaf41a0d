"""What an export reads: a result folder's steps, judged and not, and what is wrong with its files.

A file that is damaged costs the rows that would come from it; it is named in `problems`, and
everything else is exported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from dbdyno.analysis import compare
from dbdyno.analysis.step import assemble
from dbdyno.evidence import damaged_files
from dbdyno.evidence.damaged_files import Damage
from dbdyno.model import Comparison, Json, StepRun, events
from dbdyno.model.error import ResultError
from dbdyno.model.nodes import UNNAMED
from dbdyno.model.server_facts import ServerFacts
from dbdyno.model.step_files import StepRecord
from dbdyno.store import BlockFolder, Results, StepFolder, safe_name

Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class ExportPlace:
    """Where a step of a run lies."""

    block: BlockFolder
    folder: StepFolder
    server: ServerFacts | None  # of its run


@dataclass
class ExportSource:
    """A result folder as it is exported. Raises ResultError where it is none."""

    name: str  # as the user named it
    results: Results
    base: str | None = None  # in place of the plan's
    lost: Damage = field(init=False)

    def __post_init__(self) -> None:
        self.lost = Damage(self.results.folder)

    @classmethod
    def open(cls, folder: Path, base: str | None = None) -> ExportSource:
        """The result in `folder`. Raises ResultError in one line where it holds none."""
        return cls(str(folder), Results.open(folder), base)

    @cached_property
    def comparison(self) -> Comparison:
        """The part that reports show: judged blocks only."""
        return compare.load(self.results, base=self.base)

    @property
    def key(self) -> Json:
        """The columns with which all rows of this result begin."""
        return {"result": self.name, "plan": self.results.plan.name}

    def places(self) -> Iterator[ExportPlace]:
        """Every step that has a folder, also those of void and unfinished blocks."""
        for block in self.results.blocks():
            for run in block.runs():
                server = self.lost.usable(run.server)
                for folder in run.steps():
                    yield ExportPlace(block=block, folder=folder, server=server)

    def runs(self) -> Iterator[tuple[StepRun, Json, ExportPlace | None]]:
        """Every step of every run, derived, with its key.

        Steps that a run ended before have no place: reports show them as skipped.
        """
        judged = {
            (
                run.block,
                run.arm,
                safe_name(run.facts.workload),
                run.facts.ordinal,
                safe_name(run.facts.step),
            ): run
            for step in self.comparison.steps
            for run in step.runs
        }
        for place in self.places():
            at = place.folder
            run: StepRun | None = None
            if place.block.state == "done":
                run = judged.pop((at.block, at.arm, at.workload, at.ordinal, at.name), None)
            run = run or assemble.step_run(at)
            yield run, self.run_key(run, place.block), place
        for run in judged.values():
            yield run, self.run_key(run, None), None

    def node(self, run: StepRun, place: ExportPlace | None) -> str | None:
        """The node that measured a step; None where its block names none."""
        if place is not None:
            return place.block.host
        found = self.comparison.nodes.get(run.block)
        return None if found == UNNAMED else found

    def run_key(self, run: StepRun, block: BlockFolder | None) -> Json:
        """The columns with which the rows of a step of a run begin; no block: it is judged."""
        facts = run.facts
        named = {"workload": facts.workload, "arm": run.arm, "block": run.block}
        return self._key(block, named | {"ordinal": facts.ordinal, "step": facts.step})

    def step_key(self, place: ExportPlace, step: StepRecord) -> Json:
        """The same from a step's folder and its step.json."""
        at = place.folder
        named = {"workload": step.workload, "ordinal": step.ordinal, "step": step.name}
        return self._key(place.block, {"arm": at.arm, "block": at.block} | named)

    def _key(self, block: BlockFolder | None, named: Json) -> Json:
        void = 0 if block is None else block.void or 0
        judged = block is None or block.state == "done"
        return self.key | {"void": void, "judged": judged} | named

    def each(self, read: Callable[[ExportSource, ExportPlace], Iterable[Found]]) -> Iterator[Found]:
        """What is read of each step's folder, step by step, up to a damaged file."""
        for place in self.places():
            try:
                yield from read(self, place)
            except ResultError as error:
                self.lost.say(damaged_files.words(place.folder, error))

    @property
    def problems(self) -> list[str]:
        """One sentence for each thing that could not be read."""
        return [f"{self.name}/{line}" for line in dict.fromkeys(self.lost.lines)]


def started(folder: StepFolder) -> datetime | None:
    """When the window opened, UTC without a zone; None where it did not."""
    unix_minus_mono_ns: int | None = None
    for event in folder.events():
        match event:
            case events.StartedEvent():
                unix_minus_mono_ns = event.unix_ns - event.mono_ns
            case events.WindowOpen() if unix_minus_mono_ns is not None:
                unix_s = (event.mono_ns + unix_minus_mono_ns) / 1e9
                return datetime.fromtimestamp(unix_s, UTC).replace(tzinfo=None)
            case events.Tick():
                return None
    return None
