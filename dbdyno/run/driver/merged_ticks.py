"""Adds the ticks of several generators that share a job, as if one had counted it all.

All roles of a second are added together, as histograms are decoded faster many at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from dbdyno.model import Json
from dbdyno.stats import hdr_histogram

COUNTS = ("count", "rows", "empty", "retries")
"""Of an operation, each of which a tick always has."""
RARE_COUNTS = ("retried", "skipped", "over_limit")
"""Those that it has where they are not 0."""
HISTOGRAMS = ("response", "service", "lag", "queue")


def added(ticks: Sequence[Sequence[Json]]) -> list[Json]:
    """The ticks of one second, one for each role; `ticks`: those of each generator, by role.

    Raises ResultError where a histogram is none.
    """
    wholes = [_tick(parts) for parts in zip(*ticks, strict=True)]
    places = [place for whole in wholes for place in _histograms(whole)]
    texts = hdr_histogram.sums([its[key] for its, key in places])
    for (its, key), text in zip(places, texts, strict=True):
        its[key] = text
    return wholes


def totals(parts: Sequence[Json]) -> Json:
    """What roles did in all, by role, added."""
    return {role: _totals([part[role] for part in parts if role in part]) for role in _keys(parts)}


def _totals(parts: Sequence[Json]) -> Json:
    """A role's totals; `in_ticks` are counts within them."""
    in_ticks = [part["in_ticks"] for part in parts if "in_ticks" in part]
    whole = _counts([{key: part[key] for key in part if key != "in_ticks"} for part in parts])
    return whole | ({"in_ticks": _counts(in_ticks)} if in_ticks else {})


def _tick(parts: Sequence[Json]) -> Json:
    """A role's tick, in which each histogram is still a list of those of the generators."""
    largest = {key: max(part[key] for part in parts) for key in _LARGEST}
    sums = {key: sum(part[key] for part in parts) for key in ("backlog", "cpu_us")}
    clients = zip(*(part["per_client"] for part in parts), strict=True)
    operations = [part["operations"] for part in parts]
    connects = [part["connects"] for part in parts if part.get("connects")]
    counted_ns = [part["connection_ns"] for part in parts if part.get("connection_ns") is not None]
    return {
        **(parts[0] | largest | sums),
        "per_client": [_client(rows) for rows in clients],
        "operations": {
            name: _operation([part[name] for part in operations]) for name in _keys(operations)
        },
        **_texts(parts, ("lag", "queue")),
        **({"connection_ns": sum(counted_ns)} if counted_ns else {}),
        **({"connects": _connects(connects)} if connects else {}),
    }


_LARGEST = ("mono_ns", "active_ns", "late_us_max")


def _client(rows: Sequence[Sequence[int]]) -> list[int]:
    """A client's count, rows, errors and longest response; all but one generator have zeros."""
    *counts, longest = zip(*rows, strict=True)
    return [*map(sum, counts), max(longest)]


def _operation(parts: Sequence[Json]) -> Json:
    whole = {key: sum(part[key] for part in parts) for key in COUNTS}
    rare = {key: sum(part.get(key, 0) for part in parts) for key in RARE_COUNTS}
    failed = _counts([part.get("failed", {}) for part in parts])
    return {
        **whole,
        "max_us": max(part["max_us"] for part in parts),
        "errors": _counts([part["errors"] for part in parts]),
        **{key: count for key, count in rare.items() if count},
        **({"failed": failed} if failed else {}),
        **_texts(parts, ("response", "service")),
        **_sums_us([part["sums_us"] for part in parts if part.get("sums_us")]),
    }


def _texts(parts: Sequence[Json], keys: Sequence[str]) -> Json:
    return {key: [part[key] for part in parts] for key in keys}


def _histograms(tick: Json) -> Iterator[tuple[Json, str]]:
    """Where a tick has histograms."""
    for its in (tick, *tick["operations"].values()):
        yield from ((its, key) for key in HISTOGRAMS if key in its)


def _counts(parts: Sequence[Json]) -> Json:
    """Counts by name, added."""
    whole: Counter[str] = Counter()
    for part in parts:
        whole.update(part)
    return dict(whole)


def _sums_us(parts: Sequence[Json]) -> Json:
    """Sums of times, and of their squares, where anything completed."""
    if not parts:
        return {}
    pairs = {key: zip(*(part[key] for part in parts), strict=True) for key in parts[0]}
    return {"sums_us": {key: [sum(one) for one in its] for key, its in pairs.items()}}


def _connects(parts: Sequence[Json]) -> Json:
    longest = max(part["max_us"] for part in parts)
    return _counts(parts) | {"max_us": longest}


def _keys(parts: Sequence[Json]) -> list[str]:
    """The keys of any of them, in their order."""
    return list(dict.fromkeys(key for part in parts for key in part))
