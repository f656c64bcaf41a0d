"""Says what of a host disturbs measurements, and how it is mended: from its facts alone. Pure."""

from collections.abc import Mapping, Sequence

from dbdyno.doctor import memory, other_load, processor, requirement, storage
from dbdyno.doctor.finding import SEVERITIES, HostFinding, MemoryNeed
from dbdyno.model.host_facts import HostFacts

__all__ = ["HostFinding", "MemoryNeed", "findings"]


def findings(
    facts: HostFacts,
    needs: Sequence[MemoryNeed] = (),
    lab: str | None = None,
    required: Mapping[str, requirement.Value] | None = None,
) -> tuple[HostFinding, ...]:
    """The findings in the facts of host.json, the most disturbing first.

    Facts that are missing or null find nothing. `needs`: of servers that are to be started; `lab`:
    who else measures on the host; `required`: what a plan asks of it.
    """
    disturbing = [
        *other_load.findings(facts, lab),
        *memory.findings(facts, needs),
        *processor.findings(facts),
        *storage.findings(facts),
        *requirement.findings(facts, required or {}, needs),
    ]
    return tuple(sorted(disturbing, key=lambda finding: SEVERITIES.index(finding.severity)))
