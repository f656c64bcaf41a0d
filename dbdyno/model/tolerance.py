"""Whether a loss is excluded: what `--tolerate 5%` asks of each arm (docs/method.md)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Answer = Literal["yes", "no", "not yet"]
"""Whether every loss beyond the tolerance is excluded. `no`: one was shown, or a step failed."""


@dataclass(frozen=True, kw_only=True)
class TailTolerance:
    """Whether a loss beyond the tolerance is excluded of the slowest operation in a thousand.

    It has no part in the answer of the step, which undisturbed time alone may give.
    """

    answer: Answer
    us: (
        float | None
    )  # no more than one operation in a thousand takes longer, with a chance of 97.5 %
    base_us: float | None  # the base's own, a geometric mean
    blocks_needed: int | None = None  # further ones to exclude the loss where nothing differs
    minutes_needed: float | None = None


@dataclass(frozen=True, kw_only=True)
class StepTolerance:
    """The answer of a step."""

    workload: str
    step: str
    answer: Answer
    by: tuple[str, ...] = ()  # the metrics that lost more, do not exclude it yet, or exclude it
    reason: str = ""  # in words, where no test of more blocks would give the answer
    blocks_needed: int | None = None  # further ones to exclude it where nothing differs
    minutes_needed: float | None = None
    tail: TailTolerance | None = None  # where undisturbed time is asked


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """The answer of an arm over all steps."""

    arm: str
    steps: tuple[StepTolerance, ...]

    @property
    def answer(self) -> Answer:
        """The worst answer of its steps."""
        return worst(step.answer for step in self.steps)


def worst(answers: Iterable[Answer]) -> Answer:
    """*no* before *not yet* before *yes*; of none *not yet*."""
    given = set(answers)
    if "no" in given:
        return "no"
    return "yes" if given == {"yes"} else "not yet"
