"""The course of a gate: both sides are built, their work is counted, then they race in time."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dbdyno.cli.exit_status import say
from dbdyno.model.error import DynoError, PlanError, ServerError

if TYPE_CHECKING:
    from dbdyno.analysis.gate import GateMeasurements
    from dbdyno.cli.race import RaceOptions
    from dbdyno.cli.source_arm import CommitBuilds
    from dbdyno.model import Comparison
    from dbdyno.model.gate import Gate, GateSide
    from dbdyno.plan.gate import GateForm
    from dbdyno.plan.race import Race

RACE_SHARE = 2 / 3
"""Of the minutes after the counts, for the race; the rest confirms a loss with another layout."""
RACE_MINUTES_MIN = 1.0
REPEATS = 4
"""Of the counts of each side: of a head with two modes that are as likely, both show in 7 of 8."""
RECORD = "gate.json"
"""In a gate's folder; a gate that has it is over."""


@dataclass(frozen=True, kw_only=True)
class GateBuild:
    """A build as it was asked for, understood."""

    option: str  # BASE or HEAD
    written: str
    name: str  # of its arm
    commit: str | None = None  # of the checkout; None: an arm of a race
    changed: int = 0

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
    checkout: Path | None
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

        arms = self.built(self.builds)
        counting = self.race(self.asked(arms, count=True))
        racing = self.race(self.asked(arms, minutes=self.race_minutes(counting)))
        folder = self.folder(racing)
        measured = self.measured(counting, racing, folder)
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
            seconds=round(math.fsum(self.spent), 1),
            results=tuple(self.folders),
        )
        write.publish({folder / RECORD: report.document(gate).encode()})
        return gate

    def measured(self, counting: Race, racing: Race, folder: Path) -> GateMeasurements:
        """The counts, the race that they leave open, and that of the sides laid out anew."""
        from dbdyno.analysis import gate as analysis
        from dbdyno.host.lock import HostLock

        head = counting.arms[1].name
        with HostLock(plan=folder.name, wait=self.wait):
            self.refuse_short(racing, folder)
            self.refuse_below_scatter(counting)
            so_far = self.counted(counting, head)
            steps = analysis.steps(so_far, self.wish.tolerances)
            if self.wish.time is None or so_far.unfilled is not None:
                return so_far
            if any(step.work is not None and step.work.answer == "no" for step in steps):
                return replace(so_far, unraced="not raced, as work says no")
            so_far = replace(so_far, raced=self.ran(racing, folder))
        return self.confirmed(so_far, folder)

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
        from dbdyno.host.lock import HostLock

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
        arms = self.built(replace(self.builds, relaid=True))
        racing = self.race(self.asked(arms, minutes=math.floor(minutes), steps=steps))
        try:
            with HostLock(plan=folder.name, wait=self.wait):
                return replace(measured, relaid=self.ran(racing, folder / "layout"))
        except PlanError as error:
            return replace(measured, unrelaid=f"not raced with another: {error}")

    # --- Builds, plans, races

    def built(self, builds: CommitBuilds) -> list[str]:
        """The sides as arms of a race; commits that are not built yet are built, alone."""
        arms = []
        for side in self.sides:
            if side.commit is None or self.checkout is None:
                arms.append(side.written)
                continue
            if side.changed and not self.quiet and not builds.relaid:
                say(f"{side.option} {side.written}: as it stands, {side.changed} changed files")
            try:
                server = builds.found(self.checkout, side.commit)
            except DynoError as error:
                raise ServerError(f"{side.option} {side.written}: {error}") from error
            assert server.build is not None, "it was built"
            arms.append(server.build)
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

    def race(self, asked: RaceOptions) -> Race:
        """The race, its arms with the names of the sides."""
        from dbdyno.cli import race

        wanted = race.race_of(asked, race.look_around(builds_sources=True))
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

    def refuse_short(self, racing: Race, folder: Path) -> None:
        """Raises PlanError where no look fits into the race's part of the minutes."""
        from dbdyno import plan as plans
        from dbdyno.cli import measuring, race
        from dbdyno.run.check import block_time, preflight
        from dbdyno.run.progress import duration

        if self.wish.time is None:
            return
        path = folder / f"{race.name_of(racing)}.toml"
        plan = plans.parse(race.text_of(racing, path), path)
        plan = measuring.with_lengths(plan, folder / path.stem)
        look_s = block_time.first_look_s(plan, preflight.prepare(plan)) or 0.0
        spare = self.wish.minutes - racing.minutes / RACE_SHARE  # for the counts
        needed = spare + (look_s / 60 + block_time.AROUND_MINUTES) / RACE_SHARE
        if needed > self.wish.minutes:
            raise PlanError(
                f"minutes: a first look in time takes about {duration(look_s)}, beside counts and "
                f"a second layout: give at least {math.ceil(needed)}, name fewer steps, or ask of "
                "work alone (--time off)"
            )

    def refuse_below_scatter(self, counting: Race) -> None:
        """Raises PlanError where counts cannot exclude what is not tolerated, whatever they say."""
        from dbdyno import plan as plans
        from dbdyno.cli import measuring, race

        path = self.out / f"{race.name_of(counting)}.toml"
        plan = plans.parse(race.text_of(counting, path), path)
        remedies = {
            event: f'ask of none: {event.replace(" ", "_")} = "off"'
            for event in self.wish.tolerances.events
        }
        measuring.refuse_few(plan, remedies)
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

    def show_outlook(self) -> None:
        """Prints what would be built, counted and raced."""
        for side in self.sides:
            print(f"{side.option} {side.written}: {self.standing(side)}")  # noqa: T201
        wish = self.wish
        steps = ", ".join(wish.steps) if wish.steps else "the usual steps of a race"
        print(f"steps: {steps}; {wish.minutes:g} minutes")  # noqa: T201

    def standing(self, side: GateBuild) -> str:
        """Whether a side is there already."""
        from dbdyno.cli import source_arm

        if side.commit is None or self.checkout is None:
            return "as `dyno race` finds it"
        engine = source_arm.find(self.checkout)
        assert engine is not None, "it is a checkout of a source"
        worktree = self.builds.worktree(self.checkout, engine.engine)
        built = "built before" if worktree.is_there(side.commit) else "is to be built"
        return f"commit {side.commit}, {built}"


def numbered(name: str, number: int) -> str:
    """A name, and its number from the second on."""
    return name if number == 1 else f"{name}-{number}"
