"""A ratio, or another figure, with its interval."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """A ratio, or a mean over blocks, with its 95 % t interval on logs (None with one block)."""

    value: float
    low: float | None
    high: float | None
    blocks: int
