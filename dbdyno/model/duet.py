"""What is concluded of a step that two arms took in a duet: types only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["holds", "warns", "fails"]


@dataclass(frozen=True, kw_only=True)
class DuetCheck:
    """One of the checks that a duet has to pass, with what it saw."""

    name: str
    state: State
    text: str  # its figures


@dataclass(frozen=True, kw_only=True)
class Duet:
    """What a step is judged by, and why."""

    judged: Literal["duet", "solo", "nothing"]  # by solo turns, where a check fails
    checks: tuple[DuetCheck, ...]
    text: str  # what is said beside the verdict; empty where the duet is judged

    @property
    def failed(self) -> tuple[DuetCheck, ...]:
        """The checks that fail."""
        return tuple(one for one in self.checks if one.state == "fails")
