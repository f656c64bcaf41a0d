"""A branch whose commits change a step by known shares, and hands that measure it by a file.

What the hands have measured or searched is kept in a file of the farm's folder, as results are:
asked again for the same, they do not measure again. The last line of a commit says what it does.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import structs

from dbdyno.farm import outlet
from dbdyno.farm.chain import Alarm, Budget, HeadSeries, LogRatio, Reading
from dbdyno.farm.file import Branch, Farm
from dbdyno.farm.findings import FindingReport
from dbdyno.farm.hands import BranchState, HeadMeasurement, HeadPair
from dbdyno.farm.journal import ChangedFunction, Culprit, Head
from dbdyno.farm.outlet import ReportMessage
from dbdyno.farm.state import FarmFinding
from dbdyno.model.error import HostError, ServerError
from dbdyno.model.json import decoder
from dbdyno.store import disk
from dbdyno.store.file import made

__all__ = [
    "BranchState",
    "FindingReport",
    "HeadMeasurement",
    "HeadPair",
    "HostError",
    "decoder",
    "structs",
]

SERIES = HeadSeries(
    branch="master", step=("sysbench", "point-query"), instrument="work", metric="instructions"
)
ERROR = 0.0005
CLEAR = 6.0
"""Standard errors of a change that is sure at once; three of them make a suspect."""
BRANCH = Branch(
    name="master", source="/src", pinned="18.0", every="commit", steps=("point-query",), time=False
)


def sha(number: int) -> str:
    """The name of a commit."""
    return f"{number + 1:08x}" * 5


def farm(folder: Path, command: str | None = None, **keys: object) -> Farm:
    """A farm of one branch."""
    path = folder / "farm.toml"
    path.write_text("")
    values = {"report_command": command, "branches": (BRANCH,), **keys}
    return Farm(path=path, folder=folder / "farm", **values)  # type: ignore[arg-type]


@dataclass
class World:
    """Hands for a branch with these changes."""

    folder: Path  # the farm's
    commits: int = 12
    changes: Mapping[int, float] = field(default_factory=dict)  # log ratios, by commit
    broken: Sequence[int] = ()
    reverts: Mapping[int, int] = field(default_factory=dict)  # which commit takes back which
    functions: Mapping[int, str] = field(default_factory=dict)  # that a commit changes
    begin: int = 0  # commits that the first look sees
    fails: Callable[[str], str] = lambda what: ""  # why something is in the way; empty: nothing
    command: str | None = None
    limit_s: float = 20.0

    def done(self) -> list[str]:
        """What was measured and searched, in order."""
        path = self.folder / "done.log"
        return path.read_text().splitlines() if path.exists() else []

    def do(self, what: str) -> None:
        """Takes down that something was done, unless it was before."""
        why = self.fails(what)
        if why:
            raise HostError(why)
        if what in self.done():
            return
        file = disk.append(made(self.folder) / "done.log")
        disk.write(file, f"{what}\n".encode())
        disk.sync(file)
        disk.close(file)

    def number(self, commit: str) -> int:
        """Which commit it is."""
        return int(commit[:8], 16) - 1

    def level(self, commit: str) -> float:
        """The work of a commit beside the first one's, as a log ratio."""
        return sum(change for at, change in self.changes.items() if at <= self.number(commit))

    # --- Hands

    def look(self, branch: Branch, known: str | None) -> BranchState:
        """All commits since the one that is known."""
        why = self.fails("look")
        if why:
            raise HostError(why)
        first = self.begin if known is None else self.number(known) + 1
        heads = tuple(
            Head(commit=sha(number), subject=f"change {number}")
            for number in range(first, self.commits)
        )
        return BranchState(tip=sha(self.commits - 1), heads=heads)

    def measure(self, pair: HeadPair) -> HeadMeasurement:
        """A reading of a head without noise."""
        if self.number(pair.head) in self.broken:
            raise ServerError("compile failed: x.c:1: error")
        self.do(f"measure {self.number(pair.head)}")
        return HeadMeasurement(
            readings=(self.reading(pair, 0),), pinned="18.0", seconds=100.0, build_s=10.0
        )

    def repeat(
        self, pair: HeadPair, series: tuple[HeadSeries, ...], number: int
    ) -> HeadMeasurement:
        """The same again."""
        self.do(f"repeat {self.number(pair.head)} {number}")
        return HeadMeasurement(readings=(self.reading(pair, number),), seconds=100.0)

    def reading(self, pair: HeadPair, repetition: int) -> Reading:
        """What is read of a head."""
        level = self.level(pair.head)
        before = None if pair.previous is None else self.level(pair.previous)
        return Reading(
            series=SERIES,
            head=pair.head,
            previous=pair.previous,
            taken_s=pair.seen_s,
            against_previous=None if before is None else ratio(level - before),
            against_pinned=ratio(level),
            repetition=repetition,
        )

    def search(self, finding: FarmFinding, branch: Branch) -> Culprit:
        """The commit that the world knows of."""
        number = self.number(finding.alarms[0].first)
        self.do(f"search {number}")
        taken_back = self.reverts.get(number)
        return Culprit(
            commit=sha(number),
            subject=f"change {number}",
            before=sha(number - 1),
            reverts=() if taken_back is None else (sha(taken_back),),
            functions=(
                ChangedFunction(
                    function=self.functions.get(number, "IndexNext"),
                    step="point-query",
                    before=900,
                    after=900 * (1 + 30 * self.changes.get(number, 0.03)),
                ),
            ),
            command="dyno race a b",
        )

    def deliver(self, message: ReportMessage) -> str:
        """Gives a report to the command of the test, through the outlet that there is."""
        assert self.command is not None
        return outlet.deliver(self.command, self.folder, message, limit_s=self.limit_s)


def ratio(value: float) -> LogRatio:
    """A log ratio with the error of all readings here."""
    return LogRatio(value=value, standard_error=ERROR, degrees=40.0)


def judge(readings: Sequence[Reading], budget: Budget) -> list[Alarm]:
    """A rule in place of the farm's own: a head is a suspect by three errors, sure when repeated.

    Tests of the loop need alarms that follow from the world alone.
    """
    alarms = []
    for reading in readings:
        change = reading.against_previous
        if reading.repetition or change is None or abs(change.value) < CLEAR * ERROR:
            continue
        assert reading.previous is not None
        again = [
            other
            for other in readings
            if other.head == reading.head and other.series == reading.series and other.repetition
        ]
        if any(
            other.against_previous is not None
            and math.copysign(1, other.against_previous.value) != math.copysign(1, change.value)
            for other in again
        ):
            continue
        alarms.append(
            Alarm(
                series=reading.series, head=reading.head, first=reading.head,
                good=reading.previous, seen_against="previous", change=change,
                log_evidence=10.0, log_limit=9.0, sure=bool(again), known=False,
            )
        )  # fmt: skip
    return alarms
