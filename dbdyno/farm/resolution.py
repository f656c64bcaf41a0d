"""Whether a later finding takes an earlier one back: fixed, or reverted. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import dropwhile

from dbdyno.farm.chain import Series
from dbdyno.farm.state import Finding

LEFT_MAX = 1 / 3
"""Of a change: so much may be left of it where it is taken back."""


def by(finding: Finding, every: Iterable[Finding]) -> Finding | None:
    """The first later finding of the branch that takes this one back; None: none does.

    `every`: all findings, the oldest first, this one among them.

    A commit that says it reverts the other one does, whatever else has changed since. Any other
    does where it changes each of the series back, but for a third at most.
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


def takes_back(finding: Finding, other: Finding) -> bool:
    """Whether a later finding takes one back."""
    if finding.culprit is None or other.culprit is None or other.same_as is not None:
        return False
    if finding.culprit.commit and finding.culprit.commit in other.culprit.reverts:
        return True
    changes, back = changes_of(finding), changes_of(other)
    return all(
        series in back and abs(change + back[series]) <= LEFT_MAX * abs(change)
        for series, change in changes.items()
    )


def changes_of(finding: Finding) -> Mapping[Series, float]:
    """By series the log ratio of a finding, as its last alarm has it."""
    return {alarm.series: alarm.change.value for alarm in finding.alarms}
