"""What follows from a job (contract/README.md), for who runs it and who judges it. Pure."""

from __future__ import annotations

from dbdyno.model import Json

SETTLE_NS = 200_000_000
"""What follows a resumption and counts for nothing (contract/README.md, "pause")."""


def clients(job: Json, role: Json) -> int:
    """How many times a role is there: once for each client, or once in all."""
    return int(job["clients"]) if role["per"] == "client" else 1


def connections(job: Json) -> int:
    """The connections of all roles."""
    return sum(role["connections"] * clients(job, role) for role in job.get("roles", []))


def timed_operations(job: Json) -> set[str]:
    """The names under which whole operations are timed: a transaction's, not its statements'."""
    names = set()
    for program in job.get("programs", []):
        sends = [code[1] for code in program["code"] if code[0] == "send"]
        single = len(sends) == 1
        names.add(job["statements"][sends[0]]["name"] if single else program["name"])
    return names
