"""How much takes part in a step: clients, connections, tables, as its job says."""

from __future__ import annotations

from dbdyno.model import Extent, Json


def extent(job: Json) -> Extent | None:
    """The extent of a job; None where the job is missing."""
    if "clients" not in job:
        return None
    clients = job["clients"]
    return Extent(
        clients=clients,
        connections=sum(
            role["connections"] * (clients if role["per"] == "client" else 1)
            for role in job.get("roles", [])
        ),
        tables=sum(job.get("tables", {}).values()),
    )
