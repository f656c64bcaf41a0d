"""The network between the generators on other hosts and a step's server, as the step tells it."""

from __future__ import annotations

from dataclasses import fields

from dbdyno.analysis.step.evidence import Evidence
from dbdyno.model import Json, Link, Network
from dbdyno.stats import amounts

LINK = tuple(field.name for field in fields(Link))
BYTES = ("sent_bytes", "received_bytes")


def network(found: Evidence) -> Network | None:
    """What done.json has of it; None where the load was made beside the server."""
    told = found.end.get("network")
    if not told:
        return None
    return Network(
        links={host: _link(one, shared=_shared(found)) for host, one in told.items()},
        seconds=found.load.lasted_s,
        operations=_operations(found),
    )


def _shared(found: Evidence) -> bool:
    """Whether other arms' load was made from the same hosts in between, in turns of their own."""
    return "slice_s" in (found.end.get("turns") or {})


def _link(told: Json, *, shared: bool) -> Link:
    """A host's figures; of the bytes of several arms nobody knows whose they are.

    An interface that came up anew has counted from 0, so what it carried is not known.
    """
    known = {name: told[name] for name in LINK}
    lost = shared or any((known[name] or 0) < 0 for name in BYTES)
    return Link(**known | dict.fromkeys(BYTES if lost else ()))


def _operations(found: Evidence) -> int | None:
    """Those of the headline's role and others of its kind, in warm-up and window together."""
    roles = found.headline_roles
    totals = found.load.totals
    counts = [totals[role].count if role in totals else None for role in roles]
    return amounts.total(counts) if roles else None
