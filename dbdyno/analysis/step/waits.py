"""The activity of sessions in a window, from its samples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from dbdyno.analysis.step.evidence import Evidence
from dbdyno.analysis.step.raw_files import NS_PER_S, Load
from dbdyno.model import Json, Series, WaitLoad, Waits

LAB_WAITS = "lab:waits"
BLOCKS = ("blocks.read", "blocks.hit")
"""The series of pages, in the order of a line's `blocks`."""

Sample = tuple[float, Json]
"""Active seconds since the window's start, and the line."""


def waits(evidence: Evidence) -> Waits | None:
    """The samples of the window; None where there are none."""
    samples = within(evidence.waits, evidence.load)
    if not samples:
        return None
    first, last = evidence.waits[0], evidence.waits[-1]
    count = len(samples)
    gaps_s = [after - before for (before, _), (after, _) in pairwise(samples)]
    asked_s = first["asked_ns"] / NS_PER_S
    cost = evidence.owners.get(LAB_WAITS)
    idle: Counter[str] = Counter()
    for _, line in samples:
        idle.update(line["idle"])
    return Waits(
        samples=count,
        asked_s=asked_s,
        interval_s=math.fsum(gaps_s) / len(gaps_s) if gaps_s else asked_s,
        interval_s_max=max(gaps_s, default=asked_s),
        sample_us=math.fsum(line["took_us"] for _, line in samples) / count,
        lab_cpu_us=float(last["cpu_us"]),
        server_cpu_us=None if cost is None else cost.cpu_us,
        load=loads([line for _, line in samples]),
        idle={owner: total / count for owner, total in sorted(idle.items())},
        hidden=sum(line.get("hidden", 0) for _, line in samples) / count,
        over_time=over_time(samples, evidence.load.seconds or 0.0),
    )


def within(lines: Sequence[Json], load: Load) -> list[Sample]:
    """The samples of the window, without those of pauses and of what counts for nothing."""
    if load.open_ns is None:
        return []
    found = []
    for line in lines:
        if "sessions" not in line:
            continue
        passed_s = (line["mono_ns"] - load.open_ns) / NS_PER_S
        paused = any(begun <= line["mono_ns"] < until for begun, until in load.pauses)
        if 0.0 <= passed_s <= load.passed_s and not paused:
            found.append((load.active_s(passed_s), line))
    return found


def blocks(evidence: Evidence) -> dict[str, Series]:
    """Pages a second that the server read from outside of its cache, and that it found there.

    By the samples that read the counters; x is the later one's moment. Counters that were set back
    in between leave a gap.
    """
    told = told_blocks(evidence)
    found: dict[str, Series] = {}
    for place, name in enumerate(BLOCKS):
        points = [
            (after_s, (after[place] - before[place]) / (after_s - before_s))
            for (before_s, before), (after_s, after) in pairwise(told)
            if after_s > before_s
            and all(now >= then for now, then in zip(after, before, strict=True))
        ]
        if points:
            found[name] = Series(x_s=tuple(x for x, _ in points), y=tuple(y for _, y in points))
    return found


def told_blocks(evidence: Evidence) -> list[tuple[float, tuple[int, int]]]:
    """The counters of BLOCKS by active second, from the samples of the window that read them."""
    return [
        (at_s, line["blocks"])
        for at_s, line in within(evidence.waits, evidence.load)
        if line.get("blocks") is not None
    ]


def loads(lines: Sequence[Json]) -> tuple[WaitLoad, ...]:
    """Average active sessions by all that is known of them, the most first."""
    seen: Counter[tuple[str, str, str, str]] = Counter()
    for line in lines:
        for owner, kind, event, statement, sessions in line["sessions"]:
            seen[owner, kind, event, statement] += sessions
    return tuple(
        WaitLoad(
            owner=owner,
            kind=kind,
            event=event,
            statement=statement,
            sessions=total / len(lines),
        )
        for (owner, kind, event, statement), total in sorted(
            seen.items(), key=lambda item: (-item[1], item[0])
        )
    )


def over_time(samples: Sequence[Sample], seconds: float) -> dict[str, Series]:
    """Active sessions by kind, the mean of each second's samples; x is the second's end.

    A second without a sample has no value.
    """
    counts: Counter[int] = Counter()
    by_kind: dict[str, Counter[int]] = {}
    for at_s, line in samples:
        second = int(at_s)
        counts[second] += 1
        for _, kind, _, _, sessions in line["sessions"]:
            by_kind.setdefault(kind, Counter())[second] += sessions
    places = sorted(counts)
    x_s = tuple(min(second + 1.0, seconds) for second in places)
    return {
        kind: Series(x_s=x_s, y=tuple(seen[second] / counts[second] for second in places))
        for kind, seen in sorted(by_kind.items(), key=lambda item: -item[1].total())
    }
