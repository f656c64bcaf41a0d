"""After which blocks a result was looked at, and when it will be next, in words."""

from collections.abc import Sequence
from fractions import Fraction

from dbdyno.model import Comparison
from dbdyno.model.looks import Look, LookProgress
from dbdyno.model.open_steps import open_steps
from dbdyno.parts import number

_GLYPHS = {Fraction(1, 2): "½", Fraction(1, 4): "¼", Fraction(1, 8): "⅛"}
_DENOMINATOR_MAX = 1000


def share(of_level: float) -> str:
    """A look's share of the level: ½, 1/16, 5/7, all."""
    exact = Fraction(of_level).limit_denominator(_DENOMINATOR_MAX)
    return "all" if exact == 1 else _GLYPHS.get(exact, str(exact))


def sentence(comparison: Comparison) -> str:
    """Which looks were taken and which is next; nothing where nothing is judged by looks or blocks.

    Looked at after 4 blocks (½ of the level); next look after 8 blocks (4 more, about 12 min).
    """
    looked = comparison.looked
    if looked is None:
        return ""
    coming = _coming(comparison, looked)
    if not looked.taken:
        return f"Not looked at yet, so nothing is decided; {coming}." if coming else ""
    if looked.looks.first is None and not open_steps(comparison.steps):
        coming = "every step is decided"
    return f"Looked at after {_taken(looked.taken)}; {coming or _over(looked)}."


def _taken(taken: Sequence[Look]) -> str:
    """4 blocks (½ of the level); 3 and 4 blocks (1/7 of the level each); 4 (½) and 8 blocks (¼)."""
    shares = [share(look.share) for look in taken]
    if len(taken) == 1:
        return f"{number.blocks(taken[0].blocks)} ({shares[0]} of the level)"
    if len(set(shares)) == 1:
        which = number.listed(look.blocks for look in taken)
        return f"{which} blocks ({shares[0]} of the level each)"
    each = [f"{look.blocks} ({text})" for look, text in zip(taken, shares, strict=True)]
    return f"{number.listed(each)} blocks, each with this share of the level"


def _coming(comparison: Comparison, looked: LookProgress) -> str:
    """The next look and its price: next look after 8 blocks (4 more, about 12 min)."""
    coming = looked.coming
    if coming is None:
        return ""
    more = coming.blocks - comparison.blocks
    prices = (
        judgement.minutes_needed / judgement.blocks_needed
        for judgement in comparison.judgements
        if judgement.blocks_needed and judgement.minutes_needed is not None
    )
    minutes = next(prices, None)
    time = f", about {number.minutes(more * minutes)}" if minutes is not None else ""
    which = "next" if looked.taken else "first"
    most = looked.looks.minutes_max
    limit = "" if most is None else f", or when the plan's {number.minutes(most)} are over"
    return f"{which} look after {number.blocks(coming.blocks)} ({more} more{time}){limit}"


def _over(looked: LookProgress) -> str:
    """Why there is no look any more."""
    last = looked.looks.last
    if last is None:
        return "there is no further look"
    if looked.taken[-1].blocks == last:
        return f"time ran out after {number.blocks(last)}: the last look"
    return f"time ran out after {number.blocks(last)}, after all looks"
