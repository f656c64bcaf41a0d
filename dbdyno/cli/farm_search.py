"""The commit of a finding, and the functions that it changed: what was measured says, or a search.

Where one commit alone lies between the last good head and the first changed one, that is it. Among
several, `dyno bisect` searches: by counts where the change shows in them, else by time. The
functions of a change of work are those of its head's counts. Those of a change in time are sampled,
because what takes longer may do no more work.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from dbdyno.cli import farm_plans
from dbdyno.farm import readings
from dbdyno.farm.journal import ChangedFunction, Culprit, Head
from dbdyno.farm.readings import HEAD, PINNED, PREVIOUS
from dbdyno.model.error import HostError, ResultError, ServerError
from dbdyno.model.metric.primary import UNDISTURBED

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbdyno.builds.repository_clone import RepositoryClone
    from dbdyno.cli.bisect import BisectOptions
    from dbdyno.cli.farm_builds import BranchOrigin
    from dbdyno.cli.farm_plans import HeadPlan
    from dbdyno.farm.chain import Alarm
    from dbdyno.farm.state import FarmFinding
    from dbdyno.model.bisection import Bisection, CommitChange
    from dbdyno.store.bisection import BisectionFolder

SEARCHES = "searches"
SMALLEST_MIN = 0.1
"""The smallest change of work that a search takes for one, in percent (`dyno bisect`)."""
SMALLEST_OF_TIME = 0.5


@dataclass(frozen=True, kw_only=True)
class Searcher:
    """What a search works with."""

    origin: BranchOrigin
    finding: FarmFinding
    measured: Path | None  # the folder of the first changed head's results
    run: Callable[[HeadPlan, Path], Path]  # runs a plan; the folder of its results

    @property
    def alarm(self) -> Alarm:
        """The alarm that says most: of work before time, the largest change."""
        return max(
            self.finding.alarms,
            key=lambda alarm: (alarm.series.instrument == "work", abs(alarm.change.value)),
        )

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps of the finding."""
        return tuple(dict.fromkeys(alarm.series.step[1] for alarm in self.finding.alarms))

    @property
    def counts(self) -> bool:
        """Whether the change shows in counts."""
        return self.alarm.series.instrument == "work"

    def culprit(self) -> Culprit:
        """The commit of the finding. Raises DynoError: not now."""
        good, first = self.alarm.good, self.alarm.first
        if self.origin.branch.command is not None:
            return self.of_versions(good, first)
        repository = self.origin.repository
        between = repository.between(good, first) if repository.is_on(good, first) else ()
        if len(between) == 1:
            return self.named(repository, between[0].sha, good)
        if not between:
            why = f"{good} is no longer before it: the branch was rewritten in between"
            return self.named(repository, first, good, why=why)
        try:
            return self.searched(repository, good, first)
        except (ResultError, ServerError) as error:
            return Culprit(
                commit="", before=good, probability=0.0, suspects=tuple(map(Head.of, between)),
                why=f"the search ended: {error}", command=self.command(good, first),
            )  # fmt: skip

    def of_versions(self, good: str, first: str) -> Culprit:
        """A build that a command has made: no commits lie between two."""
        functions, folder, why = self.functions(good, first)
        return Culprit(commit=first, before=good, functions=functions, folder=folder, why=why)

    def named(
        self, repository: RepositoryClone, commit: str, before: str, why: str = ""
    ) -> Culprit:
        """A commit that is sure, with the functions that it changed."""
        functions, folder, unknown = self.functions(before, commit)
        return Culprit(
            commit=commit,
            subject=repository.alone(commit).subject,
            before=before,
            reverts=repository.reverts(commit),
            functions=functions,
            folder=folder,
            command=self.command(before, commit),
            why="; ".join(word for word in (why, unknown) if word),
        )

    def command(self, before: str, commit: str) -> str:
        """The command that measures a commit beside the one before it."""
        branch = self.origin.branch
        recipe = f";build={branch.build}" if branch.build else ""
        place = self.origin.repository.folder
        sides = [f"{place}@{each}{recipe}" for each in (before, commit)]
        if branch.cflags is not None or branch.configure:  # which no arm of a race can name
            sides = [self.origin.built(each) for each in (before, commit)]
        return farm_plans.repeat_command(
            self.origin.farm, branch, sides, self.steps, count=self.counts
        )

    # --- Functions

    def functions(self, before: str, commit: str) -> tuple[tuple[ChangedFunction, ...], str, str]:
        """The functions that changed, the folder that says so, and what could not be told."""
        if self.counts:
            return self.counted(before, commit)
        costs, folder, unknown = self.sampled(before, commit)
        if costs or folder:
            return costs, folder, unknown
        costs, folder, none = self.counted(before, commit)
        return costs, folder, "; ".join(word for word in (unknown, none) if word)

    def sampled(self, before: str, commit: str) -> tuple[tuple[ChangedFunction, ...], str, str]:
        """The same by profiles; without a folder where nothing can be sampled."""
        from dbdyno.host import perf

        unknown = missing(perf.find)
        if unknown:
            return (), "", f"no µs of functions: {unknown}"
        try:
            place = self.beside(before, commit, count=False)
            costs = readings.sampled(place, PREVIOUS, self.steps)
        except (ServerError, ResultError) as error:
            return (), "", f"no µs of functions: {error}"
        why = "" if costs else "no function's CPU per operation changed beyond chance"
        return costs, str(place.relative_to(self.origin.farm.folder)), why

    def counted(self, before: str, commit: str) -> tuple[tuple[ChangedFunction, ...], str, str]:
        """The same by counts."""
        from dbdyno.host.callgrind import program

        place = self.measured / "work" if self.measured is not None else None
        try:
            if place is None or not place.exists():
                unknown = missing(program.find)
                if unknown:
                    return (), "", f"no instructions of functions: {unknown}"
                place = self.beside(before, commit, count=True)
            for base in (PREVIOUS, PINNED):
                try:
                    costs = readings.functions(place, base, self.steps)
                except ResultError:
                    continue  # both are one build: the plan has one arm of them
                return costs, str(place.relative_to(self.origin.farm.folder)), ""
        except (ServerError, ResultError) as error:
            return (), "", f"functions are not told: {error}"
        return (), "", "functions are not told: nothing was counted"

    def beside(self, before: str, commit: str, *, count: bool) -> Path:
        """The counts, or profiles, of a commit beside the one before it."""
        arms = {PREVIOUS: self.origin.built(before), HEAD: self.origin.built(commit)}
        wanted = farm_plans.HeadPlan(
            arms=arms, steps=self.steps, count=count, profile=not count,
            minutes=min(farm_plans.PROFILE_MINUTES, self.origin.farm.minutes),
        )  # fmt: skip
        folder = self.origin.farm.folder / SEARCHES / self.finding.name
        return self.run(wanted, folder / ("functions.toml" if count else "profiles.toml"))

    # --- Among several commits

    def searched(self, repository: RepositoryClone, good: str, first: str) -> Culprit:
        """What `dyno bisect` finds. Raises DynoError."""
        from dbdyno.cli import bisect

        begun = bisect.begin(
            self.words(repository, good, first), self.origin.farm.folder / SEARCHES
        )
        minutes = self.origin.farm.search_minutes
        ended = bisect.searched(begun, minutes, self.origin.say, quiet=True)
        if ended.question.counts:
            return self.by_counts(repository, begun.folder, ended)
        return self.by_time(repository, ended)

    def words(self, repository: RepositoryClone, good: str, first: str) -> BisectOptions:
        """The question of the search."""
        from dbdyno.cli import bisect

        branch, alarm = self.origin.branch, self.alarm
        half = 50 * abs(math.expm1(alarm.change.value))  # half of the change, in percent
        by = "instructions" if self.counts else "throughput"
        if not self.counts and alarm.series.metric.startswith(("cpu", "server_cpu")):
            by = "cpu"
        elif alarm.series.metric == UNDISTURBED:
            by = "undisturbed"
        least = SMALLEST_MIN if self.counts else SMALLEST_OF_TIME
        return bisect.BisectOptions(
            source=str(repository.folder), good=good, bad=first,
            workload=farm_plans.workload_of(self.origin.farm, branch),
            steps=[alarm.series.step[1]], by=by, every=False, smallest=max(least, round(half, 2)),
            config=list(branch.config), minutes=self.origin.farm.search_minutes,
            recipe=branch.build, cflags=branch.cflags, configure=list(branch.configure), jobs=None,
        )  # fmt: skip

    def by_counts(
        self, repository: RepositoryClone, folder: BisectionFolder, ended: Bisection
    ) -> Culprit:
        """The commit by counts, with its functions."""
        from dbdyno.cli import bisect_counts
        from dbdyno.run import bisect_counts as runner

        changes = list(bisect_counts.changes(ended, folder))
        if not changes:
            reasons = [reason for _, reason in runner.unnamed(ended)]
            raise ServerError(
                "; ".join(reasons) or "no commit was told by its counts within the minutes"
            )
        change = max(changes, key=self.alike)
        commits = ended.question.commits
        before, commit = commits[change.before], commits[change.commit]
        unknown = commits[change.before + 1 : change.commit + 1]
        return Culprit(
            commit=commit.sha,
            subject=commit.subject,
            before=before.sha,
            probability=1 / len(unknown),
            suspects=tuple(map(Head.of, unknown)) if len(unknown) > 1 else (),
            reverts=repository.reverts(commit.sha),
            functions=readings.costs(change.work.changes, self.steps),
            folder=str(folder.folder.relative_to(self.origin.farm.folder)),
            command=self.command(before.sha, commit.sha),
        )

    def alike(self, change: CommitChange) -> float:
        """How near a commit's change of the step comes to the alarm's; 0 is equal."""
        step, wanted = self.alarm.series.step[1], self.alarm.change.value
        changes = [of.ratio.value for of in change.work.changes if of.step == step and of.ratio]
        return -min((abs(math.log(value) - wanted) for value in changes), default=math.inf)

    def by_time(self, repository: RepositoryClone, ended: Bisection) -> Culprit:
        """The commit by time, with the functions that its counts tell."""
        from dbdyno.run import bisect as runner

        answer = runner.found_by(ended)
        commits = ended.question.commits
        if answer is None or answer.first is None:
            raise ServerError("no commit was told within the minutes")
        commit, before = commits[answer.first], commits[answer.first - 1]
        culprit = self.named(repository, commit.sha, before.sha)
        suspects = tuple(Head.of(commits[index]) for index in answer.suspects)
        return structs.replace(
            culprit, probability=answer.probability, suspects=() if answer.sure else suspects
        )


def missing(find: Callable[[], object]) -> str:
    """Why this host does not have a program; empty: it has. No report waits for one."""
    try:
        find()
    except HostError as error:
        return str(error)
    return ""
