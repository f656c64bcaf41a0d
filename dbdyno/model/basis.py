"""What an application's result stands on: of each stage, the share of the source's time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BasisStage = Literal["captured", "restored", "answered", "timed", "counted"]
"""`restored`: whose tables, columns and functions the copy has, as far as answers say it."""


@dataclass(frozen=True, kw_only=True)
class Gap:
    """Calls of the source of which a part says nothing, by reason."""

    reason: str
    share: float
    queries: int = 0  # 0: capture knows their calls alone
    calls: int | None = None


@dataclass(frozen=True, kw_only=True)
class BasisPart:
    """A stage of the work, and what did not reach it; shares are of all calls of the source."""

    stage: BasisStage
    share: float
    queries: int
    gaps: tuple[Gap, ...]


@dataclass(frozen=True, kw_only=True)
class Basis:
    """All parts, and where the data are from; times are in ISO 8601, None where not known."""

    by: Literal["time", "calls"]  # what shares are of; calls where no time is known
    parts: tuple[BasisPart, ...]
    lacks: tuple[str, ...] = ()  # what the dump or its restore left out
    dumped: str | None = None  # when the dump was made
    first: str | None = None  # when the first call of the source began
    last: str | None = None
    cut: tuple[str, ...] = ()  # queries whose texts the source may have cut

    def queries(self, stage: BasisStage) -> int:
        """How many queries a stage has."""
        return sum(part.queries for part in self.parts if part.stage == stage)
