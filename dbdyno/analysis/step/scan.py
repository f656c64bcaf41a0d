"""How often connections went through an operation that takes long beside the window.

Of scans of 3 s each a window of 10 s sees three end and cuts the fourth. Their mean response time
says what was done all the same, as the published scripts have it (spec sysbench.md 2.6): in a
closed loop one response begins where the one before ended, so together they fill the time.
"""

from __future__ import annotations

from dbdyno.analysis.step.raw_files import Load
from dbdyno.model import Json
from dbdyno.model.job import role_connections

US_PER_S = 1e6


def passes(job: Json, load: Load, role: str, mean_us: float | None) -> float | None:
    """Operations of a role in the window, parts included; None where none ended in it.

    Of a role that is not a closed loop for the whole window, what ended.
    """
    count = sum(tick.count for tick in load.of([role]))
    if not count or not mean_us or not load.seconds:
        return None
    (its,) = [one for one in job["roles"] if one["name"] == role]
    if its["pace"]["kind"] != "closed" or not job["stop"]["seconds"]:
        return float(count)
    return role_connections(job, its) * load.seconds * US_PER_S / mean_us
