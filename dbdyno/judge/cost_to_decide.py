"""The time of a further block, estimated from the measured ones."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from statistics import median

from dbdyno.evidence.damaged_files import Damage
from dbdyno.judge.golden_copies import Kept
from dbdyno.model.verdict import Judgement
from dbdyno.store import BlockFolder

SECONDS_PER_MINUTE = 60.0


def minutes_per_block(blocks: Sequence[BlockFolder], copies: Kept, lost: Damage) -> float | None:
    """The median of what these blocks took by the wall clock; None where none of them says it.

    A further block begins with the golden copies that there are and does all steps: blocks that
    made one, or did only some steps, count only where there are no others.
    """
    seconds = {block.number: lost.usable(block.lasted_s) for block in blocks}
    made = {number for (_, number, _), copy in copies.items() if not copy.began}
    partial = {block.number for block in blocks if block.steps() is not None}
    return _minutes(seconds, made | partial) or _minutes(seconds, ())


def _minutes(seconds: dict[int, float | None], without: Collection[int]) -> float | None:
    known = [it for number, it in seconds.items() if it is not None and number not in without]
    return median(known) / SECONDS_PER_MINUTE if known else None


def priced(judgements: Iterable[Judgement], minutes: float | None) -> list[Judgement]:
    """The judgements with the time that the blocks still needed would take."""
    return [
        judgement
        if minutes is None or judgement.blocks_needed is None
        else replace(judgement, minutes_needed=judgement.blocks_needed * minutes)
        for judgement in judgements
    ]
