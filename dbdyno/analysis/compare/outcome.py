"""What an arm, or the base, did instead of being compared: targets it missed, runs that failed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbdyno.analysis.compare.pairing import Facing, Still
from dbdyno.analysis.step import damaged_files
from dbdyno.model import StepRun
from dbdyno.model.verdict import Word

COMPARED_MIN = 2
"""Blocks; with fewer left a failure is what there is to say of a step."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What was done, and whether that is the verdict."""

    word: Word | None  # None: the tests decide
    text: str  # in words; empty where all went well
    stood_still: str  # of these, who had no throughput in which blocks


def of(faced: Facing, still: Still, *, compared: int, ran: int) -> Outcome:
    """The outcome of an arm in a step, beside its base.

    `still`: where a throughput of 0 was measured; `compared`: blocks that have both; `ran`: those
    in which neither stood still.
    """
    own, bases = faced.runs, faced.base_runs
    stood = "; ".join(_stood(still, faced, ran))
    said = (*_said(own, ""), *_said(bases, f"{faced.base} "), stood)
    text = "; ".join(filter(None, said))
    return Outcome(word=_word((*own, *bases), compared), text=text, stood_still=stood)


def _stood(still: Still, faced: Facing, ran: int) -> Iterable[str]:
    """In how many blocks who stood still, and what is left for the interval."""
    count = number_of_blocks(len(faced.runs))
    for who, blocks in (("", still.own), (f"{faced.base} ", still.base)):
        if blocks:
            yield f"{who}stood still in {len(blocks)} of {count}"
    if still.both:
        yield f"both stood still in {len(still.both)} of {count}, of which nothing is compared"
    if any(still) and ran > 1:
        yield f"the interval is of the {ran} in which both ran"


def number_of_blocks(count: int) -> str:
    """1 block, 6 blocks."""
    return f"{count} block{'s' * (count != 1)}"


def _word(runs: Sequence[StepRun], compared: int) -> Word | None:
    if compared < COMPARED_MIN and any(run.status != "ok" for run in runs):
        lost = all(_is_damaged(run) for run in runs if run.status != "ok")
        return "not compared" if lost else "failed"
    return "target missed" if any(run.sla_met is False for run in runs) else None


def _is_damaged(run: StepRun) -> bool:
    return (run.reason or "").startswith(damaged_files.PREFIX)


def _said(runs: Sequence[StepRun], who: str) -> Iterable[str]:
    """What these runs did, a part of a sentence for each kind."""
    count = f"of {number_of_blocks(len(runs))}"
    if any(run.sla_met is False for run in runs):
        target = next(run.sla_target for run in runs if run.sla_target is not None)
        met = sum(run.sla_met is True for run in runs)
        yield f"{who}held {target:,.0f} rows/s in {met} {count}"
    damaged = sum(_is_damaged(run) for run in runs)
    failed = sum(run.status == "failed" for run in runs) - damaged
    skipped = sum(run.status == "skipped" for run in runs)
    for number, what in ((failed, "failed"), (skipped, "skipped"), (damaged, "damaged")):
        if number:
            yield f"{who}{what} in {number} {count}"
