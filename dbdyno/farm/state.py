"""What a farm's journal comes to: heads to measure, readings, findings and their reports. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Literal

from dbdyno.farm.chain import Alarm, Reading
from dbdyno.farm.journal import (
    Culprit,
    DeliveryEntry,
    Event,
    FailedDeliveryEntry,
    FindingEntry,
    Head,
    HoldEntry,
    LookEntry,
    MeasurementEntry,
    RepeatEntry,
    ReportEntry,
    ResolutionEntry,
    SearchEntry,
    SkipEntry,
    StartEntry,
)

Standing = Literal["open", "fixed", "reverted"]


@dataclass(frozen=True, kw_only=True)
class WaitingHead:
    """A head that is to be measured."""

    head: Head
    seen_s: float  # Unix time at which the branch was looked at


@dataclass(frozen=True, kw_only=True)
class BranchProgress:
    """How far a branch was followed."""

    looked_s: float | None = None  # Unix time of the last look
    reached: bool = False  # whether that look has reached it
    tip: str = ""  # the last commit that was seen of it
    since: str = ""  # the head that is taken as known
    waiting: tuple[WaitingHead, ...] = ()
    measured: tuple[MeasurementEntry, ...] = ()
    repeated: tuple[RepeatEntry, ...] = ()
    skipped: tuple[SkipEntry, ...] = ()
    subjects: Mapping[str, str] = field(default_factory=dict)  # of heads, by commit
    odd: str = ""  # what the last look said
    trouble: str = ""  # why something could not be done; empty: it could
    held_s: float | None = None  # since when it waits, as something could not be done

    @property
    def last(self) -> MeasurementEntry | None:
        """The head that was measured last."""
        return self.measured[-1] if self.measured else None

    @property
    def previous(self) -> str | None:
        """The head that the next one is measured beside; None: there is none."""
        return self.since or None if self.last is None else self.last.head


@dataclass(frozen=True, kw_only=True)
class FarmFinding:
    """A change that was found in a branch, and what became of it."""

    name: str
    branch: str
    opened_s: float
    alarms: tuple[Alarm, ...]
    culprit: Culprit | None = None  # None: not searched yet
    resolved: ResolutionEntry | None = None
    same_as: str | None = None  # the finding that has named this commit before
    reported: int = 0  # the last revision that lies in the folder of reports
    delivered: int = 0  # the last one that the command took
    tries: int = 0  # of the command, for the revision that it is to take
    tried_s: float = 0.0

    @property
    def revision(self) -> int:
        """How often there is something new to report of it."""
        if self.same_as is not None or self.culprit is None:
            return 0
        return 1 + (self.resolved is not None)

    @property
    def standing(self) -> Standing:
        """Whether it is still there."""
        if self.resolved is None:
            return "open"
        return "reverted" if self.resolved.reverted else "fixed"


@dataclass(frozen=True, kw_only=True)
class FarmState:
    """A farm as far as it has come."""

    file: str = ""
    branches: Mapping[str, BranchProgress] = field(default_factory=dict)
    findings: Mapping[str, FarmFinding] = field(default_factory=dict)  # the oldest first
    readings: tuple[Reading, ...] = ()  # of all branches, in the order in which they were taken

    def branch(self, name: str) -> BranchProgress:
        """A branch, perhaps one that nothing is known of yet."""
        return self.branches.get(name, BranchProgress())


def fold(events: Iterable[Event]) -> FarmState:
    """The state after these events."""
    return reduce(after, events, FarmState())


def after(state: FarmState, event: Event) -> FarmState:
    """The state after one event more."""
    match event:
        case StartEntry():
            return replace(state, file=event.file)
        case LookEntry() | SkipEntry() | MeasurementEntry() | RepeatEntry() | HoldEntry():
            branch = of_branch(state.branch(event.branch), event)
            readings = event.readings if isinstance(event, MeasurementEntry | RepeatEntry) else ()
            return replace(
                state,
                branches={**state.branches, event.branch: branch},
                readings=(*state.readings, *readings),
            )
        case FindingEntry():
            finding = opened(state.findings.get(event.finding), event)
        case _:
            finding = of_finding(state, state.findings[event.finding], event)
    return replace(state, findings={**state.findings, event.finding: finding})


def of_branch(
    branch: BranchProgress,
    event: LookEntry | SkipEntry | MeasurementEntry | RepeatEntry | HoldEntry,
) -> BranchProgress:
    """A branch after an event of it."""
    match event:
        case LookEntry():
            new = tuple(WaitingHead(head=head, seen_s=event.at_s) for head in event.heads)
            kept = branch.waiting
            if event.rewritten:
                kept = still_on(kept, event.parted)
            return replace(
                branch,
                looked_s=event.at_s,
                reached=bool(event.tip),
                tip=event.tip or branch.tip,
                since=event.since or branch.since,
                waiting=(*kept, *new),
                subjects={**branch.subjects, **{head.commit: head.subject for head in event.heads}},
                odd=event.why,
            )
        case HoldEntry():
            return replace(branch, trouble=event.why, held_s=event.at_s)
        case RepeatEntry():
            return replace(branch, repeated=(*branch.repeated, event), trouble="", held_s=None)
        case SkipEntry():
            branch = replace(branch, skipped=(*branch.skipped, event))
        case MeasurementEntry():
            branch = replace(branch, measured=(*branch.measured, event))
    waiting = tuple(each for each in branch.waiting if each.head.commit != event.head)
    return replace(branch, waiting=waiting, trouble="", held_s=None)


def still_on(waiting: Sequence[WaitingHead], parted: str) -> tuple[WaitingHead, ...]:
    """The heads that wait and that a rewritten branch still has: those up to where it parts."""
    commits = [each.head.commit for each in waiting]
    return tuple(waiting[: commits.index(parted) + 1]) if parted in commits else ()


def opened(before: FarmFinding | None, event: FindingEntry) -> FarmFinding:
    """A finding, new or with further alarms."""
    if before is not None:
        return replace(before, alarms=(*before.alarms, *event.alarms))
    return FarmFinding(
        name=event.finding, branch=event.branch, opened_s=event.at_s, alarms=event.alarms
    )


def of_finding(
    state: FarmState,
    finding: FarmFinding,
    event: SearchEntry | ResolutionEntry | ReportEntry | DeliveryEntry | FailedDeliveryEntry,
) -> FarmFinding:
    """A finding after an event of it."""
    match event:
        case SearchEntry():
            same = next((each.name for each in named(state, finding, event.culprit)), None)
            return replace(finding, culprit=event.culprit, same_as=same)
        case ResolutionEntry():
            return replace(finding, resolved=event, tries=0, tried_s=0.0)
        case ReportEntry():
            return replace(finding, reported=event.revision)
        case DeliveryEntry():
            return replace(finding, delivered=event.revision, tries=0, tried_s=0.0)
        case FailedDeliveryEntry():
            return replace(finding, tries=finding.tries + 1, tried_s=event.at_s)


def named(state: FarmState, finding: FarmFinding, culprit: Culprit) -> Iterable[FarmFinding]:
    """The findings of the branch that have named this commit before."""
    return (
        other
        for other in state.findings.values()
        if other.name != finding.name
        and other.branch == finding.branch
        and other.same_as is None
        and other.culprit is not None
        and culprit.commit
        and other.culprit.commit == culprit.commit
    )
