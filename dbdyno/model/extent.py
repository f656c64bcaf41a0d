"""How much takes part in a step: clients, connections, tables, as its job says."""

from __future__ import annotations

from dbdyno.model import Extent, Json
from dbdyno.model.job import connections


def extent(job: Json) -> Extent | None:
    """The extent of a job; None where the job is missing."""
    if "clients" not in job:
        return None
    return Extent(
        clients=job["clients"],
        connections=connections(job),
        tables=sum(job.get("tables", {}).values()),
    )
