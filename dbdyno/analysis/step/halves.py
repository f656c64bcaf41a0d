"""The two halves of a step that two arms took in a duet: what each is judged by, over each of them.

Between them the arms swapped cores, so that a ratio of the whole window would weigh the two by
chance; of the halves' log ratios the mean is taken (compare/pairing.py).
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from dbdyno.analysis.step import evidence, metrics
from dbdyno.analysis.step.evidence import Evidence
from dbdyno.analysis.step.raw_files import NS_PER_S, Host
from dbdyno.model import Half
from dbdyno.model.metric.primary import CONNECTIONS_CPU, CPU, SESSIONS_CPU


def halves(whole: Evidence) -> tuple[Half, ...]:
    """Both halves; none of a step that was no duet, or did not pause once in its window.

    The second in which the swap came counts for the second half: a duet pauses at a whole second.
    """
    load = whole.load
    if whole.turns is None or whole.turns.duet is None or len(load.pauses) != 1:
        return ()
    if load.open_ns is None or load.seconds is None:
        return ()
    ((paused_ns, settled_ns),) = load.pauses
    active_s = (paused_ns - load.open_ns) / NS_PER_S
    cut_s = round(active_s) + 0.5  # ticks before it end with the first half, or a moment earlier
    closed_ns = settled_ns + round((load.seconds - active_s) * NS_PER_S)
    first, second = hosts(whole.host)
    return (
        half(whole, first, begun_ns=load.open_ns, ended_ns=paused_ns, until_s=cut_s),
        half(whole, second, begun_ns=settled_ns, ended_ns=closed_ns, from_s=cut_s),
    )


def hosts(host: Host) -> tuple[Host, Host]:
    """The readings of the first half, and those of the second; none where they were not paused."""
    readings = host.readings
    cut = next((at for at, reading in enumerate(readings) if reading.moment == "pause"), None)
    if cut is None:
        return Host(readings=()), Host(readings=())
    closing, opening = (
        msgspec.structs.replace(readings[cut], moment=moment) for moment in ("close", "open")
    )
    return (
        Host(readings=(*readings[:cut], closing)),
        Host(readings=(opening, *readings[cut + 1 :])),
    )


def half(  # noqa: PLR0913 (a half and its bounds, each by its name)
    whole: Evidence,
    host: Host,
    *,
    begun_ns: int,
    ended_ns: int,
    from_s: float = 0.0,
    until_s: float = float("inf"),
) -> Half:
    """The part between two moments of active time, as a window of its own."""
    ticks = tuple(tick for tick in whole.load.ticks if from_s < tick.end_s <= until_s)
    seconds = sum({tick.end_s: tick.seconds for tick in ticks if tick.seconds}.values())
    load = replace(whole.load, ticks=ticks, seconds=seconds or None)
    part = replace(whole, load=load, host=host, owners=evidence.owners(host))
    headline = whole.step.headline
    values = metrics.costs(part)
    primary = {name: values[name] for name in (CPU, SESSIONS_CPU, CONNECTIONS_CPU)}
    if headline is not None:
        # What is told of the whole window says nothing of a half.
        by_second = whole.counts_in_seconds or headline.each is not None
        value = metrics.throughput(part)[headline.metric] if by_second else None
        primary[headline.metric] = value
    return Half(
        begun_ns=begun_ns,
        ended_ns=ended_ns,
        metrics=primary,
        rates=tuple(metrics.per_second(part)) if headline is not None else (),
    )
