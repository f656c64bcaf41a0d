"""Follows a running plan by the files of its result folder alone."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from dbdyno.model.error import ResultError
from dbdyno.serve import meter
from dbdyno.serve.folders import ListedResult, State, written_s
from dbdyno.serve.meter import Meter, Point
from dbdyno.store import BlockFolder, Results, StepFolder

StepStatus = Literal["waits", "runs", "stopped", "done", "failed", "skipped"]
"""`stopped`: it was begun and has no end, and nothing of its result is written any more."""
Name = tuple[str, int, str]  # workload, ordinal, step


@dataclass(frozen=True, kw_only=True)
class ArmStep:
    """An arm in a step of the block that is shown."""

    status: StepStatus
    text: str = ""  # its rate, or why it failed


@dataclass(frozen=True, kw_only=True)
class WatchedStep:
    """A step in the block that is shown, with what each arm of the result does in it."""

    workload: str
    ordinal: int
    name: str
    arms: tuple[ArmStep, ...]


@dataclass(frozen=True, kw_only=True)
class RateLine:
    """The rates of an arm by second."""

    arm: str
    block: int
    points: list[Point]
    now: bool  # whether it is of the block that is shown


@dataclass(frozen=True, kw_only=True)
class Rates:
    """The step that runs, or ran last: each arm's rate by second."""

    step: str
    unit: str
    warmup_s: float
    whole_s: float | None  # None: it ends when its work is done
    lines: tuple[RateLine, ...]


@dataclass(frozen=True, kw_only=True)
class WatchState:
    """The state of a plan at one look."""

    state: State
    written_s: float  # Unix time of the newest file
    block: int | None  # the last that was begun; None: none was yet
    aside: tuple[str, ...]  # why earlier tries of it were set aside
    order: tuple[str, ...]  # of its arms
    steps: tuple[WatchedStep, ...]
    rates: Rates | None


@dataclass
class ResultWatch:
    """Looks at one result again and again, and reads only what is new of a step that runs."""

    _meters: dict[Path, Meter] = field(default_factory=dict)

    def look(self, result: ListedResult) -> WatchState:
        """The state now. Raises ResultError where the result cannot be read."""
        every = Results.open(result.path).blocks()
        blocks = [one for one in every if not one.void]
        block = blocks[-1] if blocks else None
        tries = [one for one in every if one.void and block and one.number == block.number]
        its = _folders(block)
        return WatchState(
            state=result.state,
            written_s=written_s(result, time.time()),
            block=block.number if block else None,
            aside=tuple(one.reason or "" for one in tries),
            order=block.arms() if block else (),
            steps=_steps(result, its, blocks),
            rates=self._rates(result, its, blocks),
        )

    def _rates(
        self, result: ListedResult, its: list[StepFolder], blocks: list[BlockFolder]
    ) -> Rates | None:
        """The rates of the step that runs, else of the last one that was begun."""
        shown = max(
            ([one for one in its if not one.is_over()] or its),
            key=StepFolder.begun_ns,
            default=None,
        )
        if shown is None:
            return None
        same = [one for one in its if _name(one) == _name(shown)]
        earlier = [folder for folder in _folders(_before(blocks)) if _name(folder) == _name(shown)]
        by_arm = {one.arm: one for one in [*earlier, *same]}
        meters = {arm: made for arm, one in by_arm.items() if (made := self._meter(one))}
        self._meters = {made.folder.path: made for made in meters.values()}
        if not meters:
            return None
        first = self._meters.get(shown.path) or next(iter(meters.values()))
        return Rates(
            step=f"{shown.workload} {shown.name}",
            unit=first.measure.unit,
            warmup_s=first.warmup_s,
            whole_s=first.whole_s,
            lines=tuple(
                RateLine(
                    arm=arm,
                    block=meters[arm].folder.block,
                    points=meter.thinned(meters[arm].points),
                    now=meters[arm].folder.block == shown.block,
                )
                for arm in result.arms
                if arm in meters
            ),
        )

    def _meter(self, folder: StepFolder) -> Meter | None:
        try:
            made = self._meters.get(folder.path) or Meter(folder)
            made.look()
        except (ResultError, KeyError, TypeError, ValueError):
            return None  # it is being written, or is damaged: a report names it
        return made


def _before(blocks: list[BlockFolder]) -> BlockFolder | None:
    """The block before the last."""
    return blocks[-2] if len(blocks) > 1 else None


def _folders(block: BlockFolder | None) -> list[StepFolder]:
    return [step for run in block.runs() for step in run.steps()] if block else []


def _name(folder: StepFolder) -> Name:
    return folder.workload, folder.ordinal, folder.name


def _steps(
    result: ListedResult, its: list[StepFolder], blocks: list[BlockFolder]
) -> tuple[WatchedStep, ...]:
    """The steps of the last block: those it has, and those that the block before had."""
    chosen = blocks[-1].steps() if blocks else None
    there = {(_name(one), one.arm): one for one in its}
    names = {_name(one) for one in its}
    for one in _folders(_before(blocks)):
        if chosen is None or one.name in chosen.get(one.workload, ()):
            names.add(_name(one))
    return tuple(
        WatchedStep(
            workload=name[0],
            ordinal=name[1],
            name=name[2],
            arms=tuple(_arm_step(there.get((name, arm)), result.state) for arm in result.arms),
        )
        for name in sorted(names)
    )


def _arm_step(folder: StepFolder | None, state: State) -> ArmStep:
    if folder is None:
        return ArmStep(status="waits")
    if not folder.is_over():
        return ArmStep(status="runs" if state == "running" else "stopped")
    try:
        failure = folder.failed()
        if failure is not None:
            status: StepStatus = "skipped" if failure.status == "skipped" else "failed"
            return ArmStep(status=status, text=failure.reason or "")
        text = meter.ended(folder)
    except (ResultError, KeyError, TypeError, ValueError) as error:
        return ArmStep(status="failed", text=f"its files cannot be read: {error}")
    return ArmStep(status="done", text=text)
