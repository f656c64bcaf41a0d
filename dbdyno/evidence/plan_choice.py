"""How often calls ran the generic plan of a prepared query, by what sessions told at their ends.

From PostgreSQL 14 on a session counts its plans. Before, it explains the query as it would run it,
and then by the generic plan: lines are alike where it had chosen that. Before 12 nothing tells.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean

from dbdyno.model.events import SessionEnd
from dbdyno.model.job import Job

Rows = Sequence[Sequence[str | None]]


def shares(ends: Iterable[SessionEnd], job: Job) -> list[float]:
    """Of each session whose choice is known the share of its calls by a generic plan."""
    ended = ((end, job.role(end.role)) for end in ends)
    known = (
        _share(end.rows, role.renew.binds) for end, role in ended if role is not None and role.renew
    )
    return [share for share in known if share is not None]


def mean(ends: Iterable[SessionEnd], job: Job) -> float | None:
    """The mean of all sessions; None where none tells."""
    known = shares(ends, job)
    return fmean(known) if known else None


def _share(rows: Rows, binds: int) -> float | None:
    """Of calls after the binds: once a session has taken the generic plan it keeps to it."""
    if rows and len(rows[0]) == 2:
        generic, custom = (sum(int(row[place] or 0) for row in rows) for place in (0, 1))
        timed = generic + custom - binds
        return min(generic, timed) / timed if timed > 0 else None
    cuts = [place for place, row in enumerate(rows) if row == [None]]
    if not cuts:
        return None
    chosen, generic_plan = rows[: cuts[0]], rows[cuts[0] + 1 :]
    return float(chosen == generic_plan) if generic_plan else None
