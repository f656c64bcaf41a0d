"""What restored data lack, and how old they are, as the restore of each arm says."""

from collections.abc import Iterable, Iterator, Mapping

from dbdyno.evidence.damaged_files import Damage
from dbdyno.model.application import ApplicationFacts
from dbdyno.model.doubt import Doubt, DoubtSubject
from dbdyno.model.golden import RESTORED, RestoreSummary
from dbdyno.store import BlockFolder

EARLIER = RestoreSummary(
    lacks=("an earlier race restored it, whose report says what the dump lacks",)
)
"""Of data that begin with a kept copy."""
Restores = Mapping[tuple[str, str], RestoreSummary]
"""By workload and arm; nothing of servers that had their data already."""


def load(blocks: Iterable[BlockFolder], lost: Damage) -> Restores:
    """The first restore of each arm in these blocks, or that of the copy that it began from."""
    restores: dict[tuple[str, str], RestoreSummary] = {}
    for run in (run for block in blocks for run in block.runs()):
        for step in run.steps():
            if step.name == RESTORED:
                restored = lost.usable(step.restored)
                if restored is not None:
                    restores.setdefault((step.workload, run.arm), restored)
        for workload, use in (lost.usable(run.golden) or {}).items():
            if use.report is not None:
                restores.setdefault((workload, run.arm), use.report)
    return restores


def doubts(facts: ApplicationFacts) -> Iterator[Doubt]:
    """What data lack that are no application's, whose first screen says it."""
    said = {each.workload for each in facts.applications}
    for (workload, arm), restored in facts.restores.items():
        for lacks in () if workload in said else restored.lacks:
            yield DoubtSubject.RESTORED.doubt(lacks, workload=workload, arm=arm)
