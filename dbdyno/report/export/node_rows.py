"""The rows of what nodes found of each arm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from dbdyno.model import Comparison, Json
from dbdyno.model.nodes import ByNode


def nodes(comparison: Comparison) -> Iterator[Json]:
    """A row for each node of each arm, step and primary metric."""
    for step in comparison.steps:
        for cell in step.cells:
            place: Json = {
                "workload": step.workload,
                "ordinal": step.ordinal,
                "step": step.step,
                "base": comparison.base,
                "arm": cell.arm,
            }
            for node in cell.nodes:
                yield from (place | row for row in _rows(node))


def _rows(one: ByNode) -> Iterator[Json]:
    together = {
        "metric": one.metric,
        "agreement": one.agreement,
        "p": one.p,
        "q": one.q,
        "spread": one.spread,
        "spread_low": one.spread_low,
        "spread_high": one.spread_high,
        "machines_ratio": one.ratio,
        "machines_low": one.low,
        "machines_high": one.high,
        "freedom": one.freedom,
    }
    yield from (together | asdict(node) for node in one.nodes)
