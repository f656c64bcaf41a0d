"""The answer to `--tolerate 5%` in words: safe at 5 %: yes, no, not yet; and as plain values."""

import math
import re
from collections.abc import Sequence
from dataclasses import asdict

from dbdyno.model import Comparison, Json
from dbdyno.model.error import DynoError, ResultError
from dbdyno.model.metric.primary import UNDISTURBED, called
from dbdyno.model.tolerance import Answer, StepTolerance, Tolerance, worst
from dbdyno.parts import known, number

PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%")
LEAST, MOST = 0.001, 0.5
"""As the plan's `[verdict] tolerate` may be."""
NAMES_MAX = 3
"""So many steps of an arm are named, the others counted."""


def parse(text: str) -> float:
    """The share of a tolerance such as `5%`. Raises DynoError."""
    written = PERCENT.fullmatch(text.strip())
    share = float(written[1]) / 100 if written else 0.0
    if not LEAST <= share <= MOST:
        raise DynoError(f"--tolerate: `{text}`: write a percentage from 0.1% to 50%, such as 5%")
    return share


def answer(comparison: Comparison) -> Answer | None:
    """The worst answer of all arms; None where no tolerance is asked for.

    Raises ResultError where one is, and no step of an arm is judged.
    """
    if comparison.aims.tolerate is None:
        return None
    if not comparison.tolerances:
        raise ResultError(
            "--tolerate: no step of an arm beside the base is judged, so nothing is excluded"
        )
    return worst(arm.answer for arm in comparison.tolerances)


def line(comparison: Comparison) -> str:
    """Safe at 5 %: not yet (pg18: …); nothing where no tolerance is asked for."""
    tolerate = comparison.aims.tolerate
    if tolerate is None or not comparison.tolerances:
        return ""
    several = len(comparison.tolerances) > 1
    said = (f"{arm.arm}: {_arm(arm)}" if several else _arm(arm) for arm in comparison.tolerances)
    given = f"{answer(comparison)}{known.on_one_fill(comparison)}"
    return f"safe at {number.percent(tolerate)}: {given} ({'; '.join(said)})"


def document(comparison: Comparison) -> Json | None:
    """The same for programs; None where no tolerance is asked for."""
    if comparison.aims.tolerate is None:
        return None
    return {
        "tolerate": comparison.aims.tolerate,
        "answer": worst(arm.answer for arm in comparison.tolerances),
        "arms": [asdict(arm) | {"answer": arm.answer} for arm in comparison.tolerances],
    }


def _arm(tolerance: Tolerance) -> str:
    """What an arm's answer rests on, and what a missing one would take."""
    count, given = len(tolerance.steps), tolerance.answer
    steps = [step for step in tolerance.steps if step.answer == given]
    whole = f"{count} step{'s' * (count != 1)}"
    if given == "yes":
        return f"no loss beyond it in {whole}{_undisturbed(tolerance)}"
    if given == "not yet":
        return f"{len(steps)} of {whole} open; {_price(steps)}"
    lost = [f"{step.step} by {' and '.join(map(called, step.by))}" for step in steps if step.by]
    words = [f"more is lost in {number.few(lost, NAMES_MAX)}"] if lost else []
    return "; ".join([*words, *(f"{step.step} {step.reason}" for step in steps if not step.by)])


def _undisturbed(tolerance: Tolerance) -> str:
    """What undisturbed time, which gave answers alone, does not exclude; and what the tail says."""
    alone = [step for step in tolerance.steps if step.by == (UNDISTURBED,)]
    if not alone:
        return ""
    steps = f" in {len(alone)} of them" if len(alone) < len(tolerance.steps) else ""
    tails = [step for step in alone if step.tail is not None and step.tail.answer != "yes"]
    words = f" by undisturbed time{steps}, which does not see what only some operations lose"
    return f"{words}; {_tail(tails)}" if tails else words


def _tail(steps: Sequence[StepTolerance]) -> str:
    """The slowest operation in a thousand, of the step in which that takes most to exclude."""
    dearest = max(steps, key=lambda step: (step.tail and step.tail.blocks_needed) or math.inf)
    tail = dearest.tail
    assert tail is not None
    limit = f"1 in 1,000 takes up to {number.time_us(tail.us)} in {dearest.step}"
    limit += f", the base's {number.time_us(tail.base_us)}"
    if tail.answer == "no":
        return f"{limit}: more is lost"
    if tail.minutes_needed is None or tail.minutes_needed > known.NIGHT_MINUTES:
        return f"{limit}: {known.NOT_HERE}"
    return f"{limit}: to exclude the loss there takes {number.minutes(tail.minutes_needed)} more"


def _price(steps: Sequence[StepTolerance]) -> str:
    """What the dearest step takes, where nothing differs: point-query takes 12 blocks, 40 min."""
    for step in steps:
        if step.blocks_needed is None:
            return f"{step.step}: {step.reason or known.NOT_HERE}"
    dearest = max(steps, key=lambda step: step.blocks_needed or 0)
    blocks, minutes = number.blocks(dearest.blocks_needed or 0), dearest.minutes_needed
    if minutes is None:
        return f"{dearest.step} takes {blocks} more"
    if minutes > known.NIGHT_MINUTES:
        return f"{dearest.step}: {known.NOT_HERE}"
    return f"{dearest.step} takes {blocks} more, {number.minutes(minutes)}"
