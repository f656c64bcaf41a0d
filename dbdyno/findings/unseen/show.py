"""What reports lack of servers elsewhere: what only their hosts know, or the user may not read."""

from collections.abc import Iterable

from dbdyno.model import Comparison
from dbdyno.model.grouping import grouped
from dbdyno.model.metric.state import StateFacts
from dbdyno.parts.part import Callout, Finding, Section, Subject

HOST = "CPU, context switches, memory, log, and reads and writes of the device"


def words(comparison: Comparison) -> Iterable[str]:
    """A sentence for each arm elsewhere, then one for each reason why parts are missing."""
    for arm in comparison.arms:
        server = comparison.servers.get(arm)
        if server is None or not server.external:
            continue
        yield (
            f"{arm} runs elsewhere ({server.external}). Only its host knows {HOST} of the server: "
            "they have no figures here. The machine that this report describes is the load "
            "generator's."
        )
        for reason, parts in _unread(comparison, arm).items():
            yield f"{arm}: the server does not tell {', '.join(sorted(parts))}: {reason}."


def _unread(comparison: Comparison, arm: str) -> dict[str, set[str]]:
    """The parts of the server's state and counters that it did not tell, by the reason."""
    parts = grouped(
        (reason, part)
        for step in comparison.steps
        for cell in step.cells
        if cell.arm == arm
        for facts in cell.each(StateFacts)
        for part, reason in facts.unread.items()
    )
    return {reason: set(some) for reason, some in parts.items()}


def _parts(subject: Subject) -> Iterable[Callout]:
    if items := Finding.each(words(subject.comparison)):
        yield Callout(name="unseen", title="Not seen", items=items)


SECTION = Section("page", _parts)
