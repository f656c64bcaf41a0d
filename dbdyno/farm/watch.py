"""Follows a farm's branches: decides, does, and keeps what was done, until nothing is due.

All that it knows stands in the journal. What is seen at a look without news is not kept: after a
break the branch is looked at again.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dbdyno.farm import findings, outlet, state
from dbdyno.farm.file import Farm
from dbdyno.farm.hands import FarmWorker
from dbdyno.farm.journal import (
    DeliveryEntry,
    Event,
    FailedDeliveryEntry,
    FindingEntry,
    HoldEntry,
    Journal,
    LookEntry,
    MeasurementEntry,
    RepeatEntry,
    ReportEntry,
    ResolutionEntry,
    SearchEntry,
    SkipEntry,
    StartEntry,
)
from dbdyno.farm.loop import Action, ActionContext, LookAction, WaitAction, next_action
from dbdyno.farm.state import FarmState
from dbdyno.model.bisection import short
from dbdyno.model.error import DiskError, PlanError

FULL_S = 60.0
"""Between two tries where the disk takes nothing."""
SLEEP_S_MAX = 3600.0


@dataclass(frozen=True, kw_only=True)
class WatchClock:
    """The time, and how it passes."""

    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


class Watcher:
    """A farm that is followed by this process, which has its journal."""

    def __init__(
        self, farm: Farm, journal: Journal, hands: FarmWorker, say: Callable[[str], None],
        clock: WatchClock | None = None,
    ) -> None:  # fmt: skip
        """Raises ResultError: a damaged journal; PlanError: another file's folder."""
        self._farm = farm
        self._journal = journal
        self._say = say
        self._clock = clock or WatchClock()
        self.state = state.fold(journal.events())
        self._doing = ActionContext(
            farm=farm,
            hands=hands,
            now=self._clock.now,
            write_report=lambda finding: outlet.write(farm, finding),
        )
        self._begin()

    def once(self) -> None:
        """Looks at every branch, and does all that is due. Raises DiskError."""
        for branch in self._farm.branches:
            self._do(LookAction(branch=branch))
        while not isinstance(action := self._next(), WaitAction):
            self._do(action)

    def always(self) -> None:
        """Goes on for ever; a full disk is told once, and tried again."""
        said = ""
        while True:
            try:
                action = self._next()
                if isinstance(action, WaitAction):
                    rest_s = max(0.0, action.until_s - self._clock.now())
                    self._clock.sleep(min(SLEEP_S_MAX, rest_s))
                else:
                    self._do(action)
            except DiskError as error:
                if str(error) != said:
                    self._say(f"{error}; dyno tries again each minute")
                said = str(error)
                self._clock.sleep(FULL_S)
            else:
                said = ""

    def _begin(self) -> None:
        """Makes the folder this file's."""
        path, owner = str(self._farm.path), self.state.file
        if owner == path:
            return
        if owner and Path(owner).exists():
            raise PlanError(
                f"{path}: key `folder`: `{self._farm.folder}` is the folder of {owner}: name "
                "another one"
            )
        self._keep(StartEntry(at_s=self._clock.now(), file=path))

    def _next(self) -> Action:
        return next_action(self.state, self._farm, self._clock.now())

    def _do(self, action: Action) -> None:
        event = self._doing.event(self.state, action)
        before = self.state
        if isinstance(event, LookEntry | HoldEntry) and not is_news(before, event):
            self.state = state.after(before, event)
            return
        self._keep(event)
        for line in lines(before, self.state, event):
            self._say(line)

    def _keep(self, event: Event) -> None:
        self._journal.append(event)
        self.state = state.after(self.state, event)


def is_news(before: FarmState, event: LookEntry | HoldEntry) -> bool:
    """Whether a look has seen anything, or a wait has a reason, that the journal does not have."""
    branch = before.branch(event.branch)
    if isinstance(event, HoldEntry):
        return event.why != branch.trouble
    if event.heads or event.rewritten or (event.since and event.since != branch.since):
        return True
    moved = bool(event.tip) and event.tip != branch.tip
    return moved or event.why != branch.odd


def lines(before: FarmState, now: FarmState, event: Event) -> list[str]:
    """What a person is told of an event; what was told before is not told again."""
    match event:
        case LookEntry(branch=name, why=why):
            return [f"{name}: {why}"] if why and why != before.branch(name).odd else []
        case HoldEntry(branch=name, why=why):
            return [f"{name}: waits: {why}"]
        case SkipEntry(branch=name):
            return [f"{name} {short(event.head)}: skipped: {event.why}"]
        case MeasurementEntry(branch=name):
            odd = f"; {event.why}" if event.why else ""
            return [
                f"{name} {short(event.head)}: measured in {event.seconds:.0f} s, built in "
                f"{event.build_s:.0f} s{odd}"
            ]
        case RepeatEntry(branch=name):
            odd = f": {event.why}" if event.why else ""
            return [f"{name} {short(event.head)}: measured again ({event.number}){odd}"]
        case FindingEntry():
            series = ", ".join(
                f"{alarm.series.step[1]} {alarm.series.metric}" for alarm in event.alarms
            )
            return [f"{event.finding}: changed: {series}"]
        case SearchEntry(finding=name, culprit=culprit):
            who = short(culprit.commit) or "no single commit"
            return [f"{name}: {who} {culprit.subject}".rstrip()]
        case ResolutionEntry():
            return [f"{event.finding}: back since {short(event.commit)}"]
        case ReportEntry(finding=name):
            return [f"report: {findings.title(findings.report(now.findings[name], None))}"]
        case DeliveryEntry(finding=name):
            return [f"{name}: the report command took revision {event.revision}"]
        case FailedDeliveryEntry(finding=name):
            first = before.findings[name].tries == 0
            return [f"{name}: {event.why}"] if first else []
        case StartEntry():
            return []
