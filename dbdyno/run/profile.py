"""Profiles of steps: what a server's processes do in an unjudged repetition of what was measured.

A timed step that only reads goes on for a further window on the same server. Whatever else is
wanted is repeated in an extra run (`extra_run`). A profile that fails fails nothing else.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from dbdyno.host import perf
from dbdyno.model import Plan, ProfileRequest, Step, WorkloadUse
from dbdyno.model.error import DynoError
from dbdyno.model.profile import NoProfile, ProfileFile
from dbdyno.run import step as steps
from dbdyno.run.driver.interface import Bench
from dbdyno.run.measurement import StepFailed
from dbdyno.run.progress import Leg, Pulse
from dbdyno.run.recorder import ProcessSampling, Recorder
from dbdyno.store import profile

SETTLING_S = 1.0
"""Between the further window's first operation and its begin: connections are new."""
ENDING_S = 60.0
"""A recording ends by itself, so long after it should have."""
LEG = " profile"
"""How the names of legs end on which a step is profiled."""


def wanted(plan: Plan, step: Step) -> bool:
    """Whether a step of the plan is profiled."""
    wish = plan.observe.profile
    return wish is not None and step.measured and wish.wants(step.name)


def goes_on(step: Step) -> bool:
    """Whether a step can go on for a further window: it is timed, and leaves what it found."""
    return not step.writes and bool(step.job.stop.seconds)


def window(step: Step, wish: ProfileRequest) -> Step:
    """The further window of a step that goes on, with nothing around it."""
    return replace(step.alone(wish.seconds, SETTLING_S), setup=())


def leg(workload: str, step: Step) -> Leg:
    """The part of the way on which a step is profiled."""
    return Leg(workload, step.name + LEG, step.expected_s)


def legs(plan: Plan, use: WorkloadUse, step: Step) -> list[Leg]:
    """The leg of an arm's further window after a step; none where it has none."""
    wish = plan.observe.profile
    if wish is None or not wanted(plan, step) or not goes_on(step):
        return []
    return [leg(use.title, window(step, wish))]


def further(
    step: Step, wish: ProfileRequest, bench: Bench, folder: Path, show: Callable[[Pulse], None]
) -> str:
    """Profiles a further window of a step that has ended well; what came out in words.

    `folder`: of the step.
    """
    bench = replace(bench, warm=None, checkpoint=False, hooks=None, turns=None)
    place = profile.made(folder)
    try:
        how = ProcessSampling(
            perf=perf.find(), hertz=wish.hertz, seconds_max=wish.seconds + ENDING_S
        )
        done = sampled(window(step, wish), bench, place, how, show)
    except (DynoError, StepFailed) as error:
        profile.write(place, NoProfile(str(error)), {})
        return f"not profiled: {error}"
    return said(done)


def sampled(
    step: Step, bench: Bench, folder: Path, how: ProcessSampling, show: Callable[[Pulse], None]
) -> ProfileFile | NoProfile:
    """Measures a step while its server is sampled; profile.json as it is in `folder` then.

    Raises StepFailed, LabDied as a step does.
    """
    with Recorder(bench.server, how) as recorder:
        steps.measure(step, bench, folder, show, recorder.load)
        outcome = recorder.outcome()
    profile.write(folder, outcome, recorder.stacks)
    return outcome


def said(outcome: ProfileFile | NoProfile) -> str:
    """What was sampled, for the person who watches."""
    if isinstance(outcome, NoProfile):
        return f"not profiled: {outcome.failure}"
    return f"{outcome.samples:,} samples"
