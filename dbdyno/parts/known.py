"""What stands beside *open*: the loss that is excluded, and what a check would take.

The level carries no word there, but somebody has to decide today; docs/method.md says what the
words of verdicts rest on.
"""

import math
from collections.abc import Iterable, Sequence

from dbdyno.model import Bound, Comparison, metric
from dbdyno.model.metric.primary import UNDISTURBED, called, is_second
from dbdyno.model.open_steps import needs_blocks
from dbdyno.model.verdict import TOO_FEW, Judgement, Verdict, is_wide
from dbdyno.parts import number

LENT_SHOWN = 1 / 3
"""Where lending made an interval narrower or wider by this share, both are shown."""
NEAREST_MIN = 2.0
"""A factor: where all blocks lie beyond it to one side, that is said, however open the size."""
NIGHT_MINUTES = 12 * 60.0
"""What takes longer is not measured on this machine."""
NOT_HERE = "not on this machine"
NONE = "none"
MORE_FILLS = "more fills"
"""Where these are what is counted, further blocks of the same ones tell little more."""


def bound(verdict: Verdict, of: Bound = "exact") -> str:
    """What the blocks of an open step exclude: no loss beyond 2.1 %; nothing of another."""
    open_ones = undecided(verdict)
    return "; ".join(filter(None, (*map(every_block, open_ones), excluded(telling(open_ones), of))))


def on_one_fill(comparison: Comparison) -> str:
    """What every word rests on whose blocks begin from one fill of each arm: ` on one fill`."""
    return " on one fill" if comparison.one_fill else ""


def undecided(verdict: Verdict) -> list[Judgement]:
    """The open metrics of an open step; none of another, or of one whose word is withheld."""
    if verdict.word != "open" or verdict.withheld:
        return []
    return [judgement for judgement in verdict.judgements if judgement.word == "open"]


def telling(judgements: Sequence[Judgement]) -> Sequence[Judgement]:
    """Those of a verdict's judgements that tell the loss that it leaves: undisturbed time by itself
    is enough.
    """
    return [each for each in judgements if each.metric == UNDISTURBED] or judgements


def excluded(judgements: Iterable[Judgement], of: Bound = "exact") -> str:
    """What the 95 % intervals exclude: no loss beyond 2.1 %; no loss; too few repeats.

    A loss is less throughput, more seconds, or more CPU per operation. Nothing without an interval,
    and nothing of a ratio that the generator's limit bounds.
    """
    largest = loss(judgements, of)
    if not largest:
        return ""
    if largest == TOO_FEW:
        return largest
    return "no loss" if largest == NONE else f"no loss beyond {largest}"


def loss(judgements: Iterable[Judgement], of: Bound = "exact") -> str:
    """The largest loss that the intervals leave: 2.1 %; none; too few repeats; or nothing."""
    losses = []
    for judgement in judgements:
        _, low, high = judgement.told
        if low is None or high is None or (of != "exact" and not is_second(judgement.metric)):
            return ""
        if is_wide(low, high):
            return TOO_FEW
        losses.append(high - 1 if metric.less_is_better(judgement.metric) else 1 - low)
    largest = max(losses, default=None)
    if largest is None:
        return ""
    return number.size_of_change(1 + largest) if largest > 0 else NONE


def width(judgement: Judgement) -> float:
    """How wide the interval of a judgement is, as a logarithm; infinite where it has none."""
    _, low, high = judgement.told
    return math.log(high / low) if low and high else math.inf


def every_block(judgement: Judgement) -> str:
    """Throughput at least 2.31 times the base's in each of 4 blocks; nothing below 2."""
    nearest = judgement.nearest
    if nearest is None or 1 / NEAREST_MIN < nearest < NEAREST_MIN:
        return ""
    bound = f"at {'least' if nearest > 1 else 'most'} {number.ratio(nearest)}"
    blocks = number.blocks(judgement.blocks)
    return f"{called(judgement.metric)} {bound} times the base's in each of {blocks}"


def to_check(judgements: Iterable[Judgement]) -> str:
    """To check 3 % here: 3 h 11 min; nothing where no metric waits for blocks."""
    open_ones = [judgement for judgement in judgements if needs_blocks(judgement)]
    takes = price(open_ones)
    if not takes:
        return ""
    share = number.percent(open_ones[0].margin)
    return f"to check {share}{' here' if takes != NOT_HERE else ''}: {takes}"


def price(judgements: Iterable[Judgement]) -> str:
    """The time to settle the step: 40 min; 5 blocks where no block says its time."""
    waiting = [judgement for judgement in judgements if needs_blocks(judgement)]
    if not waiting or any(judgement.reason for judgement in waiting):
        return ""
    if any(judgement.metric == UNDISTURBED for judgement in waiting):
        # One of the two is enough.
        waiting = [min(waiting, key=lambda judgement: judgement.blocks_needed or math.inf)]
    blocks = [judgement.blocks_needed for judgement in waiting]
    minutes = [judgement.minutes_needed for judgement in waiting]
    if None in blocks:
        return MORE_FILLS if any(judgement.fills for judgement in waiting) else NOT_HERE
    if None in minutes:
        return number.blocks(max(filter(None, blocks)))
    longest = max(filter(None, minutes))
    return number.minutes(longest) if longest <= NIGHT_MINUTES else NOT_HERE


def own_interval_differs(judgement: Judgement) -> bool:
    """Whether what other steps lent changed the width of the interval by a third or more."""
    ends = (judgement.so_far.low, judgement.so_far.high, judgement.own_low, judgement.own_high)
    low, high, own_low, own_high = ends
    if low is None or high is None or own_low is None or own_high is None:
        return False
    shown, own = high - low, own_high - own_low
    return abs(shown - own) >= LENT_SHOWN * own > 0


# --- What stands under a table ---------------------------------------------------------------


def despite(judgement: Judgement) -> bool:
    """Whether the interval leaves out no change though the word is open."""
    _, low, high = judgement.told
    if judgement.word != "open" or judgement.reason or low is None or high is None:
        return False
    return not low <= 1 <= high


def legend(judgements: Sequence[Judgement]) -> str:
    """Explains the mark of borrowed degrees, if the table has any."""
    lent = any(judgement.lent for judgement in judgements)
    return "⁺ⁿ: up to n degrees of freedom lent by other steps." if lent else ""


def lent_mark(lent: float) -> str:
    """The mark behind an interval: ⁺² degrees of freedom borrowed, rounded up; or nothing."""
    return f"⁺{str(math.ceil(lent)).translate(_RAISED)}" if lent > 0 else ""


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
