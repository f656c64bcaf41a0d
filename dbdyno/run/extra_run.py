"""Profiles of steps that cannot go on: each arm goes through them once more, unjudged.

After a block's judged runs, a run like the judged one: from the same golden copy, else from an
empty server, through the steps up to the last one that is wanted. So no judged step finds a state
that a profile has left.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dbdyno import store
from dbdyno.engine.golden_copy import Copy
from dbdyno.host import perf
from dbdyno.model import Plan, Step, WorkloadUse
from dbdyno.model.error import DynoError, ServerError
from dbdyno.model.profile import NoProfile
from dbdyno.model.step_files import StepDone
from dbdyno.run import profile, starting_state
from dbdyno.run import step as steps
from dbdyno.run.arm import Run, copy_leg
from dbdyno.run.measurement import StepFailed
from dbdyno.run.progress import RUN_OVERHEAD_S, Leg, rest_leg
from dbdyno.run.ready_plan import ReadyPlan
from dbdyno.run.recorder import ProcessSampling
from dbdyno.run.starting_state import StartingPoint
from dbdyno.store.profile import made, write

SAMPLED_S = 60.0
"""A longer window is sampled as much more seldom as it is longer: as many samples say as much."""
NS_PER_S = 1e9
LASTS_MAX = 2.0
"""A window that lasts so many times as long as the judged one, and ENDING_S, has no profile."""


@dataclass(frozen=True, kw_only=True)
class ExtraPart:
    """Steps that follow each other in an extra run, and what it begins from."""

    copy: StartingPoint | None  # the golden copy of this point; None: an empty server
    steps: tuple[Step, ...]  # up to the last wanted one
    wanted: tuple[Step, ...]


def parts(plan: Plan, judged: Sequence[Step], at: StartingPoint | None) -> list[ExtraPart]:
    """The parts of the extra run after `judged` steps; none where none of them is to be repeated.

    `at`: where the data are kept: what follows begins from there.
    """
    if at is None or all(step.ordinal > at.step.ordinal for step in judged):
        return list(_part(plan, judged, at))
    return [*_part(plan, at.before(judged), None), *_part(plan, at.after(judged), at)]


def _part(plan: Plan, judged: Sequence[Step], at: StartingPoint | None) -> Iterator[ExtraPart]:
    places = [
        place
        for place, step in enumerate(judged)
        if profile.wanted(plan, step) and not profile.goes_on(step)
    ]
    if places:
        chosen = tuple(replace(step, p99_below_us=None) for step in judged[: places[-1] + 1])
        yield ExtraPart(copy=at, steps=chosen, wanted=tuple(chosen[place] for place in places))


def legs(
    plan: Plan,
    prepared: ReadyPlan,
    use: WorkloadUse,
    judged: Sequence[Step],
    at: StartingPoint | None,
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


def passed(plan: Plan, part: ExtraPart, step: Step) -> Step:
    """A step of an extra run: whole, but short where it only leads on and leaves what it found."""
    wish = plan.observe.profile
    assert wish is not None
    return profile.window(step, wish) if step not in part.wanted and profile.goes_on(step) else step


def go(judged: Run) -> None:
    """Repeats what is wanted of a judged run that is over and ended well; fails nothing."""
    for part in parts(judged.lab.plan, judged.judged, judged.point) if not judged.failed else ():
        run = Run(lab=judged.lab, block=judged.block, arm=judged.arm, use=judged.use, extra=True)
        ExtraRun(run, part).go()


class ExtraRun:
    """One arm going through a part of a workload once more, unjudged."""

    def __init__(self, run: Run, part: ExtraPart) -> None:
        self.run, self.part = run, part
        self.plan, self.watch = run.lab.plan, run.lab.watch
        self.left = list(part.wanted)  # that are not profiled yet

    def go(self) -> None:
        """Goes through the steps; if that fails, the profiles that are missing say why."""
        run = self.run
        try:
            program = perf.find()
            with run, tempfile.TemporaryDirectory(prefix="dyno-extra-") as scratch:
                run.set_up(self.copy(), self.part.steps)
                if run.broken is not None:
                    raise StepFailed(run.broken)
                for step in self.part.steps:
                    self.repeat(step, program, Path(scratch))
                run.end()
        except (DynoError, StepFailed) as error:
            for step in self.left:
                write(made(self.judged_folder(step)), NoProfile(str(error)), {})
            self.watch.say(f"{run.title('extra run')}: not profiled: {error}")

    def copy(self) -> Copy | None:
        """The copy that this part begins from, whoever made it. Raises ServerError."""
        if self.part.copy is None:
            return None
        copy = starting_state.find(self.plan, self.part.copy)
        if copy is None:
            raise ServerError(f"the golden copy {self.part.copy.key} is gone")
        return copy

    def repeat(self, step: Step, program: perf.Perf, scratch: Path) -> None:
        """Does a step, sampled if it is wanted. Raises StepFailed, LabDied as a step does."""
        wanted = bool(self.left) and step.ordinal == self.left[0].ordinal
        step = passed(self.plan, self.part, step)
        leg = profile.leg(self.run.use.title, step)
        self.watch.begin(self.run.title(leg.step), leg)
        try:
            outcome = self.sampled(step, program) if wanted else self.passed(step, scratch)
        except (DynoError, StepFailed):
            self.watch.end("failed", alarm=True)
            raise
        self.watch.end(outcome)

    def sampled(self, step: Step, program: perf.Perf) -> str:
        """Profiles a wanted step; what came out in words."""
        folder, bench = made(self.judged_folder(step)), self.run.seeded(step)
        how = self.sampling(step, program)
        outcome = profile.said(profile.sampled(step, bench, folder, how, self.watch.rate))
        del self.left[0]
        self.run.ended(step, store.read_struct(folder / "done.json", StepDone))
        return outcome

    def passed(self, step: Step, scratch: Path) -> str:
        """Does a step that only leads on to wanted ones: nothing of it is kept."""
        folder = scratch / str(step.ordinal)
        folder.mkdir()
        done = steps.measure(step, self.run.seeded(step), folder, self.watch.rate)
        return self.run.ended(step, done)[1]

    def sampling(self, step: Step, program: perf.Perf) -> ProcessSampling:
        """How often a step is sampled, by how long its judged window was."""
        wish = self.plan.observe.profile
        assert wish is not None
        judged = store.read_struct(self.judged_folder(step) / "done.json", StepDone)
        judged_s = judged.window_ns / NS_PER_S
        warmup_s = step.job.stop.warmup_s
        share = min(1.0, max(SAMPLED_S, wish.seconds) / max(judged_s, 1.0))
        return ProcessSampling(
            perf=program,
            hertz=max(1, round(wish.hertz * share)),
            seconds_max=warmup_s + LASTS_MAX * judged_s + profile.ENDING_S,
        )

    def judged_folder(self, step: Step) -> Path:
        """The folder of the judged step."""
        return self.run.lab.results.step_folder(self.run.block.number, self.run.arm.name, step)
