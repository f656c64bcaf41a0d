"""Where a step's rate changed its plateau, and what else changed in the same seconds.

What changes together need not have to do with each other: nothing here is a cause. How often an
event would be met by chance is told with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from dbdyno.analysis.step.evidence import Evidence
from dbdyno.analysis.step.role_seconds import headline_rates
from dbdyno.analysis.step.second_values import Numbers, SecondValues, second_values
from dbdyno.model import Span
from dbdyno.model.rate_change import Event, Moved, RateChange
from dbdyno.stats import plateau, rate_shape

EDGE_S = 1.0
"""How far from a change an event may lie: ticks, readings and logs have seconds of their own."""
NEAR_MIN = 10
"""Sampled seconds on each side of a change, with fewer of which a value has no plateau there."""


def rate_changes(evidence: Evidence, spans: Sequence[Span]) -> tuple[RateChange, ...]:
    """The changes of plateau of a long timed step, in their order; none of a flat one."""
    seconds = headline_rates(evidence)
    ticks = [tick for tick, _ in seconds]
    rates = np.array([rate for _, rate in seconds])
    changes = rate_shape.changes(rates.tolist())
    if not changes:
        return ()
    values = second_values(evidence, ticks, rates)
    ends_s = [ticks[0].end_s - ticks[0].seconds, *(tick.end_s for tick in ticks)]
    with_others = []
    for change in changes:
        place = change.place
        bare = RateChange(
            at_s=ends_s[place.at],
            first_s=ends_s[place.first],
            last_s=ends_s[place.last],
            before=change.before,
            after=change.after,
        )
        with_others.append(_with_others(bare, place, values, spans, ends_s))
    return tuple(with_others)


def _with_others(
    bare: RateChange,
    place: plateau.Place,
    values: Iterable[SecondValues],
    spans: Sequence[Span],
    ends_s: Sequence[float],
) -> RateChange:
    """The change with what else changed there; a gradual one as it is."""
    if not bare.sharp:
        return bare
    moved = [pair for value in values if (pair := _moved(value, place)) is not None]
    surest = sorted(moved, key=lambda pair: -pair[0])
    return replace(
        _met(bare, spans, ends_s[0], ends_s[-1]),
        moved=tuple(change for _, change in surest),
    )


def _moved(sampled: SecondValues, place: plateau.Place) -> tuple[float, Moved] | None:
    """A value whose plateau changed there too, and how surely; None of any other."""
    begin = max(place.at - rate_shape.NEAR_SECONDS, 0)
    near: Numbers = sampled.values[begin : place.at + rate_shape.NEAR_SECONDS]
    known = np.flatnonzero(np.isfinite(near))
    cut = int(np.searchsorted(known, place.at - begin))
    if min(cut, len(known) - cut) < NEAR_MIN:
        return None
    values = near[known]
    plateaus = plateau.plateaus(values, cut)
    least = max(sampled.least, sampled.share * max(abs(plateaus.before), abs(plateaus.after)))
    if plateaus.errors < plateau.SURE or abs(plateaus.after - plateaus.before) < least:
        return None
    edges = plateau.place(values)
    first, last = (begin + int(known[min(at, len(known) - 1)]) for at in (edges.first, edges.last))
    if first > place.last + EDGE_S or last < place.first - EDGE_S:
        return None
    return plateaus.errors, Moved(name=sampled.name, before=plateaus.before, after=plateaus.after)


def _met(bare: RateChange, spans: Sequence[Span], begin_s: float, end_s: float) -> RateChange:
    """The change with the events within its bounds, and how often it would meet such by chance."""
    before_s = bare.at_s - bare.first_s + EDGE_S  # how far an event may lie before, or after
    after_s = bare.last_s - bare.at_s + EDGE_S
    near: list[tuple[float, Event]] = []
    moments: dict[str, list[float]] = {}
    for span in spans:
        for moment_s, edge in _edges(span):
            if begin_s < moment_s < end_s:
                event = Event(kind=span.kind, edge=edge, label=span.label)
                moments.setdefault(event.what, []).append(moment_s)
                if -before_s <= moment_s - bare.at_s <= after_s:
                    near.append((moment_s, event))
    window_s = end_s - begin_s
    return replace(
        bare,
        events=tuple(event for _, event in sorted(near, key=lambda pair: pair[0])),
        by_chance={
            what: _covered_s(sorted(moments_s), after_s, before_s, begin_s, end_s) / window_s
            for what, moments_s in moments.items()
        },
    )


def _edges(span: Span) -> tuple[tuple[float, Literal["began", "ended"]], ...]:
    return (span.start_s, "began"), (span.end_s, "ended")


def _covered_s(
    moments: Sequence[float], before_s: float, after_s: float, begin_s: float, end_s: float
) -> float:
    """Seconds of the window that lie so near one of the moments, which are in order."""
    covered, reached_s = 0.0, begin_s
    for moment_s in moments:
        until_s = min(moment_s + after_s, end_s)
        covered += max(until_s - max(moment_s - before_s, reached_s), 0.0)
        reached_s = max(reached_s, until_s)
    return covered
