"""The course of a gate: both sides are built, their work is counted, then they race in time."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dbdyno.cli.exit_status import say
from dbdyno.model.error import PlanError, ServerError
from dbdyno.model.gate import RECORD, UNRACED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbdyno.analysis.gate import GateMeasurements
    from dbdyno.cli.race import RaceOptions
    from dbdyno.cli.source_arm import CommitBuilds, SourceBuilds
    from dbdyno.model import Comparison
    from dbdyno.model.gate import Gate, GateSide
    from dbdyno.plan.gate import GateForm
    from dbdyno.plan.race import Race

RACE_SHARE = 2 / 3
"""Of the minutes after the counts, for the race; the rest confirms a loss with another layout."""
RACE_MINUTES_MIN = 1.0
REPEATS = 4
"""Of the counts of each side: of a head with two modes that are as likely, both show in 7 of 8."""


@dataclass(frozen=True, kw_only=True)
class GateBuild:
    """A build as it was asked for, understood."""

    option: str  # BASE or HEAD
    written: str
    name: str  # of its arm; "": as the race calls it
    settings: str = ""  # of this side alone, as `;jit=off`
    checkout: Path | None = None  # whose commit it is; None: an arm of a race
    commit: str | None = None
    changed: int = 0  # files of a tree
    version: str | None = None  # of a tree

    @property
    def where(self) -> str:
        """How the command names it."""
        return f"{self.option} {self.written}"

    def of_commit(self, checkout: Path, commit: str, called: str | None = None) -> GateBuild:
        """The side as a commit of a checkout."""
        from dbdyno.plan.race.arm import named

        return replace(self, name=named(called or self.written), checkout=checkout, commit=commit)

    def record(self) -> GateSide:
        """The side as gate.json has it."""
        from dbdyno.model.gate import GateSide

        return GateSide(
            written=self.written, arm=self.name, commit=self.commit, changed=self.changed
        )


@dataclass(frozen=True, kw_only=True)
class GateRequest:
    """A gate that is asked for."""

    wish: GateForm
    builds: CommitBuilds
    sides: tuple[GateBuild, GateBuild]
    command: str
    out: Path
    wait: bool
    quiet: bool
    folders: list[str] = field(default_factory=list)
    spent: list[float] = field(default_factory=list)

    def answer(self) -> Gate:
        """Builds, counts, races, and keeps the answer in gate.json. Raises DynoError."""
        from dbdyno import __version__
        from dbdyno.analysis import gate as analysis
        from dbdyno.model.gate import Gate
        from dbdyno.model.tolerance import worst
        from dbdyno.report import gate as report
        from dbdyno.report import write

        begun_s = time.monotonic()
        course = self.course(self.builds)
        self.refuse(course)
        course.sources.make()
        racing, folder = course.racing, course.folder
        measured = self.measured(course)
        tolerated = self.wish.tolerances
        steps = analysis.steps(measured, tolerated)
        base, head = (
            replace(side, name=arm.name) for side, arm in zip(self.sides, racing.arms, strict=True)
        )
        gate = Gate(
            dyno=__version__,
            command=self.command,
            answer=worst(step.answer for step in steps),
            base=base.record(),
            head=head.record(),
            work=tolerated.work,
            time=tolerated.time,
            system_calls=tolerated.system_calls,
            atomics=tolerated.atomics,
            steps=steps,
            seconds=round(time.monotonic() - begun_s, 1),
            results=tuple(self.folders),
        )
        write.publish({folder / RECORD: report.document(gate).encode()})
        return gate

    def measured(self, course: GateCourse) -> GateMeasurements:
        """The counts, the race that they leave open, and that of the sides laid out anew.

        No other lab measures on this host meanwhile.
        """
        from dbdyno.analysis import gate as analysis
        from dbdyno.host.lock import HostLock

        with HostLock(
            plan=course.folder.name, wait=self.wait, minutes=self.wish.minutes, quiet=self.quiet
        ):
            so_far = self.counted(course.counting, course.counting.arms[1].name)
            steps = analysis.steps(so_far, self.wish.tolerances)
            if self.wish.time is None or so_far.unfilled is not None:
                return so_far
            if any(step.work is not None and step.work.answer == "no" for step in steps):
                return replace(so_far, unraced=UNRACED)
            so_far = replace(so_far, raced=self.ran(course.racing, course.folder))
            return self.confirmed(so_far, course.folder)

    def counted(self, counting: Race, head: str) -> GateMeasurements:
        """The counts; where data to count with could not be filled, which arm's. Raises DynoError.

        An arm that crashes as its data are filled has failed, and the other one has not.
        """
        from dbdyno.analysis import gate as analysis

        try:
            return analysis.GateMeasurements(head=head, counted=self.ran(counting, self.out))
        except ServerError:
            unfilled = analysis.unfilled(Path(self.folders[-1])) if self.folders else None
            if unfilled is None:
                raise
            return analysis.GateMeasurements(head=head, counted=None, unfilled=unfilled)

    def confirmed(self, measured: GateMeasurements, folder: Path) -> GateMeasurements:
        """The same with a race of both sides built with another layout, where time was lost."""
        from dbdyno.analysis import gate as analysis
        from dbdyno.cli.source_arm import SourceBuilds

        steps = analysis.lost(measured)
        if not steps:
            return measured
        if any(side.commit is None for side in self.sides):
            return replace(measured, unrelaid="only commits of a checkout are built with another")
        minutes = self.wish.minutes - math.fsum(self.spent) / 60
        if minutes < RACE_MINUTES_MIN:
            return replace(measured, unrelaid="the minutes are over: give more --minutes")
        if not self.quiet:
            say(f"slower: {', '.join(steps)}; building both again with another layout")
        sources = SourceBuilds()
        arms = self.arms(replace(self.builds, relaid=1), sources)
        racing = self.race(self.asked(arms, minutes=math.floor(minutes), steps=steps), sources)
        sources.make()
        try:
            return replace(measured, relaid=self.ran(racing, folder / "layout"))
        except PlanError as error:
            return replace(measured, unrelaid=f"not raced with another: {error}")

    # --- Builds, plans, races

    def course(self, builds: CommitBuilds) -> GateCourse:
        """What is to be built, counted and raced. Raises DynoError."""
        from dbdyno.cli.source_arm import SourceBuilds

        sources = SourceBuilds(builds.texts)
        arms = self.arms(builds, sources)
        counting = self.race(self.asked(arms, count=True), sources)
        minutes = self.race_minutes(counting)
        racing = self.race(self.asked(arms, minutes=minutes), sources)
        return GateCourse(
            sources=sources, counting=counting, racing=racing, folder=self.folder(racing)
        )

    def arms(self, builds: CommitBuilds, sources: SourceBuilds) -> list[str]:
        """The sides as arms of a race; `sources` takes what is to be built. Raises DynoError."""
        arms = []
        for side in self.sides:
            if side.commit is None or side.checkout is None:
                arms.append(side.written)
                continue
            build = builds.of(side.checkout, side.commit, side.where, version=side.version)
            sources.add(build)
            arms.append(f"{build.name}{side.settings}")
        return arms

    def asked(
        self,
        arms: list[str],
        *,
        count: bool = False,
        minutes: float | None = None,
        steps: tuple[str, ...] = (),
    ) -> RaceOptions:
        """The words of a race of two arms."""
        from dbdyno.cli import race

        tolerate = None if count or self.wish.time is None else f"{100 * self.wish.time:g}%"
        return race.RaceOptions(
            arms=arms, workload=self.wish.workload, steps=list(steps or self.wish.steps or ()),
            config=list(self.wish.config), settings=[], pgbench=[], count=count,
            minutes=race.MINUTES if minutes is None else max(minutes, RACE_MINUTES_MIN),
            tolerate=tolerate,
        )  # fmt: skip

    def race(self, asked: RaceOptions, sources: SourceBuilds) -> Race:
        """The race, its arms with the names of the sides."""
        from dbdyno.cli import race

        wanted = race.race_of(asked, race.look_around(sources))
        arms = tuple(
            replace(arm, name=side.name or arm.name)
            for arm, side in zip(wanted.arms, self.sides, strict=True)
        )
        if not asked.count:
            return replace(wanted, arms=arms, counted=True)
        return replace(wanted, arms=arms, repeats=REPEATS, operations=self.wish.operations)

    def race_minutes(self, counting: Race) -> float:
        """The minutes of the race, so that the counts and a second layout have theirs."""
        from dbdyno import engine
        from dbdyno.plan import count
        from dbdyno.plan.race.course import steps_of

        start_s = engine.of(counting.arms[0].engine).counting.start_s
        steps = len(counting.steps or steps_of(counting.workload or "sysbench", counting.minutes))
        guess_s = count.pass_s(max(1, steps), len(counting.arms), REPEATS, start_s)
        return round(RACE_SHARE * (self.wish.minutes - guess_s / 60), 1)

    def folder(self, racing: Race) -> Path:
        """The gate's folder: that of an interrupted gate of these two, else a new one."""
        from dbdyno.plan.race.text import name_of

        name = name_of(racing.arms).replace("race-", "gate-", 1)
        number = 1
        while (self.out / numbered(name, number) / RECORD).exists():
            number += 1
        return self.out / numbered(name, number)

    def refuse(self, course: GateCourse) -> None:
        """Raises DynoError for all that no build is needed to know."""
        from dbdyno.host.callgrind import program

        program.find(otherwise="race, which takes time alone")
        self.refuse_below_scatter(course)
        self.refuse_short(course)

    def refuse_short(self, course: GateCourse) -> None:
        """Raises PlanError where no look fits into the race's part of the minutes."""
        from dbdyno import plan as plans
        from dbdyno.cli import measuring, race
        from dbdyno.run.check import block_time, preflight
        from dbdyno.run.progress import duration

        if self.wish.time is None:
            return
        racing = course.racing
        path = course.folder / f"{race.name_of(racing)}.toml"
        plan = plans.parse(race.text_of(racing, path), path)
        foreseen = course.sources.foreseen(plan)
        plan = measuring.with_lengths(plan, course.folder / path.stem, foreseen)
        prepared = preflight.prepare(plan, foreseen=foreseen)
        look_s = block_time.first_look_s(plan, prepared) or 0.0
        spare = self.wish.minutes - racing.minutes / RACE_SHARE  # for the counts
        needed = spare + (look_s / 60 + block_time.AROUND_MINUTES) / RACE_SHARE
        if needed > self.wish.minutes:
            raise PlanError(
                f"minutes: a first look in time takes about {duration(look_s)}, beside counts and "
                f"a second layout: give at least {math.ceil(needed)}, name fewer steps, or ask of "
                "work alone (--time off)"
            )

    def refuse_below_scatter(self, course: GateCourse) -> None:
        """Raises PlanError where counts cannot exclude what is not tolerated, whatever they say."""
        from dbdyno.cli import measuring, race

        path = self.out / f"{race.name_of(course.counting)}.toml"
        plan = race.checked(race.text_of(course.counting, path), path, self.out, course.sources)
        remedies = {
            event: f'ask of none: {event.replace(" ", "_")} = "off"'
            for event in self.wish.tolerances.events
        }
        measuring.refuse_few(plan, remedies, course.sources.foreseen(plan))
        least = measuring.counts_differ_by(plan)
        if self.wish.work < least:
            raise PlanError(
                f"work: counts of one build differ by up to {100 * least:.2g} % on this host (dyno "
                f"calibrate --count): tolerate more than {100 * self.wish.work:.2g} %"
            )

    def ran(self, wanted: Race, out: Path) -> Comparison:
        """What a race shows, once it was run, or what was missing of it. Raises DynoError.

        The host is locked already.
        """
        from dbdyno.analysis import compare
        from dbdyno.cli import measuring, race
        from dbdyno.run.runner import LocalRunner

        begun_s = time.monotonic()
        plan = race.planned(wanted, out, quiet=self.quiet, again=True)
        runner = LocalRunner(held=True)
        self.folders.append(str(out / plan.name))
        try:
            outcome = measuring.measure(plan, out, self.wait, quiet=self.quiet, runner=runner)
        finally:
            self.spent.append(time.monotonic() - begun_s)
        return compare.load(outcome.folder)

    def outlook(self) -> Iterator[str]:
        """What would be built, counted and raced, and how long, once all is checked.

        Raises DynoError.
        """
        from dbdyno.run.progress import duration

        course = self.course(self.builds)
        self.refuse(course)
        for side in self.sides:
            if side.commit is None:
                yield f"{side.where}: a server that is here, or fetched"
        yield from course.sources.lines()
        steps, minutes = ", ".join(self.wish.steps or course.counting.steps), self.wish.minutes
        counts_s = 60 * (minutes - course.racing.minutes / RACE_SHARE)
        yield f"count: {steps}; each side {REPEATS} times, about {duration(counts_s)}"
        if self.wish.time is not None:
            yield f"race: the same steps, up to {duration(60 * course.racing.minutes)}"
        yield f"in all: up to {duration(60 * minutes)}, builds not counted"


@dataclass(frozen=True, kw_only=True)
class GateCourse:
    """What a gate is to build, count and race, before anything is built."""

    sources: SourceBuilds
    counting: Race
    racing: Race
    folder: Path


def numbered(name: str, number: int) -> str:
    """A name, and its number from the second on."""
    return name if number == 1 else f"{name}-{number}"
