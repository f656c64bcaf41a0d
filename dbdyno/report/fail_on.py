"""`dyno compare --fail-on`: the verdicts that make it end with status 1, as CI wants it.

A word counts as it stands: `slower` does not mean `slower, within the margin`. The A/A arm
never counts: what it is said to differ by is a false alarm.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator
from typing import get_args

from dbdyno.model import Comparison
from dbdyno.model.error import DynoError, ResultError
from dbdyno.model.verdict import Word
from dbdyno.report.json_document import aa_arm

WORDS: tuple[Word, ...] = get_args(Word)
"""The verdicts there are."""
BETWEEN = re.compile(r",(?!\s*within the margin)")
"""Separates the words of a list, but not those of `slower, within the margin`."""


def parse(text: str) -> tuple[Word, ...]:
    """The verdicts of a list such as `slower,mixed`. Raises DynoError where one is none."""
    return tuple(_word(part) for part in BETWEEN.split(text))


def _word(text: str) -> Word:
    said = ", ".join(" ".join(part.split()) for part in text.split(","))
    for word in WORDS:
        if said == word:
            return word
    near = difflib.get_close_matches(said, WORDS, n=1)
    known = ", ".join(f"`{word}`" for word in WORDS)
    hint = f"did you mean `{near[0]}`?" if near else f"there are {known}"
    raise DynoError(f"--fail-on: `{said}`: no such verdict; {hint}")


def found(comparison: Comparison, words: Collection[Word]) -> str | None:
    """Which arms have one of the words in which steps, in a line; None where none has.

    Raises ResultError where no step of an arm is judged at all: that is no “nothing found”.
    """
    alone = len({step.workload for step in comparison.steps}) < 2
    its: dict[str, dict[Word, list[str]]] = {}
    judged = False
    for arm, where, word in _verdicts(comparison):
        judged = True
        if word in words:
            step = where[1] if alone else "/".join(where)
            its.setdefault(arm, {}).setdefault(word, []).append(step)
    if not judged:
        raise ResultError(
            f"--fail-on: no step of an arm is judged: {_why(comparison)}; leave --fail-on out to "
            "see what there is"
        )
    lines = (f"{arm}: {_places(by_word)}" for arm, by_word in its.items())
    return "; ".join(lines) or None


def _verdicts(comparison: Comparison) -> Iterator[tuple[str, tuple[str, str], Word]]:
    """The verdicts of all arms but the A/A arm: arm, workload and step, word."""
    excepted = aa_arm(comparison)
    for step in comparison.steps:
        for cell in step.cells:
            if cell.verdict is not None and cell.arm != excepted:
                yield cell.arm, (step.workload, step.step), cell.verdict.word


def _places(by_word: dict[Word, list[str]]) -> str:
    return ", ".join(f"{word} in {' and '.join(steps)}" for word, steps in by_word.items())


def _why(comparison: Comparison) -> str:
    others = set(comparison.arms) - {comparison.base, aa_arm(comparison)}
    if not others:
        return "there is no arm beside the base"
    return comparison.incomplete or "no step that is done has a headline"
