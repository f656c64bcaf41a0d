"""Profiles of steps that cannot go on: each arm goes through them once more, unjudged.

After a block's judged runs, a run like the judged one: from the same golden copy, else from an
empty server, through the steps up to the last one that is wanted. So no judged step finds a state
that a profile has left.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dbdyno import store
from dbdyno.engine.golden_copy import Copy
from dbdyno.host import perf, quiesce
from dbdyno.model import Json, Plan, Step, WorkloadUse
from dbdyno.model.error import DynoError, ServerError
from dbdyno.model.golden import GoldenUse
from dbdyno.run import profile, starting_state
from dbdyno.run import step as steps
from dbdyno.run.arm import Run, copy_leg
from dbdyno.run.driver.interface import Bench
from dbdyno.run.measurement import StepFailed
from dbdyno.run.prepared import Prepared
from dbdyno.run.progress import RUN_OVERHEAD_S, Leg, rest_leg
from dbdyno.run.recorder import Sampling
from dbdyno.run.starting_state import Point
from dbdyno.store.profile import made, write

SAMPLED_S = 60.0
"""A longer window is sampled as much more seldom as it is longer: as many samples say as much."""
NS_PER_S = 1e9
LASTS_MAX = 2.0
"""A window that lasts so many times as long as the judged one, and ENDING_S, has no profile."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Steps that follow each other in an extra run, and what it begins from."""

    copy: Point | None  # the golden copy of this point; None: an empty server
    steps: tuple[Step, ...]  # up to the last wanted one
    wanted: tuple[Step, ...]


def parts(plan: Plan, judged: Sequence[Step], at: Point | None) -> list[Part]:
    """The parts of the extra run after `judged` steps; none where none of them is to be repeated.

    `at`: where the data are kept: what follows begins from there.
    """
    if at is None or all(step.ordinal > at.step.ordinal for step in judged):
        return list(_part(plan, judged, at))
    return [*_part(plan, at.before(judged), None), *_part(plan, at.after(judged), at)]


def _part(plan: Plan, its: Sequence[Step], at: Point | None) -> Iterator[Part]:
    places = [
        place
        for place, step in enumerate(its)
        if profile.wanted(plan, step) and not profile.goes_on(step)
    ]
    if places:
        chosen = tuple(replace(step, p99_below_us=None) for step in its[: places[-1] + 1])
        yield Part(copy=at, steps=chosen, wanted=tuple(chosen[place] for place in places))


def legs(
    plan: Plan, prepared: Prepared, use: WorkloadUse, judged: Sequence[Step], at: Point | None
) -> Iterator[Leg]:
    """The legs of an arm's extra run after `judged` steps; `at`: where its data are kept."""
    for part in parts(plan, judged, at):
        if plan.schedule.rest_s:
            yield rest_leg(plan.schedule.rest_s)
        if part.copy is not None:
            yield copy_leg(part.copy, prepared)
        yield Leg(use.title, "", RUN_OVERHEAD_S)
        for step in part.steps:
            yield profile.leg(use.title, passed(plan, part, step))


def passed(plan: Plan, part: Part, step: Step) -> Step:
    """A step of an extra run: whole, but short where it only leads on and leaves what it found."""
    wish = plan.observe.profile
    assert wish is not None
    return profile.window(step, wish) if step not in part.wanted and profile.goes_on(step) else step


def go(run: Run) -> None:
    """Repeats what is wanted of a judged run that is over and ended well; fails nothing."""
    for part in parts(run.lab.plan, run.judged, run.point) if not run.failed else ():
        Again(lab=run.lab, block=run.block, arm=run.arm, use=run.use, part=part).go()


@dataclass(kw_only=True)
class Again(Run):
    """One arm going through a part of a workload once more, unjudged."""

    part: Part
    left: list[Step] = field(init=False)  # that are wanted and not profiled yet

    def go(self) -> None:
        """Goes through the steps; if that fails, the profiles that are missing say why."""
        self.left = list(self.part.wanted)
        try:
            found = perf.find()
            with self, tempfile.TemporaryDirectory(prefix="dyno-extra-") as scratch:
                self.set_up(self.copy(), self.part.steps)
                if self.broken is not None:
                    raise StepFailed(self.broken)
                for step in self.part.steps:
                    self.repeat(step, found, Path(scratch))
                self.end()
        except (DynoError, StepFailed) as error:
            for step in self.left:
                write(made(self.judged_folder(step)), {"failure": str(error)}, {})
            self.lab.watch.say(f"{self.title('extra run')}: not profiled: {error}")

    def repeat(self, step: Step, found: perf.Perf, scratch: Path) -> None:
        """Does a step, sampled if it is wanted. Raises StepFailed, LabDied as a step does."""
        wanted = bool(self.left) and step.ordinal == self.left[0].ordinal
        step = passed(self.lab.plan, self.part, step)
        leg = profile.leg(self.use.title, step)
        self.lab.watch.begin(self.title(leg.step), leg)
        try:
            said = self.sampled(step, found) if wanted else self.passed(step, scratch)
        except (DynoError, StepFailed):
            self.lab.watch.end("failed", alarm=True)
            raise
        self.lab.watch.end(said)

    def sampled(self, step: Step, found: perf.Perf) -> str:
        """Profiles a wanted step; what came out in words."""
        folder, bench = self.place(step)
        how = self.sampling(step, found)
        said = profile.said(profile.sampled(step, bench, folder, how, self.lab.watch.rate))
        del self.left[0]
        self.ended(step, store.read_json(folder / "done.json"))
        return said

    def passed(self, step: Step, scratch: Path) -> str:
        """Does a step that only leads on to wanted ones: nothing of it is kept."""
        folder = scratch / str(step.ordinal)
        folder.mkdir()
        return self.ended(
            step, steps.measure(step, self.seeded(step), folder, self.lab.watch.rate)
        )[1]

    def sampling(self, step: Step, found: perf.Perf) -> Sampling:
        """How often a step is sampled, by how long its judged window was."""
        wish = self.lab.plan.observe.profile
        assert wish is not None
        judged_s = store.read_json(self.judged_folder(step) / "done.json")["window_ns"] / NS_PER_S
        warmup_s = step.job["stop"].get("warmup_s") or 0.0
        share = min(1.0, max(SAMPLED_S, wish.seconds) / max(judged_s, 1.0))
        return Sampling(
            perf=found,
            hertz=max(1, round(wish.hertz * share)),
            seconds_max=warmup_s + LASTS_MAX * judged_s + profile.ENDING_S,
        )

    def judged_folder(self, step: Step) -> Path:
        """The folder of the judged step."""
        return self.lab.results.step_folder(self.block.number, self.arm.name, step)

    # --- As any run, but ---

    @property
    def home(self) -> Path:
        """Files of this run, with its server's log, lie beside the judged server's log."""
        return self.lab.results.extra_run_folder(self.block.number, self.arm.name)

    @property
    def of_block(self) -> str:
        """The block, in the words of judged runs."""
        return f"{super().of_block} again"

    def place(self, step: Step) -> tuple[Path, Bench]:
        """The folder of a step's profile, and the bench that measures it."""
        return made(self.judged_folder(step)), self.seeded(step)

    def copy(self) -> Copy | None:
        """The copy that this part begins from, whoever made it. Raises ServerError."""
        if self.part.copy is None:
            return None
        found = starting_state.find(self.lab.plan, self.part.copy)
        if found is None:
            raise ServerError(f"the golden copy {self.part.copy.key} is gone")
        return found

    def note(self, at: Point, use: GoldenUse) -> None:
        """The judged run has said it already."""

    def come_to_rest(self, ahead: Sequence[Step]) -> Json | None:
        """Nobody else is up, whatever the plan says of judged runs."""
        if not self.server.can("clock"):
            return None
        return quiesce.quiet([self.lab.prepared.data_path])
