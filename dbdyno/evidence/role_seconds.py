"""A role's whole seconds of a window, what its schedule asks of them, and the shape of its rate."""

from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.raw_files import WindowTick
from dbdyno.model.job import Job
from dbdyno.model.job.role import RatePace, TiedPace
from dbdyno.stats import rate_shape


def shape_of(evidence: Evidence) -> rate_shape.Shape | None:
    """The shape of what the headline counts in the seconds of a timed step.

    None where a step is bound by work, too short, or is not told of by the second.
    """
    return rate_shape.shape([rate for _, rate in headline_rates(evidence)])


def headline_rates(evidence: Evidence) -> list[tuple[WindowTick, float]]:
    """The whole seconds of a timed step, with the rate of what the headline counts.

    None of a step that is bound by work, or is not told of by the second.
    """
    timed = evidence.job.stop.seconds
    if not timed or not evidence.counts_in_seconds:
        return []
    ticks = full_seconds(evidence, evidence.headline_role)
    counts = [(tick, evidence.counted(tick)) for tick in ticks]
    return [(tick, count / tick.seconds) for tick, count in counts if count is not None]


# --- What a schedule asks -------------------------------------------------------------------------


def rate(job: Job, name: str) -> RatePace | None:
    """The rate at which a role's operations are due, or those of the role that it is tied to.

    None where it has none.
    """
    role = job.role(name)
    if role is not None and isinstance(role.pace, TiedPace):
        role = job.role(role.pace.to)
    return role.pace if role is not None and isinstance(role.pace, RatePace) else None


def is_regular(job: Job, role: str) -> bool:
    """Whether a schedule gives a role work in each second, and not only on average."""
    due = rate(job, role)
    return due is not None and (
        due.arrivals == "burst" or (due.arrivals == "even" and due.per_s >= 1)
    )


def full_seconds(evidence: Evidence, role: str) -> list[WindowTick]:
    """A role's whole seconds of the window of which its schedule asks its full rate.

    The published bursts begin with a single statement: the first second of a step that has no
    warm-up has no more, however fast the server is.
    """
    whole = [tick for tick in evidence.load.of([role]) if tick.whole]
    due = rate(evidence.job, role)
    burst = due is not None and due.arrivals == "burst"
    return whole[1:] if burst and not evidence.job.stop.warmup_s else whole
