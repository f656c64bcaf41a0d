"""The chain of paired ratios: what a farm has measured of a branch's heads, one after the other.

A head is measured in the same blocks as the head before it and as the pinned release. Its two log
ratios are all that decisions rest on (`farm.alarm`). Pure.
"""

from typing import Literal

from msgspec import Struct

from dbdyno.model.metric import less_is_better
from dbdyno.model.step import StepName
from dbdyno.model.work import WorkWord
from dbdyno.stats.interval import t_quantile

CONFIDENCE = 0.95
Against = Literal["previous", "pinned"]
"""What a head is compared with: the head before it, or the pinned release."""
Instrument = Literal["work", "time"]
"""How a head was measured: by the instructions that an operation executes, or by time."""


class LogRatio(Struct, frozen=True, kw_only=True):
    """ln(head / other) of a metric; its standard error by blocks or repeats of this plan alone."""

    value: float
    standard_error: float
    degrees: float  # of freedom of the standard error
    word: WorkWord | None = None  # of counts: what is said of them (`stats.work`)
    withheld: str = ""  # why that is nothing

    @property
    def may_be_news(self) -> bool:
        """Whether the rule of counts says more or less work; of time it says nothing."""
        return self.word in {None, "more", "less"}

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of its 95 % interval: Student's."""
        half = t_quantile((1 + CONFIDENCE) / 2, self.degrees) * self.standard_error
        return self.value - half, self.value + half


class HeadSeries(Struct, frozen=True, kw_only=True, order=True):
    """What is followed from head to head: a metric of a step of a branch."""

    branch: str
    step: StepName  # workload and step
    instrument: Instrument
    metric: str  # "instructions", or a primary metric: "qps", "cpu_per_op" …

    def is_worse(self, log_ratio: float) -> bool:
        """Whether a head with this log ratio is worse than what it is compared with."""
        less = self.instrument == "work" or less_is_better(self.metric)
        return (log_ratio > 0) == less


class Reading(Struct, frozen=True, kw_only=True):
    """One metric of one step of a head, as one plan has measured it.

    Readings of a branch stand in the order of its heads. A repetition follows the head's first
    reading, before any reading of a later head; both of its builds have another layout.
    """

    series: HeadSeries
    head: str  # commit
    previous: str | None = None  # the head that was measured before; None: there is none
    taken_s: float  # Unix time at which the plan began
    against_previous: LogRatio | None = None
    against_pinned: LogRatio | None = None
    repetition: int = 0  # 0: the first reading of this head

    def against(self, other: Against) -> LogRatio | None:
        """The head's ratio to one of both; None where that was not measured."""
        return self.against_previous if other == "previous" else self.against_pinned


class Budget(Struct, frozen=True, kw_only=True):
    """What a farm may spend on errors, over all its steps, metrics, branches and nights."""

    false_reports_a_quarter: float = 1.0  # expected, at most
    heads_a_quarter: float = 91.3  # of each branch: that are measured; a night each
    suspects_a_quarter: float = 200.0  # measured again although nothing changed, expected, at most


class Alarm(Struct, frozen=True, kw_only=True):
    """A change of a series, and how strong the evidence is.

    A *suspect* asks for a repetition; a *sure* alarm is within the budget of false reports, and
    asks for the commit and a report.
    """

    series: HeadSeries
    head: str  # at which the alarm rose: the last that was measured
    first: str  # the head by which it had changed, with 95 % probability
    good: str  # the last head before the change: a search begins after it and ends with `first`
    seen_against: Against
    change: LogRatio  # of the heads since `first` to those before
    log_evidence: float  # ln of an e-value, or of the sum of those by where the change began
    log_limit: float  # from which on an alarm is sure
    sure: bool
    known: bool = False  # an earlier sure alarm, or a stronger one, tells the same of this step
