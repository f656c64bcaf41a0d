"""Words for undecided changes, and explanations of a table's intervals.

The level carries no word there. A direction and an interval are said all the same, since somebody
has to decide today; docs/method.md says what the words of verdicts rest on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from dbdyno.model import Bound, metric
from dbdyno.model.metric.primary import is_cpu
from dbdyno.model.verdict import Judgement, Verdict
from dbdyno.report import number

Lean = Literal["slower", "faster"]

LEANS_P_MAX = 0.2
"""A larger p names no direction: then the 80 % interval holds no change."""

LENT_SHOWN = 1 / 3
"""Where lending made an interval narrower or wider by this share, both are shown."""


def lean(judgement: Judgement) -> Lean | None:
    """Which way a metric leans that cannot be told; None: no direction.

    It leans where its 80 % interval lies to one side of no change: p of the t test up to 0.2.
    However small the true change is, at most one lean in ten is then the wrong way; but where
    nothing differs, one metric in five leans. So a lean is less than a verdict, and is said
    beside “cannot tell” alone. Who stood still in a block leans no way: p knows nothing of that.
    """
    p = judgement.p
    if judgement.word != "cannot tell" or p is None or p > LEANS_P_MAX or judgement.ratio == 1:
        return None
    if judgement.blocks != judgement.blocks_all:
        return None
    less = metric.less_is_better(judgement.metric)
    return "slower" if (judgement.ratio > 1) == less else "faster"


def direction(judgements: Sequence[Judgement]) -> str:
    """Which way they lean together: leans slower, leans both ways; no direction where none does."""
    leans = dict.fromkeys(way for judgement in judgements if (way := lean(judgement)) is not None)
    return f"leans {'both ways' if len(leans) > 1 else next(iter(leans))}" if leans else NOWHERE


NOWHERE = "no direction"


def of_step(verdict: Verdict) -> str:
    """Which way a step leans that cannot be told, by the metrics that cannot tell."""
    return direction(
        [judgement for judgement in verdict.judgements if judgement.word == "cannot tell"]
    )


def excluded(judgement: Judgement) -> str:
    """How large a change is still possible by the 95 % interval, in words; nothing without one.

    Both sides: not excluded: −3.1 to +14.0 %. One side alone where no change that matters is left
    on it, but one is on the other: at most 2.1 % slower, at most 0.4 % more.
    """
    low, high, margin = judgement.low, judgement.high, judgement.margin
    if low is None or high is None:
        return ""
    below, above = 1 / (1 + margin) <= low <= 1, 1 <= high <= 1 + margin
    more, less = ("more", "less") if is_cpu(judgement.metric) else ("faster", "slower")
    if metric.less_is_better(judgement.metric) and not is_cpu(judgement.metric):
        more, less = less, more
    if below and high > 1 + margin:
        return f"at most {number.size_of_change(low)} {less}"
    if above and low < 1 / (1 + margin):
        return f"at most {number.size_of_change(high)} {more}"
    return f"not excluded: {' to '.join(number.change_ends(low, high))} %"


def change(judgement: Judgement, of: Bound = "exact") -> str:
    """An undecided change: +1.1 % [−0.3, +4.6], at most 0.3 % slower; −5 %; not excluded: ….

    The interval stands once. Nothing is excluded of a ratio that the generator's limit bounds.
    """
    words = excluded(judgement) if of == "exact" or is_cpu(judgement.metric) else ""
    if not words:
        return number.changes(judgement.ratio, judgement.low, judgement.high)
    whole = words.startswith("not excluded")
    first = (
        number.change(judgement.ratio)
        if whole
        else number.changes(judgement.ratio, judgement.low, judgement.high)
    )
    return f"{first}{'; ' if whole else ', '}{words}"


def own_interval_differs(judgement: Judgement) -> bool:
    """Whether what other steps lent changed the width of the interval by a third or more."""
    ends = (judgement.low, judgement.high, judgement.own_low, judgement.own_high)
    low, high, own_low, own_high = ends
    if low is None or high is None or own_low is None or own_high is None:
        return False
    shown, own = high - low, own_high - own_low
    return abs(shown - own) >= LENT_SHOWN * own > 0


# --- What stands under a table ---------------------------------------------------------------


def despite(judgement: Judgement) -> bool:
    """Whether the interval leaves out no change where the word is that it cannot be told."""
    low, high = judgement.low, judgement.high
    if judgement.word != "cannot tell" or low is None or high is None:
        return False
    return not low <= 1 <= high


def legend(judgements: Sequence[Judgement]) -> Iterable[str]:
    """Explains leaning and the mark of borrowed degrees, if the table has any."""
    if any(lean(judgement) is not None for judgement in judgements):
        yield (
            "“Leans”: the 80 % interval lies to one side; for equal arms, one metric in five "
            "leans by chance."
        )
    if any(judgement.lent for judgement in judgements):
        yield "⁺ⁿ: up to n degrees of freedom lent by other steps."


def lent_mark(lent: float) -> str:
    """The mark behind an interval: ⁺² degrees of freedom borrowed, rounded up; or nothing."""
    return f"⁺{str(math.ceil(lent)).translate(_RAISED)}" if lent > 0 else ""


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
