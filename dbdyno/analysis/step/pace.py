"""What a role's schedule asks of single seconds: none is blamed for what it was not asked for."""

from __future__ import annotations

from dbdyno.analysis.step.evidence import Evidence
from dbdyno.analysis.step.raw_files import Tick
from dbdyno.model import Json


def schedule(job: Json, role: str) -> Json:
    """A role's pace; of a role that is tied to another, that one's."""
    paces = {one["name"]: one.get("pace") or {} for one in job.get("roles", [])}
    pace: Json = paces.get(role, {})
    return paces.get(pace["to"], {}) if pace.get("kind") == "tied" else pace


def is_regular(job: Json, role: str) -> bool:
    """Whether a schedule gives a role work in each second, and not only on average."""
    pace = schedule(job, role)
    arrivals = pace.get("arrivals")
    return arrivals == "burst" or (arrivals == "even" and pace["per_s"] >= 1)


def full_seconds(evidence: Evidence, role: str) -> list[Tick]:
    """A role's whole seconds of the window of which its schedule asks its full rate.

    The published bursts begin with a single statement: the first second of a step that has no
    warm-up has no more, however fast the server is.
    """
    whole = [tick for tick in evidence.load.of([role]) if tick.whole]
    burst = schedule(evidence.job, role).get("arrivals") == "burst"
    warm = (evidence.job.get("stop") or {}).get("warmup_s")
    return whole[1:] if burst and not warm else whole
