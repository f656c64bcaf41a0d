"""What a farm does next, by its state alone, and what each doing adds to its journal.

Reports come first, then findings, repetitions, heads, and looks at branches: what was begun is
brought to its end. Whatever breaks off is decided again, from the same state.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dbdyno.farm import journal, resolution
from dbdyno.farm.alarm import judge
from dbdyno.farm.chain import Alarm, Budget, HeadSeries
from dbdyno.farm.file import Branch, Farm
from dbdyno.farm.hands import BranchState, FarmWorker, HeadPair
from dbdyno.farm.outlet import ReportMessage
from dbdyno.farm.state import FarmFinding, FarmState, WaitingHead, still_on
from dbdyno.model.bisection import short
from dbdyno.model.error import DiskError, DynoError, ServerError

HOLD_S = 900.0
"""So long a branch waits that cannot be measured, by no fault of its heads."""
TRY_S, TRY_S_MAX = 60.0, 3600.0
"""Between two tries of the report command: the first time, twice as long each, and at most."""
REPEATS_MAX = 3
"""Of a suspect; one that is not sure then waits for the next head."""
NIGHTS_A_QUARTER = 91.3
COMMITS_A_QUARTER = 700.0
"""Commits of a busy branch, such as PostgreSQL's master in 2025."""
DAY_S = 86_400.0


@dataclass(frozen=True, kw_only=True)
class LookAction:
    """A branch is to be looked at."""

    branch: Branch


@dataclass(frozen=True, kw_only=True)
class MeasurementAction:
    """A head is to be measured."""

    branch: Branch
    waiting: WaitingHead


@dataclass(frozen=True, kw_only=True)
class RepeatAction:
    """Suspects of a head are to be measured again."""

    branch: Branch
    of: journal.MeasurementEntry
    series: tuple[HeadSeries, ...]
    number: int


@dataclass(frozen=True, kw_only=True)
class FindingAction:
    """Sure alarms that begin at one head become a finding."""

    finding: str
    branch: str
    alarms: tuple[Alarm, ...]


@dataclass(frozen=True, kw_only=True)
class SearchAction:
    """The commit of a finding is to be looked for."""

    branch: Branch
    finding: FarmFinding


@dataclass(frozen=True, kw_only=True)
class ResolutionAction:
    """A finding is taken back by a later one."""

    finding: FarmFinding
    by: FarmFinding


@dataclass(frozen=True, kw_only=True)
class ReportAction:
    """A report is to be written."""

    finding: FarmFinding


@dataclass(frozen=True, kw_only=True)
class DeliveryAction:
    """A report is to be given to the report command."""

    finding: FarmFinding


@dataclass(frozen=True, kw_only=True)
class WaitAction:
    """Nothing is to be done before a time."""

    until_s: float


Action = (
    LookAction | MeasurementAction | RepeatAction | FindingAction | SearchAction | ResolutionAction
    | ReportAction | DeliveryAction | WaitAction
)  # fmt: skip


# --- Decides ----------------------------------------------------------------------------------


def next_action(state: FarmState, farm: Farm, now_s: float) -> Action:
    """What is to be done at a Unix time."""
    ready = (
        reports(state, farm, now_s),
        resolves(state),
        searches(state, farm, now_s),
        suspects(state, farm, now_s),
        heads(state, farm, now_s),
        looks(state, farm, now_s),
    )
    for actions in ready:
        for action in actions:
            return action
    return WaitAction(until_s=min(times(state, farm), default=now_s + 60 * farm.poll_minutes))


def reports(state: FarmState, farm: Farm, now_s: float) -> Iterator[ReportAction | DeliveryAction]:
    """Reports that are to be written, then those that the command is to get."""
    for finding in state.findings.values():
        if finding.reported < finding.revision:
            yield ReportAction(finding=finding)
    if farm.report_command is not None:
        for finding in state.findings.values():
            if finding.delivered < finding.reported and next_try_s(finding) <= now_s:
                yield DeliveryAction(finding=finding)


def next_try_s(finding: FarmFinding) -> float:
    """The Unix time from which the command may be tried for a finding."""
    if not finding.tries:
        return 0.0
    return finding.tried_s + min(TRY_S_MAX, TRY_S * (1 << min(finding.tries - 1, 10)))


def resolves(state: FarmState) -> Iterator[ResolutionAction]:
    """Findings that a later one has taken back."""
    for finding in state.findings.values():
        by = resolution.by(finding, state.findings.values())
        if by is not None:
            yield ResolutionAction(finding=finding, by=by)


def searches(state: FarmState, farm: Farm, now_s: float) -> Iterator[SearchAction]:
    """Findings whose commit is not told yet."""
    for branch in farm.branches:
        if not is_held(state, branch, now_s):
            for finding in state.findings.values():
                if finding.branch == branch.name and finding.culprit is None:
                    yield SearchAction(branch=branch, finding=finding)


def suspects(state: FarmState, farm: Farm, now_s: float) -> Iterator[RepeatAction | FindingAction]:
    """Alarms that ask for something: repetitions first, so that a finding has all its series."""
    alarms = judge(state.readings, budget_of(farm))
    for branch in farm.branches:
        if not is_held(state, branch, now_s):
            yield from repeats(state, branch, alarms)
    known = {
        (alarm.series, alarm.head)
        for finding in state.findings.values()
        for alarm in finding.alarms
    }
    for alarm in alarms:
        if alarm.sure and not alarm.known and (alarm.series, alarm.head) not in known:
            name = f"{alarm.series.branch}-{short(alarm.first)}"
            alike = tuple(
                other
                for other in alarms
                if other.sure
                and (other.series, other.head) not in known
                and (other.series.branch, other.first) == (alarm.series.branch, alarm.first)
            )
            yield FindingAction(finding=name, branch=alarm.series.branch, alarms=alike)


def repeats(state: FarmState, branch: Branch, alarms: Sequence[Alarm]) -> Iterator[RepeatAction]:
    """The repetition that suspects of a branch's last head ask for."""
    of = state.branch(branch.name)
    last = of.last
    if last is None or last.previous is None:
        return
    done = sum(1 for repetition in of.repeated if repetition.head == last.head)
    series = {
        alarm.series
        for alarm in alarms
        if not alarm.sure and alarm.series.branch == branch.name and alarm.head == last.head
    }
    if series and done < REPEATS_MAX:
        yield RepeatAction(branch=branch, of=last, series=tuple(sorted(series)), number=done + 1)


def heads(state: FarmState, farm: Farm, now_s: float) -> Iterator[MeasurementAction]:
    """Heads that wait, the oldest of each branch first."""
    for branch in farm.branches:
        waiting = state.branch(branch.name).waiting
        if waiting and not is_held(state, branch, now_s):
            yield MeasurementAction(branch=branch, waiting=waiting[0])


def looks(state: FarmState, farm: Farm, now_s: float) -> Iterator[LookAction]:
    """Branches that it is time to look at."""
    for branch in farm.branches:
        if next_look_s(state, farm, branch) <= now_s:
            yield LookAction(branch=branch)


def next_look_s(state: FarmState, farm: Farm, branch: Branch) -> float:
    """The Unix time of the next look: after some minutes, or with the next day (UTC)."""
    of = state.branch(branch.name)
    if of.looked_s is None:
        return 0.0
    if branch.every == "night" and of.reached:
        return (of.looked_s // DAY_S + 1) * DAY_S
    return of.looked_s + 60 * farm.poll_minutes


def is_held(state: FarmState, branch: Branch, now_s: float) -> bool:
    """Whether a branch waits, as something was in its way."""
    held_s = state.branch(branch.name).held_s
    return held_s is not None and now_s < held_s + HOLD_S


def times(state: FarmState, farm: Farm) -> Iterator[float]:
    """The Unix times at which something may be due."""
    for branch in farm.branches:
        yield next_look_s(state, farm, branch)
        held_s = state.branch(branch.name).held_s
        if held_s is not None:
            yield held_s + HOLD_S
    if farm.report_command is not None:
        for finding in state.findings.values():
            if finding.delivered < finding.reported:
                yield next_try_s(finding)


def budget_of(farm: Farm) -> Budget:
    """What the farm may spend on errors."""
    commits = any(branch.every == "commit" for branch in farm.branches)
    return Budget(
        false_reports_a_quarter=farm.false_reports_a_quarter,
        heads_a_quarter=COMMITS_A_QUARTER if commits else NIGHTS_A_QUARTER,
    )


# --- Does -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ActionContext:
    """What actions are done with. `write_report` may write the same report again."""

    farm: Farm
    hands: FarmWorker
    now: Callable[[], float]  # Unix time
    write_report: Callable[[FarmFinding], ReportMessage]

    def event(self, state: FarmState, action: Action) -> journal.Event:
        """Does it; what the journal says of it. Raises DiskError; other DynoErrors are events."""
        match action:
            case (
                LookAction(branch=branch)
                | MeasurementAction(branch=branch)
                | RepeatAction(branch=branch)
                | SearchAction(branch=branch)
            ):
                try:
                    return self.of_branch(state, action)
                except DiskError:
                    raise
                except DynoError as error:
                    why = str(error)
                if isinstance(action, LookAction):
                    return journal.LookEntry(at_s=self.now(), branch=branch.name, why=why)
                return journal.HoldEntry(at_s=self.now(), branch=branch.name, why=why)
            case FindingAction():
                return journal.FindingEntry(
                    at_s=self.now(),
                    finding=action.finding,
                    branch=action.branch,
                    alarms=action.alarms,
                )
            case ResolutionAction(finding=finding, by=by):
                return resolved(self.now(), finding, by)
            case ReportAction(finding=finding):
                self.write_report(finding)
                return journal.ReportEntry(
                    at_s=self.now(), finding=finding.name, revision=finding.revision
                )
            case DeliveryAction(finding=finding):
                return self.delivered(finding)
        raise AssertionError("waiting is not done here")

    def of_branch(
        self, state: FarmState, action: LookAction | MeasurementAction | RepeatAction | SearchAction
    ) -> journal.Event:
        """What the hands did for a branch."""
        match action:
            case LookAction(branch=branch):
                sight = self.hands.look(branch, state.branch(branch.name).tip or branch.since)
                return looked(self.now(), state, branch, sight)
            case MeasurementAction():
                return self.measured(state, action)
            case RepeatAction():
                return self.repeated(action)
            case SearchAction(finding=finding, branch=branch):
                begun_s = self.now()
                culprit = self.hands.search(finding, branch)
                now_s = self.now()
                return journal.SearchEntry(
                    at_s=now_s, finding=finding.name, culprit=culprit, seconds=now_s - begun_s
                )

    def measured(
        self, state: FarmState, action: MeasurementAction
    ) -> journal.MeasurementEntry | journal.SkipEntry:
        """A head was measured, or cannot be."""
        branch, head = action.branch, action.waiting.head.commit
        previous = state.branch(branch.name).previous
        pair = HeadPair(branch=branch, head=head, previous=previous, seen_s=action.waiting.seen_s)
        try:
            measurement = self.hands.measure(pair)
        except ServerError as error:
            return journal.SkipEntry(at_s=self.now(), branch=branch.name, head=head, why=str(error))
        return journal.MeasurementEntry(
            at_s=self.now(), branch=branch.name, head=head, previous=previous,
            pinned=measurement.pinned, readings=measurement.readings,
            folders=measurement.folders, seconds=measurement.seconds,
            build_s=measurement.build_s, why=measurement.why,
        )  # fmt: skip

    def repeated(self, action: RepeatAction) -> journal.RepeatEntry:
        """Suspects were measured again, or cannot be."""
        of, name = action.of, action.branch.name
        pair = HeadPair(branch=action.branch, head=of.head, previous=of.previous, seen_s=of.at_s)
        try:
            measurement = self.hands.repeat(pair, action.series, action.number)
        except ServerError as error:
            return journal.RepeatEntry(
                at_s=self.now(), branch=name, head=of.head, number=action.number, readings=(),
                why=str(error),
            )  # fmt: skip
        return journal.RepeatEntry(
            at_s=self.now(), branch=name, head=of.head, number=action.number,
            readings=measurement.readings, folders=measurement.folders,
            seconds=measurement.seconds, build_s=measurement.build_s, why=measurement.why,
        )  # fmt: skip

    def delivered(
        self, finding: FarmFinding
    ) -> journal.DeliveryEntry | journal.FailedDeliveryEntry:
        """The report command got a report."""
        why = self.hands.deliver(self.write_report(finding))
        if why:
            return journal.FailedDeliveryEntry(
                at_s=self.now(), finding=finding.name, revision=finding.reported, why=why
            )
        return journal.DeliveryEntry(
            at_s=self.now(), finding=finding.name, revision=finding.reported
        )


def looked(now_s: float, state: FarmState, branch: Branch, sight: BranchState) -> journal.LookEntry:
    """What a look comes to: heads that were measured or skipped before are none."""
    of = state.branch(branch.name)
    known = {done.head for done in of.measured} | {done.head for done in of.skipped}
    kept = still_on(of.waiting, sight.parted) if sight.rewritten else of.waiting
    known |= {each.head.commit for each in kept}
    heads = tuple(head for head in sight.heads if head.commit not in known)
    return journal.LookEntry(
        at_s=now_s, branch=branch.name, heads=heads, tip=sight.tip,
        since=sight.since, parted=sight.parted, rewritten=sight.rewritten, why=sight.why,
    )  # fmt: skip


def resolved(now_s: float, finding: FarmFinding, by: FarmFinding) -> journal.ResolutionEntry:
    """A finding that a later one takes back."""
    assert by.culprit is not None and finding.culprit is not None, "both were searched"
    return journal.ResolutionEntry(
        at_s=now_s,
        finding=finding.name,
        by=by.name,
        commit=by.culprit.commit,
        reverted=finding.culprit.commit in by.culprit.reverts,
    )
