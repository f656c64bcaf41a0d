"""Whether blocks depend on each other, in a sentence."""

from collections.abc import Iterator, Sequence

from dbdyno.model import Comparison
from dbdyno.model.verdict import DEPENDENCE_BLOCKS_MIN, Dependence, Order
from dbdyno.parts import number

ASSUMED = f"Under {DEPENDENCE_BLOCKS_MIN} blocks do not show whether they depend on each other"
WIDENED_MIN = 1.05
"""Intervals that are wider by less are as those of independent blocks."""
_FOLLOWED: dict[Order, str] = {
    "place": "with the arm's place in the order",
    "predecessor": "with the arm that ran before",
}


def sentence(comparison: Comparison) -> str:
    """What is known of it, over all steps and arms; nothing where nothing is judged.

    Blocks depend on each other with up to 31 %: intervals are up to 1.4 times as wide as those of
    independent ones.
    """
    judgements = [judgement for judgement in comparison.judgements if judgement.p is not None]
    known = [judgement.dependence for judgement in judgements if judgement.dependence is not None]
    if not known:
        return ""
    few = max(judgement.blocks for judgement in judgements) < DEPENDENCE_BLOCKS_MIN
    drift = max(blocks.drift for blocks in known)
    seen = f"Blocks depend on each other with up to {number.number(100 * drift, 0)} %"
    seen = "; ".join((f"{ASSUMED}, so that some is assumed" if few else seen, *_followed(known)))
    widened = max(blocks.widened for blocks in known)
    wide = f"up to {number.number(widened, 1)} times" if widened >= WIDENED_MIN else "about"
    drifting = any(blocks.withholds for blocks in known)
    ends = "; no word rests on those that drift" if drifting else ""
    return f"{seen}: intervals are {wide} as wide as those of independent ones{ends}."


def _followed(found: Sequence[Dependence]) -> Iterator[str]:
    """The largest effect of each kind of the order."""
    for pattern, words in _FOLLOWED.items():
        sizes = [
            abs(effect.by) for one in found for effect in one.followed if effect.pattern == pattern
        ]
        if sizes:
            yield f"ratios change by up to {number.number(100 * max(sizes), 1)} % {words}"
