"""The plan of a test in a search of a commit: the good one beside another, for some blocks.

Its sizes follow from the question alone, so that all tests of a search are of one kind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno import workload
from dbdyno.engine import preset
from dbdyno.model import Step, WorkloadUse
from dbdyno.model.bisection import Question, StepWork
from dbdyno.model.error import PlanError
from dbdyno.model.version import NUMBER, Version
from dbdyno.plan import counted_step
from dbdyno.plan.race.arm import RaceArm, config_of, is_for, series
from dbdyno.plan.race.course import DEFAULT, expanded
from dbdyno.plan.race.text import Race, text_of, value_of

GOOD = "good"
"""The arm of the good commit, the base."""
TESTS_TIME = 18
"""So many tests of the length that steps are sized for have the time of a search."""
MINUTES_MIN, MINUTES_MAX = 1.0, 10.0
"""Of one test: shorter ones say little, longer ones no more than further blocks do."""


COUNTS = "instructions"
"""What is compared where work is counted, and no time is measured."""
SHOWN_MAX = 6
"""So many steps are listed."""
NO_FILE = Path("bisect.toml")
"""In place of a plan's file; a workload's path is absolute here."""


def minutes_of_test(minutes: float, by: str) -> float:
    """The minutes that a test is sized for, of a search of so many; counts need no large tables."""
    if by == COUNTS:
        return MINUTES_MIN
    return min(MINUTES_MAX, max(MINUTES_MIN, minutes / TESTS_TIME))


def arm_of(question: Question, index: int) -> str:
    """The arm of a commit: `good`, else its index and digits."""
    return GOOD if index == 0 else f"{index}-{question.commits[index].short}"


@dataclass(frozen=True, kw_only=True)
class BisectBuild:
    """A build that is tested, or will be."""

    build: str  # its name
    version: str  # as its source says it: 18.6, 19devel


def text(
    question: Question,
    sides: Sequence[BisectBuild],
    *,
    commits: tuple[int, int],
    blocks: int,
    at: Path,
) -> str:
    """The plan of a test as TOML. `commits`: the base, which is the good one, and the tested one.

    `sides`: of both. `at`: the file that it is for. Raises PlanError, WorkloadError.
    """
    race = Race(
        command=question.command,
        arms=tuple(
            arm(question, number, side) for number, side in zip(commits, sides, strict=True)
        ),
        minutes=question.minutes,
        workload=question.workload,
        steps=(question.step,),
        blocks=blocks,
        processor=question.processor,
    )
    return text_of(race, at, question.host)


def count_text(
    question: Question, side: BisectBuild, *, index: int, good: Mapping[str, StepWork], at: Path
) -> str:
    """The plan that counts a commit's work once, as TOML. `at`: the file that it is for.

    `good`: each step's work by the good commit, whose operations are counted; none where that is
    this one.
    Raises PlanError, WorkloadError.
    """
    race = Race(
        command=question.command,
        arms=(arm(question, index, side),),
        minutes=question.minutes,
        workload=question.workload,
        steps=question.steps,
        blocks=1,
        count=True,
    )
    lines = [text_of(race, at, question.host), "repeats = 1  # a second one is a plan of its own\n"]
    if good:
        operations = {step: work.operations for step, work in good.items()}
        warmup = {step: work.warmup for step, work in good.items()}
        lines.append(f"operations = {value_of(operations)}  # as many as of the good commit\n")
        lines.append(f"warmup = {value_of(warmup)}\n")
    return "".join(lines)


def arm(question: Question, index: int, side: BisectBuild) -> RaceArm:
    """The arm of a commit."""
    return RaceArm(
        name=arm_of(question, index),
        engine=question.engine,
        origin={"build": side.build},
        config=config_for(question, side),
    )


def config_for(question: Question, side: BisectBuild) -> str | None:
    """The configuration of a side; None: the server's defaults.

    Raises PlanError where none of those that are asked for is published for its version.
    """
    release, its = of(question, side), question.engine
    config = config_of(question.config, its, release, "--config")
    if config is None or "/" in config:
        return config
    if not is_for(preset.parse(config, its).preset, release):
        asked = ",".join(question.config)
        raise PlanError(
            f"--config {asked}: none is for version {side.version} of a commit: name one that is "
            "(`dyno config list`), beside the others"
        )
    return config


def of(question: Question, side: BisectBuild) -> Version:
    """The series that a side is of."""
    number = NUMBER.match(side.version)
    assert number is not None, "a source that says no number is refused"
    return series(question.engine, number[0])


def step_of(name: str, steps: Sequence[str], engine: str) -> tuple[str, Step]:
    """The workload and the one measured step of it by which commits are told apart.

    A step of the usual workload may stand for both. Raises PlanError, WorkloadError.
    """
    if not steps and name not in workload.names():
        usual = measured(DEFAULT, (), engine)
        if name in usual:
            return DEFAULT, usual[name]
    known = measured(name, steps, engine)
    if len(known) != 1:
        listed = ", ".join(f"`{step}`" for step in [*known][:SHOWN_MAX])
        more = f" and {len(known) - SHOWN_MAX} more" if len(known) > SHOWN_MAX else ""
        raise PlanError(
            f"--steps: name the one step that got slower: `{name}` measures "
            f"{listed or 'none'}{more}"
        )
    return name, next(iter(known.values()))


def counted(name: str, steps: Sequence[str], engine: str) -> tuple[str, tuple[Step, ...]]:
    """The workload and the measured steps of it whose work is counted.

    A step of the usual workload may stand for both. Raises PlanError, WorkloadError.
    """
    if not steps and name not in workload.names():
        usual = measured(DEFAULT, (), engine)
        if name in usual:
            name, steps = DEFAULT, (name,)
    known = measured(name, steps, engine)
    reasons = {step: counted_step.uncountable(of) for step, of in known.items()}
    refused = next((step for step in steps if reasons.get(step)), None)
    if refused is not None:
        raise PlanError(f"--steps: `{refused}` {reasons[refused]}: its work cannot be counted")
    able = tuple(step for step in known.values() if reasons[step.name] is None)
    if not able:
        raise PlanError(f"--workload {name}: has no step whose work can be counted")
    return name, able


def shares_processor(step: Step, by: str) -> bool:
    """Whether one client and the server are to share a processor in the tests of a step.

    So it is where the server's CPU or undisturbed time is compared, and nothing of the server
    writes meanwhile.
    """
    return by in ("cpu", "undisturbed") and not step.writes


def measured(name: str, steps: Sequence[str], engine: str) -> dict[str, Step]:
    """The measured steps of a workload by name, without those that only bring its tables."""
    use = WorkloadUse(name=name, steps=tuple(steps) or None)
    its = expanded(use, engine, NO_FILE)
    brought = workload.brought(use, its)
    return {
        step.name: step
        for step in its
        if step.measured and step.headline is not None and step.name not in brought
    }
