"""The load generator's own queue of what the headline counts, beside its service times."""

from collections.abc import Mapping

from dbdyno.evidence.evidence import Evidence
from dbdyno.stats.response_times import Histogram, merged


def of_headline(evidence: Evidence) -> Histogram:
    """How long each statement's request and reply lay in the generator at most; empty where the
    load does not tell.
    """
    roles, queues = evidence.headline_roles, evidence.queues
    return merged(queues[role] for role in roles if role in queues)


def metrics(evidence: Evidence) -> Mapping[str, float | None]:
    """The queue's share of service times: of both the sums."""
    queue, service = of_headline(evidence), evidence.service(evidence.headline_roles)
    if not queue.count or not service.mean_us:
        return {"queue_share": None}
    queue_us, service_us = (whole.count * (whole.mean_us or 0.0) for whole in (queue, service))
    return {"queue_share": 100.0 * queue_us / service_us}
