"""Whether a later finding takes an earlier one back: fixed, or reverted. Pure."""

from collections.abc import Iterable, Mapping
from itertools import dropwhile
from typing import TypeVar

from dbdyno.farm.chain import HeadSeries
from dbdyno.farm.journal import Culprit
from dbdyno.farm.state import FarmFinding

LEFT_MAX = 1 / 3
"""Of a change: so much may be left of it where it is taken back."""


def by(finding: FarmFinding, every: Iterable[FarmFinding]) -> FarmFinding | None:
    """The first later finding of the branch that takes this one back; None: none does.

    `every`: all findings, the oldest first, this one among them.

    A commit that says it reverts the other one does, whatever else has changed since. Any other
    does where it changes each of the series back, but for a third at most, and in each the function
    that the finding changed most: a gain of like size elsewhere fixes nothing.
    """
    if finding.culprit is None or finding.same_as is not None or finding.resolved is not None:
        return None
    later = dropwhile(lambda other: other.name != finding.name, every)
    return next(
        (
            other
            for other in later
            if other.name != finding.name
            and other.branch == finding.branch
            and takes_back(finding, other)
        ),
        None,
    )


def takes_back(finding: FarmFinding, other: FarmFinding) -> bool:
    """Whether a later finding takes one back."""
    if finding.culprit is None or other.culprit is None or other.same_as is not None:
        return False
    if finding.culprit.commit and finding.culprit.commit in other.culprit.reverts:
        return True
    if not is_back(changes_of(finding), changes_of(other)):
        return False
    most, back = largest(finding.culprit), costs_of(other.culprit)
    # Unless both were told in the same unit, the sizes alone say it.
    alike = {unit for _, _, unit in back}
    return is_back({key: change for key, change in most.items() if key[2] in alike}, back)


Key = TypeVar("Key", HeadSeries, tuple[str, str, str])


def is_back(changes: Mapping[Key, float], back: Mapping[Key, float]) -> bool:
    """Whether each change has its opposite, but for a third at most."""
    return all(
        key in back and abs(change + back[key]) <= LEFT_MAX * abs(change)
        for key, change in changes.items()
    )


def costs_of(culprit: Culprit) -> Mapping[tuple[str, str, str], float]:
    """By step, function and unit how a commit changed it."""
    return {(cost.step, cost.function, cost.unit): cost.change for cost in culprit.functions}


def largest(culprit: Culprit) -> Mapping[tuple[str, str, str], float]:
    """The same of each step's function that changed most."""
    most: dict[str, tuple[str, str, str]] = {}
    costs = costs_of(culprit)
    for key, change in costs.items():
        before = most.get(key[0])
        if before is None or abs(change) > abs(costs[before]):
            most[key[0]] = key
    return {key: costs[key] for key in most.values()}


def changes_of(finding: FarmFinding) -> Mapping[HeadSeries, float]:
    """By series the log ratio of a finding, as its last alarm has it."""
    return {alarm.series: alarm.change.value for alarm in finding.alarms}
