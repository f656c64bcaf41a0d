"""The conclusions about a step taken as a duet: types only."""

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
    """The basis of a step's verdict, and the reason."""

    judged: Literal["duet", "solo", "nothing"]  # by solo turns, where a check fails
    checks: tuple[DuetCheck, ...]
    text: str  # what is said beside the verdict; empty where the duet is judged

    @property
    def failed(self) -> tuple[DuetCheck, ...]:
        """The checks that fail."""
        return tuple(check for check in self.checks if check.state == "fails")
