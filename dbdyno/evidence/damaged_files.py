"""The unusable parts of a result: named and left out, while the rest is shown."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from dbdyno.model import Ending, Extent, StepFacts, StepRun
from dbdyno.model.error import ResultError
from dbdyno.model.step_files import StepRecord
from dbdyno.store import StepFolder

Value = TypeVar("Value")


@dataclass
class Damage:
    """The unreadable parts so far, in lines that name the file within the result folder."""

    folder: Path
    lines: list[str] = field(default_factory=list)

    def usable(self, read: Callable[[], Value | None]) -> Value | None:
        """The value of `read`; None, and one more line, if it raises ResultError."""
        try:
            return read()
        except ResultError as error:
            self.say(str(error))
            return None

    def needed(self, read: Callable[[], Value | None], file: str) -> Value | None:
        """The same of a file that has to be there."""
        known = len(self.lines)
        value = self.usable(read)
        if value is None and len(self.lines) == known:
            self.say(f"{file}: is missing; restore it from a copy")
        return value

    def say(self, text: str) -> None:
        """A line more."""
        self.lines.append(text.removeprefix(f"{self.folder}/"))


def words(folder: StepFolder, error: ResultError) -> str:
    """Why a step cannot be judged, from what its reading raised."""
    return f"{folder.place}/{str(error).removeprefix(f'{folder.path}/')}"


def damaged(folder: StepFolder, reason: str) -> StepRun:
    """A step that cannot be judged: it has failed, with what can still be said of it.

    Where failed.json says why it did not end well, that stays.
    """
    lost = Damage(folder.path)
    step = lost.usable(folder.step)
    if step is None:
        step = StepRecord(
            workload=folder.workload, ordinal=folder.ordinal, name=folder.name, measured=True
        )
    failure = lost.usable(folder.failed)
    ending = Ending(status="failed", reason=reason, damaged=True)
    return StepRun(
        facts=facts(step),
        arm=folder.arm,
        block=folder.block,
        ending=ending if failure is None else Ending(status=failure.status, reason=failure.reason),
    )


def facts(step: StepRecord, extent: Extent | None = None) -> StepFacts:
    """The facts of a step from its step.json; `extent`: from its job."""
    return StepFacts(
        workload=step.workload,
        ordinal=step.ordinal,
        step=step.name,
        measured=step.measured,
        group=step.group,
        headline=None if step.headline is None else step.headline.metric,
        sla_target=None if step.sla is None else step.sla.rows_per_s,
        extent=extent,
        probed=step.probed,
    )


def named(folders: Sequence[StepFolder], runs: Sequence[StepRun]) -> list[StepRun]:
    """The runs; where step.json was not readable, what the step is stands in another run's."""

    def place(folder: StepFolder) -> tuple[str, int, str]:
        return folder.workload, folder.ordinal, folder.name

    readable = {
        place(folder): run
        for folder, run in zip(folders, runs, strict=True)
        if not _is_nameless(folder, run)
    }
    return [
        replace(run, facts=replace(readable[place(folder)].facts, extent=None))
        if _is_nameless(folder, run) and place(folder) in readable
        else run
        for folder, run in zip(folders, runs, strict=True)
    ]


def _is_nameless(folder: StepFolder, run: StepRun) -> bool:
    return run.ending.damaged and Damage(folder.path).usable(folder.step) is None


def of_steps(runs: Iterable[StepRun]) -> list[str]:
    """The reasons of the measured runs whose files are damaged, each once."""
    reasons = [run.ending.reason or "" for run in runs if run.ending.damaged and run.facts.measured]
    return list(dict.fromkeys(reasons))
