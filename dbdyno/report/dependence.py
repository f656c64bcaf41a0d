"""Whether blocks depend on each other, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.model import Comparison
from dbdyno.model.verdict import DEPENDENCE_BLOCKS_MIN, Dependence, Judgement, Order
from dbdyno.report import number

ASSUMED = f"Blocks are assumed to be independent: {DEPENDENCE_BLOCKS_MIN} are needed to test it."
WIDENED_MIN = 1.05
"""Intervals that are wider by less are as those of independent blocks."""
CORRELATION_MIN = 0.05
"""Less is no correlation to speak of."""
_FOLLOWED: dict[Order, str] = {
    "place": "with the arm's place in the order",
    "predecessor": "with the arm that ran before",
}


def sentence(comparison: Comparison) -> str:
    """What is known of it, over all steps and arms; nothing where nothing is judged.

    Neighbouring blocks correlate by up to 0.31: intervals are up to 1.4 times as wide.
    """
    judgements = [judgement for judgement in _judgements(comparison) if judgement.p is not None]
    found = [judgement.dependence for judgement in judgements if judgement.dependence is not None]
    if not found:
        return ASSUMED if judgements else ""
    seen = "; ".join(_seen(found))
    if not seen:
        return "Blocks show no dependence on each other."
    seen = seen[0].upper() + seen[1:]
    widened = max(one.widened for one in found)
    if widened < WIDENED_MIN:
        return f"{seen}, which widens no interval."
    return f"{seen}: intervals are up to {number.number(widened, 1)} times as wide."


def _seen(found: Sequence[Dependence]) -> Iterator[str]:
    """The largest autocorrelation, and the largest effect of each kind of the order."""
    most = max(one.autocorrelation for one in found)
    if most >= CORRELATION_MIN:
        yield f"neighbouring blocks correlate by up to {number.number(most, 2)}"
    for pattern, words in _FOLLOWED.items():
        sizes = [
            abs(effect.by) for one in found for effect in one.followed if effect.pattern == pattern
        ]
        if sizes:
            yield f"ratios change by up to {number.number(100 * max(sizes), 1)} % {words}"


def _judgements(comparison: Comparison) -> Iterator[Judgement]:
    for step in comparison.steps:
        for cell in step.cells:
            if cell.verdict is not None:
                yield from cell.verdict.judgements
    yield from (one.judgement for one in comparison.overall)
