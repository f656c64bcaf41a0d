"""What an arm, or the base, did instead of being compared: targets it missed, runs that failed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbdyno.analysis import damage
from dbdyno.analysis.nearest import Facing
from dbdyno.model import StepRun
from dbdyno.verdict import Word

COMPARED_MIN = 2
"""Blocks; with fewer left a failure is what there is to say of a step."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What was done, and whether that is the verdict."""

    word: Word | None  # None: the tests decide
    text: str  # in words; empty where all went well


def of(faced: Facing, *, compared: int) -> Outcome:
    """The outcome of an arm in a step, beside its base; `compared`: blocks that have both."""
    own, bases = faced.runs, faced.base_runs
    text = "; ".join((*_said(own, ""), *_said(bases, f"{faced.base} ")))
    return Outcome(word=_word((*own, *bases), compared), text=text)


def _word(runs: Sequence[StepRun], compared: int) -> Word | None:
    if compared < COMPARED_MIN and any(run.status != "ok" for run in runs):
        lost = all(_is_damaged(run) for run in runs if run.status != "ok")
        return "not compared" if lost else "failed"
    return "target missed" if any(run.sla_met is False for run in runs) else None


def _is_damaged(run: StepRun) -> bool:
    return (run.reason or "").startswith(damage.PREFIX)


def _said(runs: Sequence[StepRun], who: str) -> Iterable[str]:
    """What these runs did, a part of a sentence for each kind."""
    count = f"of {len(runs)} block{'s' * (len(runs) != 1)}"
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
