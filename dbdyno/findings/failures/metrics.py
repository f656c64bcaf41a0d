"""Failures by class, retries, and latency limits."""

from collections import Counter
from collections.abc import Mapping

from dbdyno.evidence import raw_files
from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.raw_files import WindowTick
from dbdyno.model.events import TickPart

DEADLOCK, SERIALIZATION = "deadlock", "serialization"
CLASSES = (SERIALIZATION, DEADLOCK, "other")
"""As pgbench's `--failures-detailed` has them."""
_CLASS_OF = {
    "PostgreSQL": {"40001": SERIALIZATION, "40P01": DEADLOCK},
    "InnoDB": {"40001": DEADLOCK},
}
"""By whose servers they are; what is not here is `other`. InnoDB's deadlocks are 40001."""
_WORDS = {SERIALIZATION: SERIALIZATION, DEADLOCK: DEADLOCK, "other": "other", "failed": "other"}
"""Those of pgbench's log; it does not tell the class unless asked to."""


def metrics(evidence: Evidence) -> Mapping[str, float | None]:
    """Counts of all roles in the window; None where the load does not tell, or has no limit."""
    failed = by_class(evidence)
    parts = [part for tick in evidence.load.ticks for part in tick.operations.values()]
    tells = any(map(_tells, parts))
    retried = sum(part.retried or 0 for part in parts)
    ticks, roles = evidence.load.ticks, evidence.job.roles
    limited = any(role.latency_limit_ms is not None for role in roles)
    skipped = sum(tick.skipped for tick in ticks)
    over_limit = sum(tick.over_limit for tick in ticks)
    return {
        **{f"failed_{name}": None if failed is None else float(failed[name]) for name in CLASSES},
        "retried": float(retried) if tells else None,
        "rolled_back": rolled_back(evidence),
        "over_limit": float(over_limit) if limited else None,
        "skipped": float(skipped) if skipped or any(role.skips for role in roles) else None,
    }


def rolled_back(evidence: Evidence) -> float | None:
    """Operations of the window that ended as rolled back; None where none can."""
    if not evidence.job.rolls_back:
        return None
    parts = (part for tick in evidence.load.ticks for part in tick.operations.values())
    return float(sum(part.rolled_back or 0 for part in parts))


def by_class(evidence: Evidence) -> Counter[str] | None:
    """Operations of the window that ended without success; None: the load does not tell."""
    known = _CLASS_OF.get(evidence.servers, {})
    counts = Counter[str]()
    tells = False
    for tick in evidence.load.ticks:
        for part in tick.operations.values():
            tells |= _tells(part)
            for code, count in (part.failed or {}).items():
                counts[known.get(code, "other")] += count
            for word, count in _said_in_words(part).items():
                counts[_WORDS[word]] += count
    return counts if tells or counts else None


def _tells(part: TickPart) -> bool:
    """Whether it is of a load that tells failures; one of this version leaves out what is none."""
    return part.sums_us is not None or part.failed is not None


def _said_in_words(part: TickPart) -> Mapping[str, int]:
    """Failures as pgbench's log tells them."""
    errors = part.errors or {}
    return {word: count for word, count in errors.items() if word in _WORDS}


def share(count: float, of: float) -> str:
    """A count beside what it is of: `12 of 3,400 (0.4 %)`."""
    return f"{count:,.0f} of {of:,.0f} ({100 * (raw_files.per(count, of) or 0):.1f} %)"


def of_tick(tick: WindowTick) -> int:
    """Operations of a tick that ended without success, as far as the load tells."""
    return sum(
        sum((*(part.failed or {}).values(), *_said_in_words(part).values()))
        for part in tick.operations.values()
    )
