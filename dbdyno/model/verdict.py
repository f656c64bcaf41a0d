"""What is concluded of a comparison: verdicts, what they would still take, causes, calibration.

Types only, like `model`, which has them in its cells; docs/method.md says how each is arrived at.
Changes and margins are shares: 0.03 is three percent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from dbdyno.model.ratio import PairedEstimate

Word = Literal["faster", "slower", "same", "open", "failed"]
"""A verdict; no two can be true of one arm in one step.

`same`: within the margin, and no change seen. `open`: not decided, by the scatter of so few blocks
or for a `Reason`. `failed`: what the arm, or the base, did instead of being compared.
"""

Reason = Literal[
    "",
    "one block",
    "blocks drift",
    "generator at its limit",
    "calls longer than turns",
    "nothing to compare",
    "target missed",
]
"""What a word is open for, or failed by, where that is not the scatter, or a failure, of blocks.

`one block`: nothing is decided. `blocks drift`: they are likelier to depend on each other than not.
`generator at its limit`: on the side that would decide; so are
`calls longer than turns`, of which none could be counted. `nothing to compare`: a value is missing.
`target missed`: the step ran, and did not hold its rate.
"""

BOUNDED: frozenset[Reason] = frozenset({"generator at its limit", "calls longer than turns"})
"""The reasons for which a ratio is at least, or at most, what was seen."""

CHANGED: frozenset[Word] = frozenset({"faster", "slower"})
"""The words that count as false alarms between equal arms."""


TOO_FEW = "too few repeats"
"""In place of an interval of ratios that is wider than a factor of WIDE."""
WIDE = 10.0
TIMES_MIN = 2.0
"""A ratio from which on it is said in times, and no longer in percent."""


def is_wide(low: float, high: float) -> bool:
    """Whether an interval of ratios is so wide that its ends say nothing."""
    return low <= 0 or high > WIDE * low


@dataclass(frozen=True, kw_only=True)
class Aims:
    """The aims of a comparison, from the plan's `[verdict]`."""

    margin: float = 0.03  # a change up to this does not matter
    effect: float = 0.03  # a change as large as this is to be found …
    power: float = 0.80  # … in this share of comparisons
    level: float = 0.05  # of false alarms, in comparisons in which nothing differs
    tolerate: float | None = None  # the loss beyond which each is to be excluded; None: not asked

    def asking(self, tolerate: float | None) -> Aims:
        """The same with another tolerance; None: with its own."""
        return self if tolerate is None else replace(self, tolerate=tolerate)


Order = Literal["place", "predecessor"]
"""What the order of the arms may do to a block: the arm came before the base or after it; each of
the two ran after the other or after itself."""


@dataclass(frozen=True, kw_only=True)
class OrderEffect:
    """An effect of the order of the arms on log ratios."""

    pattern: Order
    by: float  # log ratio: after the base, less before it; after each other, less after themselves
    left: float  # what of it the orders of these blocks leave in the mean


DEPENDENCE_BLOCKS_MIN = 8
"""Fewer blocks tell next to nothing of whether they depend on each other."""
DRIFT_MAX = 0.5
"""Where blocks are likelier to depend on each other than not, no word rests on them."""


@dataclass(frozen=True, kw_only=True)
class Dependence:
    """How far blocks depend on each other, and what that does to an interval."""

    drift: float  # how likely they depend on each other in time, by all steps with these blocks
    widened: float  # by so much the interval is wider than that of independent blocks
    followed: tuple[OrderEffect, ...] = ()  # effects of the order beyond chance

    @property
    def withholds(self) -> bool:
        """Whether blocks depend on each other too much for a word."""
        return self.drift > DRIFT_MAX


@dataclass(frozen=True, kw_only=True)
class LookResult:
    """A judgement at one look; docs/method.md, "Beside a decided word"."""

    blocks: int  # of the plan, when it was looked at
    share: float  # of the level
    estimate: PairedEstimate  # median-unbiased over what earlier looks could have shown


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """One metric of an arm by that of the nearest base, over the blocks that have both.

    Where one of the two stood still in some blocks, ratio, interval, p and p_sign are of those in
    which both ran; q is of that p and p_still together (docs/method.md). Where blocks begin from
    fills enough, these are what is counted, each with the mean of its blocks.
    """

    metric: str
    blocks: int
    fills: int | None = None  # that the tests count, of these blocks; None: they count blocks
    so_far: PairedEstimate  # by all of these; its ratio 0 or infinite where no block is left
    p: float | None  # two-sided, by t on the log ratios of all blocks so far
    p_sign: float | None  # exact sign-flip test of the same
    q: float | None  # of the step: its repeated p after Benjamini-Hochberg within its family
    sd: float | None  # standard deviation of the log ratios between blocks, as they have it
    margin: float
    word: Word
    within_margin: bool = False  # of a change: too small to matter
    reason: Reason = ""
    nearest: float | None = None  # the block nearest to no change, where all lie to one side
    visible: float | None = None  # the smallest change that so many blocks find
    blocks_needed: int | None = None  # further ones, where it is open; None: too many
    minutes_needed: float | None = None
    stood_still: int = 0  # blocks (fills) beside these in which the arm alone had a throughput of 0
    base_stood_still: int = 0  # and in which the base alone had
    p_still: float | None = None  # sign test over all of these; None: neither stood still
    lent: float = 0.0  # degrees of freedom that other steps lent to interval, p and equivalence
    own_low: float | None = None  # the interval by the own blocks' `sd` alone, where any were lent
    own_high: float | None = None
    look: LookResult | None = None  # on which the word rests; None: it rests on none, or not yet
    dependence: Dependence | None = None  # of blocks; None: of a single one, or of fills
    base_us: float | None = None  # of undisturbed time: the base's, a geometric mean of the blocks

    @property
    def blocks_all(self) -> int:
        """The blocks that count, those in which one of the two stood still with them."""
        return self.blocks + self.stood_still + self.base_stood_still

    @property
    def rests_on(self) -> LookResult | None:
        """The look whose figures stand beside the word; None: nothing is decided, or by no look."""
        return self.look if self.word in CHANGED or self.word == "same" else None

    @property
    def estimate(self) -> PairedEstimate:
        """What stands beside the word: of the look that it rests on, else of all blocks."""
        return self.so_far if self.rests_on is None else self.rests_on.estimate

    @property
    def told(self) -> tuple[float, float | None, float | None]:
        """The ratio with the ends of its interval."""
        return self.estimate.value, self.estimate.low, self.estimate.high


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict on an arm in a step."""

    word: Word  # of the metrics that disagree the worse one's
    within_margin: bool = False  # of a change: too small to matter
    reason: Reason = ""
    by: tuple[str, ...]  # the metrics that say so
    against: tuple[str, ...] = ()  # those that say faster where the word is slower
    judgements: tuple[Judgement, ...]  # of the primary metrics: the headline first
    outcome: str = ""  # what the arm did, in words: "held 1,000 rows/s in 2 of 6 blocks"
    stood_still: str = ""  # of the outcome: "stood still in 2 of 6 blocks; …"
    withheld: bool = False  # the tests give figures and no word, as the outcome says
    witness: str = ""  # of instructions per operation, in words; it decides nothing


def shaded(of: Judgement | Verdict) -> str:
    """The word with its shade: slower; slower, within the margin."""
    return f"{of.word}, within the margin" if of.within_margin else of.word


@dataclass(frozen=True, kw_only=True)
class OverallRatio:
    """An arm's geometric mean over all steps that compare, with its interval from blocks' means."""

    arm: str
    workload: str
    steps: int
    judgement: Judgement  # of one step its own; the metric is "throughput" where headlines differ


@dataclass(frozen=True, kw_only=True)
class Cause:
    """A cost that changed with the step, or a plan that did."""

    metric: str  # a metric's name; "plan" where a query plan changed
    words: str  # "9.6 % more CPU of the server per query [8.1, 11.2]"
    judgement: Judgement | None = None  # None of a plan


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Why an arm is faster or slower in a step, as far as anything measured says."""

    text: str  # the sentence, with figures and intervals
    causes: tuple[Cause, ...]
    unchanged: tuple[str, ...]  # metrics of which was seen that they did not change
    explained: bool  # False: nothing measured explains it
    why: str = ""  # the sentence without the change itself


@dataclass(frozen=True, kw_only=True)
class Noise:
    """How much two arms that are the same differ in a step from block to block."""

    workload: str
    step: str
    metric: str
    blocks: int
    sd: float  # of log ratios
    sd_low: float  # 95 % interval by the chi-squared distribution
    sd_high: float
    visible: float | None  # smallest change that one comparison finds; None: none has a number
    largest: float  # of what comparisons of this noise saw though nothing differs: 97.5 % quantile


@dataclass(frozen=True, kw_only=True)
class FillNoise:
    """How much two arms that are the same differ in a step from fill to fill.

    Standard deviations of log ratios, with 95 % intervals where the numbers give them.
    """

    workload: str
    step: str
    metric: str
    fills: int
    blocks: int
    sd: float  # between fills; 0: the scatter between blocks explains all
    sd_low: float | None
    sd_high: float | None
    blocks_sd: float  # between blocks of one fill
    blocks_sd_low: float | None
    blocks_sd_high: float | None
    means_sd: float  # between the fills' means, noise of their blocks with it: what reports add


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The result of comparing the base with itself."""

    arm: str  # the base's A/A arm
    comparisons: int
    blocks_each: int
    tests: int  # primary metrics of all steps, in all comparisons
    rejected: int  # of these, with p under the level
    rate: float  # of rejected tests, with its Clopper-Pearson interval
    rate_low: float
    rate_high: float
    false_verdicts: int  # that something changed, by the whole procedure
    comparisons_false: int  # with any of them
    false_low: float  # Clopper-Pearson interval of their share
    false_high: float
    p_uniform: float | None  # of a Kolmogorov-Smirnov test that p values are uniform
    noise: tuple[Noise, ...]
    fills: tuple[FillNoise, ...] = ()  # of steps that begin from several fills
