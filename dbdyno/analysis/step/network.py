"""The network between the generators on other hosts and a step's server, as the step tells it."""

from __future__ import annotations

from dataclasses import replace

from dbdyno.evidence.evidence import Evidence
from dbdyno.model import Link, Network
from dbdyno.stats import amounts


def network(evidence: Evidence) -> Network | None:
    """What done.json has of it; None where the load was made beside the server."""
    links = {} if evidence.done is None else evidence.done.network
    if not links:
        return None
    shared = evidence.turns is not None and evidence.turns.turn_s is not None
    return Network(
        links={host: _link(link, shared=shared) for host, link in links.items()},
        seconds=evidence.load.lasted_s,
        operations=_operations(evidence),
    )


def _link(link: Link, *, shared: bool) -> Link:
    """A host's figures; where arms took turns, nobody knows whose bytes they are.

    An interface that came up anew has counted from 0, so what it carried is not known.
    """
    if shared or (link.sent_bytes or 0) < 0 or (link.received_bytes or 0) < 0:
        return replace(link, sent_bytes=None, received_bytes=None)
    return link


def _operations(evidence: Evidence) -> int | None:
    """Those of the headline's role and others of its kind, in warm-up and window together."""
    roles = evidence.headline_roles
    totals = evidence.load.totals
    counts = [totals[role].count if role in totals else None for role in roles]
    return amounts.total(counts) if roles else None
