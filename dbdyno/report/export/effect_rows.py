"""The rows of effects: what each factor of an attribution does."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.model import Comparison, Json
from dbdyno.model.attribution import Attribution
from dbdyno.model.ratio import Ratio
from dbdyno.report.estimate_form import of_ratio


def effects(comparison: Comparison) -> Iterator[Json]:
    """A row for the whole, each effect, each interaction and the remainder."""
    for step in comparison.steps:
        place: Json = {"workload": step.workload, "ordinal": step.ordinal, "step": step.step}
        for attribution in step.attributions:
            yield from (place | {"metric": attribution.metric} | row for row in _rows(attribution))


def _rows(one: Attribution) -> Iterator[Json]:
    yield _row("whole", (), one.whole)
    for effect in one.effects:
        yield _row("effect", effect.factors, effect.change, effect.q)
    for effect in one.interactions:
        yield _row("interaction", effect.factors, effect.change, effect.q)
    if one.remainder is not None:
        yield _row("remainder", (), one.remainder)


def _row(kind: str, factors: tuple[str, ...], change: Ratio | None, q: float | None = None) -> Json:
    factor, other, *_ = (*factors, None, None)
    return {
        "kind": kind,
        "factor": factor,
        "other": other,
        **of_ratio(change),
        "q": q,
    }
