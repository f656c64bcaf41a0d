"""Derives the network between generators on other hosts and a step's server from done.json."""

from msgspec.structs import asdict, replace

from dbdyno.evidence.evidence import Evidence
from dbdyno.findings.finding import StepFinding
from dbdyno.findings.network.facts import HostLink, NetworkFacts
from dbdyno.model.step_files import Link
from dbdyno.stats import amounts


def of_step(evidence: Evidence) -> NetworkFacts:
    """Each host of done.json; none where the load was made beside the server."""
    links = {} if evidence.done is None else evidence.done.network
    shared = evidence.turns is not None and evidence.turns.turn_s is not None
    # Of the headline's role and others of its kind, in warm-up and window together.
    totals = evidence.load.totals
    counts = [totals[role].count if role in totals else None for role in evidence.headline_roles]
    return NetworkFacts(
        network=tuple(
            HostLink(
                host=host,
                seconds=evidence.load.lasted_s,
                operations=amounts.total(counts) if evidence.headline_roles else None,
                **asdict(_own(link, shared=shared)),
            )
            for host, link in links.items()
        )
    )


FINDING = StepFinding(facts=NetworkFacts, of_step=of_step)


def _own(link: Link, *, shared: bool) -> Link:
    """A host's figures; where arms took turns, nobody knows whose bytes they are.

    An interface that came up anew has counted from 0, so what it carried is not known.
    """
    if shared or (link.sent_bytes or 0) < 0 or (link.received_bytes or 0) < 0:
        return replace(link, sent_bytes=None, received_bytes=None)
    return link
