"""What a farm has done for it: looks at branches, measurements, searches, deliveries.

`loop` decides; whoever has hands acts. Those of `dyno watch` build, count and race; those of a
simulated year draw numbers.
"""

from dataclasses import dataclass
from typing import Protocol

from dbdyno.farm.chain import HeadSeries, Reading
from dbdyno.farm.file import Branch
from dbdyno.farm.journal import Culprit, Head
from dbdyno.farm.outlet import ReportMessage
from dbdyno.farm.state import FarmFinding


@dataclass(frozen=True, kw_only=True)
class BranchState:
    """What was seen of a branch."""

    tip: str  # where it is
    heads: tuple[Head, ...] = ()  # after what was known, the oldest first
    since: str = ""  # the commit that the branch's `since` means, at its first look
    parted: str = ""  # of a rewritten branch: the last commit that it still has
    rewritten: bool = False  # whether what was known is no longer on it
    why: str = ""  # a sentence for a person; empty: nothing is odd


@dataclass(frozen=True, kw_only=True)
class HeadPair:
    """A head, and the one that was measured before it."""

    branch: Branch
    head: str
    previous: str | None  # None: there is none
    seen_s: float  # Unix time at which the head was seen; names the folder of its results


@dataclass(frozen=True, kw_only=True)
class HeadMeasurement:
    """What was measured of a head, or once more."""

    readings: tuple[Reading, ...]
    pinned: str = ""  # the version, or the commit
    folders: tuple[str, ...] = ()
    seconds: float = 0.0  # of measuring
    build_s: float = 0.0
    why: str = ""  # what was not measured


class FarmWorker(Protocol):
    """Does what a farm's loop decides.

    Each call that is made again after a break goes on where that one was. All raise DynoError
    where something is in the way that is no head's fault: the branch waits then.
    """

    def look(self, branch: Branch, known: str | None) -> BranchState:
        """What a branch has come to since `known`, the last commit that was seen of it."""

    def measure(self, pair: HeadPair) -> HeadMeasurement:
        """Builds a head, and measures it beside the one before it and the pinned release.

        Raises ServerError where it cannot be built, or its server does not start.
        """

    def repeat(
        self, pair: HeadPair, series: tuple[HeadSeries, ...], number: int
    ) -> HeadMeasurement:
        """Measures some series of a head again, from builds with another layout.

        Raises ServerError where that cannot be.
        """

    def search(self, finding: FarmFinding, branch: Branch) -> Culprit:
        """The commit that a finding is of, and the functions that it changed."""

    def deliver(self, message: ReportMessage) -> str:
        """Gives a report to the report command, unless it has taken it; why it did not take it."""
