"""The load generator's own queue of what the headline counts, beside its service times."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.analysis.step.evidence import Evidence
from dbdyno.stats.response_times import Histogram


def of_headline(evidence: Evidence) -> Histogram:
    """How long each statement's request and reply lay in the generator at most; empty where the
    load does not tell.
    """
    ticks = evidence.load.of(evidence.headline_roles)
    (whole,) = Histogram.of_each([[tick.queue for tick in ticks if tick.queue is not None]])
    return whole


def metrics(evidence: Evidence) -> Mapping[str, float | None]:
    """The queue's share of service times: of both the sums."""
    queue, service = of_headline(evidence), evidence.service(evidence.headline_roles)
    if not queue.count or not service.mean_us:
        return {"queue_share": None}
    queue_us, service_us = (one.count * (one.mean_us or 0.0) for one in (queue, service))
    return {"queue_share": 100.0 * queue_us / service_us}
