"""The looks of a plan: after which blocks it is judged, and with what share of the level.

Shares sum to 1 at most, so that however often a plan is looked at and continued, the chance of a
false alarm stays that of one look at the whole level (Jennison & Turnbull 1989, repeated p values).
"""

from collections.abc import Iterator

from dbdyno.model.looks import Look, LookProgress, Looks

UNTIL_DECIDED = (3, 4, 6, 8, 12, 20, 30)
"""Blocks after which a plan that runs until it is decided is looked at, with equal shares."""

BLOCKS_MAX = 1000
"""No plan has more blocks."""

BLOCKS_MIN = 2
"""A single block has no spread, so that there is nothing to look at."""


def scheduled(looks: Looks) -> tuple[Look, ...]:
    """All looks there can be, in their order.

    `blocks = N`: ½ of the level at N, ¼ at 2N, ⅛ at 4N, and so on. "until decided": equal shares
    at UNTIL_DECIDED; where the time was over before, the look with which it ended has all that is
    left, and there is none after it.
    """
    if looks.first is not None:
        return tuple(_halving(max(looks.first, BLOCKS_MIN)))
    share = 1 / len(UNTIL_DECIDED)
    last = looks.last
    even = [Look(blocks=blocks, share=share) for blocks in UNTIL_DECIDED]
    if last is None:
        return tuple(even)
    before = [look for look in even if look.blocks < last]
    left = 1 - len(before) * share
    ends = last >= BLOCKS_MIN and left > share / 2  # after the last of them there is nothing left
    return (*before, *([Look(blocks=last, share=left)] if ends else ()))


def _halving(first: int) -> Iterator[Look]:
    blocks, share = first, 0.5
    while blocks <= BLOCKS_MAX:
        yield Look(blocks=blocks, share=share)
        blocks, share = 2 * blocks, share / 2


def looked(looks: Looks, blocks: int) -> LookProgress:
    """How far they have come where blocks 1 to `blocks` are complete."""
    everything = scheduled(looks)
    taken = tuple(look for look in everything if look.blocks <= blocks)
    coming = next((look for look in everything if look.blocks > blocks), None)
    return LookProgress(looks=looks, taken=taken, coming=coming)
