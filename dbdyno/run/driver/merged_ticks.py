"""Adds the ticks of several generators that share a job, as if one had counted it all.

All roles of a second are added together, as histograms are decoded faster many at once.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.model.events import (
    Sums,
    Tick,
    TickPart,
    Totals,
)
from dbdyno.stats import hdr_histogram
from dbdyno.stats.amounts import longest, total

Counts = TypeVar("Counts", bound=Struct)


def added(ticks: Sequence[Sequence[Tick]]) -> list[Tick]:
    """The ticks of one second, one for each role; `ticks`: those of each generator, by role.

    Raises ResultError where a histogram is none.
    """
    roles = [list(parts) for parts in zip(*ticks, strict=True)]
    wholes = [_tick(parts) for parts in roles]
    places = [
        place
        for parts, whole in zip(roles, wholes, strict=True)
        for place in _histograms(parts, whole)
    ]
    texts = hdr_histogram.sums([parts for _, _, parts in places])
    for (whole, key, _), text in zip(places, texts, strict=True):
        setattr(whole, key, text)
    return wholes


def totals(parts: Sequence[Mapping[str, Totals]]) -> dict[str, Totals]:
    """What roles did in all, by role, added."""
    return {role: _totals([part[role] for part in parts if role in part]) for role in _keys(parts)}


def _totals(parts: Sequence[Totals]) -> Totals:
    in_ticks = [part.in_ticks for part in parts if part.in_ticks is not None]
    return _added(parts, in_ticks=_added(in_ticks) if in_ticks else None)


def _added(parts: Sequence[Counts], **others: object) -> Counts:
    """What has counts, with each count added; `others`: the fields that are none."""
    form = type(parts[0])
    counts = {
        name: total(getattr(part, name) for part in parts)
        for name in form.__struct_fields__
        if name not in others
    }
    return form(**counts, **others)


def _tick(parts: Sequence[Tick]) -> Tick:
    """A role's tick, whose histograms are to come."""
    clients = zip(*(part.per_client for part in parts), strict=True)
    operations = [part.operations for part in parts]
    connects = [part.connects for part in parts if part.connects is not None]
    counted_ns = [part.connection_ns for part in parts if part.connection_ns is not None]
    return replace(
        parts[0],
        mono_ns=max(part.mono_ns for part in parts),
        active_ns=max(part.active_ns for part in parts),
        late_us_max=longest(part.late_us_max for part in parts),
        backlog=total(part.backlog for part in parts),
        cpu_us=total(part.cpu_us for part in parts),
        # Of each client all but one generator have zeros.
        per_client=[_added(rows, max_us=longest(row.max_us for row in rows)) for rows in clients],
        operations={
            name: _operation([part[name] for part in operations]) for name in _keys(operations)
        },
        connection_ns=sum(counted_ns) if counted_ns else None,
        connects=_added(connects, max_us=max(part.max_us for part in connects))
        if connects
        else None,
    )


def _operation(parts: Sequence[TickPart]) -> TickPart:
    """An operation's part, whose histograms are to come."""
    sums_us = [part.sums_us for part in parts if part.sums_us is not None]
    return _added(
        parts,
        errors=_counts(part.errors for part in parts),
        failed=_counts(part.failed for part in parts) or None,
        max_us=longest(part.max_us for part in parts),
        response=None,
        service=None,
        sums_us=_sums_us(sums_us) if sums_us else None,
    )


def _histograms(
    parts: Sequence[Tick], whole: Tick
) -> Iterator[tuple[Tick | TickPart, str, list[str]]]:
    """Where a merged tick is to have histograms, and those that are added there."""
    texts: list[tuple[Tick | TickPart, str, list[str | None]]] = [
        (whole, "lag", [part.lag for part in parts]),
        (whole, "queue", [part.queue for part in parts]),
    ]
    for name, operation in whole.operations.items():
        own = [part.operations[name] for part in parts]
        texts.append((operation, "response", [part.response for part in own]))
        texts.append((operation, "service", [part.service for part in own]))
    for place, key, each in texts:
        written = [text for text in each if text is not None]
        if len(written) == len(each):
            yield place, key, written


def _counts(parts: Iterable[Mapping[str, int] | None]) -> dict[str, int]:
    """Counts by name, added."""
    whole: Counter[str] = Counter()
    for part in parts:
        whole.update(part or {})
    return dict(whole)


def _sums_us(parts: Sequence[Sums]) -> Sums:
    return Sums(
        response=_pair(part.response for part in parts),
        service=_pair(part.service for part in parts),
        late=_pair(part.late for part in parts),
    )


def _pair(pairs: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The sum of sums, and that of sums of squares."""
    first, second = zip(*pairs, strict=True)
    return sum(first), sum(second)


def _keys(parts: Sequence[Mapping[str, object]]) -> list[str]:
    """The keys of any of them, in their order."""
    return list(dict.fromkeys(key for part in parts for key in part))
