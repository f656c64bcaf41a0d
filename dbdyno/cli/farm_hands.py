"""The hands of `dyno watch`: they build heads, count and race them, search, and deliver reports.

FOLDER/NIGHT-BRANCH-COMMIT/work.toml, time.toml   the plans of a head; their results lie beside them
FOLDER/searches/                                   searches of a commit (docs/bisect.md)
FOLDER/repositories/BRANCH/                        the clone that is followed
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from dbdyno.cli import farm_placement, farm_plans
from dbdyno.cli.farm_builds import BranchOrigin, timed
from dbdyno.cli.farm_plans import HeadPlan
from dbdyno.cli.farm_search import Searcher
from dbdyno.farm import outlet, readings
from dbdyno.farm.chain import HeadSeries, Instrument, Reading
from dbdyno.farm.file import Branch, Farm
from dbdyno.farm.hands import BranchState, HeadMeasurement, HeadPair
from dbdyno.farm.journal import Culprit
from dbdyno.farm.loop import REPEATS_MAX
from dbdyno.farm.outlet import ReportMessage
from dbdyno.farm.readings import HEAD, PINNED, PREVIOUS, ReadingContext
from dbdyno.farm.state import FarmFinding
from dbdyno.model.bisection import short
from dbdyno.model.error import DynoError, HostError, ServerError
from dbdyno.store import safe_name
from dbdyno.store.file import made, write_atomically

if TYPE_CHECKING:
    from dbdyno.run.runner import BlockRunner

INSTRUMENTS: tuple[Instrument, ...] = ("work", "time")


@dataclass(frozen=True, kw_only=True)
class HostFarmWorker:
    """Builds, counts and races on this host, on those that the file names, or by Slurm."""

    farm: Farm
    say: Callable[[str], None]
    by_slurm: Callable[[], BlockRunner | None]  # how blocks are run; None: as the plan says

    def look(self, branch: Branch, known: str | None) -> BranchState:
        """What a branch has come to since a commit."""
        return self.origin(branch).look(known)

    def measure(self, pair: HeadPair) -> HeadMeasurement:
        """Builds a head, counts it, and measures it in time."""
        branch = pair.branch
        wanted = {"work": branch.count, "time": branch.time}
        parts = [
            self.part(pair, instrument, tuple(branch.steps), repetition=0)
            for instrument in INSTRUMENTS
            if wanted[instrument]
        ]
        return joined(parts)

    def repeat(
        self, pair: HeadPair, series: tuple[HeadSeries, ...], number: int
    ) -> HeadMeasurement:
        """Measures suspects again: counts by another fill, time by another layout, too."""
        parts = []
        for instrument in INSTRUMENTS:
            steps = tuple(
                dict.fromkeys(each.step[1] for each in series if each.instrument == instrument)
            )
            if steps:
                part = self.part(pair, instrument, steps, repetition=number)
                kept = tuple(each for each in part.readings if each.series in series)
                parts.append(replace(part, readings=kept))
        return joined(parts)

    def search(self, finding: FarmFinding, branch: Branch) -> Culprit:
        """The commit of a finding, and its functions."""
        first = finding.alarms[0].first
        folders = sorted(self.farm.folder.glob(f"*-{branch.name}-{folder_name(first)}"))
        return Searcher(
            origin=self.origin(branch),
            finding=finding,
            measured=folders[-1] if folders else None,
            run=lambda wanted, path: self.run(branch, wanted, path),
        ).culprit()

    def deliver(self, message: ReportMessage) -> str:
        """Gives a report to the file's command."""
        assert self.farm.report_command is not None, "only then is anything delivered"
        return outlet.deliver(self.farm.report_command, self.farm.folder, message)

    # --- Parts

    def origin(self, branch: Branch) -> BranchOrigin:
        """Where a branch comes from."""
        return BranchOrigin(farm=self.farm, branch=branch, say=self.say)

    def part(
        self, pair: HeadPair, instrument: Instrument, steps: tuple[str, ...], *, repetition: int
    ) -> HeadMeasurement:
        """One instrument's plan of a head, built and run. Raises ServerError: the head's fault."""
        origin, taken_s, spent = self.origin(pair.branch), time.time(), timed()
        relaid = instrument == "time" and repetition % 2 == 1
        arms = origin.arms(pair, relaid=relaid)
        build_s = spent()
        kept = farm_plans.arms_apart(arms)
        pinned = origin.pinned_commit() or pair.branch.pinned
        if len(kept) < 2:  # the head is the pinned release
            return HeadMeasurement(readings=(), pinned=pinned, build_s=build_s)
        ending = f"-again-{repetition}" if repetition else ""
        path = self.folder(pair) / f"{instrument}{ending}.toml"
        wanted = HeadPlan(
            arms=kept, steps=steps, count=instrument == "work",
            minutes=self.minutes(repetition), seed=1 + repetition,
        )  # fmt: skip
        try:
            folder = self.run(pair.branch, wanted, path)
        except ServerError as error:
            elsewhere = not wanted.count and self.is_elsewhere()
            raise at_fault(error, elsewhere=elsewhere) from None
        taken = ReadingContext(
            branch=pair.branch.name, instrument=instrument, head=pair.head,
            previous=pair.previous, taken_s=taken_s, repetition=repetition,
        )  # fmt: skip
        return HeadMeasurement(
            readings=tuple(completed(readings.of_plan(folder, taken, tuple(kept)), arms)),
            pinned=pinned,
            folders=(str(folder.relative_to(self.farm.folder)),),
            seconds=spent() - build_s,
            build_s=build_s,
        )

    def is_elsewhere(self) -> bool:
        """Whether races run on other hosts."""
        return bool(self.farm.hosts) or self.by_slurm() is not None

    def minutes(self, repetition: int) -> float:
        """The minutes of a race of a head, or of its repetition, which is a part of a search's."""
        if not repetition:
            return self.farm.minutes
        share = self.farm.search_minutes / (2 * REPEATS_MAX)
        return max(1.0, min(2 * self.farm.minutes, share))

    def folder(self, pair: HeadPair) -> Path:
        """The folder of a head's results, the same after a break."""
        night = datetime.fromtimestamp(pair.seen_s, UTC).date().isoformat()
        return self.farm.folder / f"{night}-{pair.branch.name}-{folder_name(pair.head)}"

    def run(self, branch: Branch, wanted: HeadPlan, path: Path) -> Path:
        """Runs a plan, or what is missing of it; the folder of its results. Raises DynoError."""
        from dbdyno import plan as plans
        from dbdyno.cli import measuring

        if not path.exists():
            text = farm_plans.text_of(self.farm, branch, wanted, path)
            if not wanted.count:
                text = farm_placement.placed(
                    self.farm, branch, text, path, elsewhere=self.is_elsewhere()
                )
            write_atomically(made(path.parent) / path.name, text.encode())
        plan = plans.parse(path.read_text(encoding="utf-8"), path)
        plan = measuring.with_lengths(plan, path.parent / path.stem)
        runner = None if wanted.count else self.by_slurm()
        before = copies()
        folder = measuring.measure(plan, path.parent, True, quiet=True, runner=runner).folder
        forget(copies() - before)
        return folder


def copies() -> frozenset[str]:
    """The keys of this host's golden copies."""
    from dbdyno.engine import golden
    from dbdyno.host import place

    return frozenset(folder.name for folder in golden.marked(place.data_root()))


def forget(keys: frozenset[str]) -> None:
    """Removes golden copies of a head and of the one before it: no later head begins from them."""
    from dbdyno.engine import golden
    from dbdyno.host import place
    from dbdyno.host.lock import HostLock

    root = place.data_root()
    ours = []
    for folder in golden.marked(root):
        with suppress(ServerError):  # a damaged one is made anew by whoever wants it
            if folder.name in keys and golden.read(folder).facts.arm in (HEAD, PREVIOUS):
                ours.append(folder.name)
    if ours:
        with HostLock(plan="dyno watch: golden copies", wait=True):
            golden.remove(root, ours)


def at_fault(error: ServerError, *, elsewhere: bool) -> DynoError:
    """A plan's error before its first block, as one of the head, or of no head.

    What was built here may be missing on other hosts, and each arm's server may be in the way.
    """
    if elsewhere or any(f"arms.{arm}." in str(error) for arm in (PINNED, PREVIOUS)):
        return HostError(str(error))
    return error


def folder_name(commit: str) -> str:
    """A commit, or a version, as a part of a folder's name."""
    return safe_name(short(commit))


def joined(parts: Sequence[HeadMeasurement]) -> HeadMeasurement:
    """The measurements of a head's instruments as one. Raises HostError: there are none."""
    if not parts:
        raise HostError("nothing is to be measured: write count = true, or time = true")
    return HeadMeasurement(
        readings=tuple(reading for part in parts for reading in part.readings),
        pinned=parts[0].pinned,
        folders=tuple(folder for part in parts for folder in part.folders),
        seconds=sum(part.seconds for part in parts),
        build_s=sum(part.build_s for part in parts),
        why="; ".join(part.why for part in parts if part.why),
    )


def completed(taken: Sequence[Reading], arms: dict[str, str]) -> list[Reading]:
    """The readings where two arms are one build: what is known of one holds for the other.

    A head that is the pinned release has no ratio to it.
    """
    from msgspec import structs

    if arms.get(PREVIOUS) == arms[PINNED] and arms[PINNED] != arms[HEAD]:
        return [structs.replace(each, against_previous=each.against_pinned) for each in taken]
    return list(taken)
