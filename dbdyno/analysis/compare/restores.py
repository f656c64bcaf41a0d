"""What restored data lack, and how old they are, as the restore of each arm says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from dbdyno.analysis.step.damaged_files import Damage
from dbdyno.model.events import Done
from dbdyno.store import BlockFolder, StepFolder

RESTORE = "restore"
"""The step that restores a dump."""


@dataclass(frozen=True, kw_only=True)
class Restored:
    """A dump in an arm's server."""

    lacks: tuple[str, ...] = ()
    dumped: str | None = None  # when the dump was made, in ISO 8601; None: not known


EARLIER = Restored(lacks=("an earlier race restored it, whose report says what the dump lacks",))
"""Of data that begin with a kept copy."""
Restores = Mapping[tuple[str, str], Restored]
"""By workload and arm; nothing of servers that had their data already."""


def load(blocks: Iterable[BlockFolder], lost: Damage) -> Restores:
    """The first restore of each arm in these blocks."""
    restores: dict[tuple[str, str], Restored] = {}
    for block in blocks:
        for run in block.runs():
            for step in run.steps():
                key = (step.workload, run.arm)
                if step.name == RESTORE and key not in restores:
                    done = lost.usable(partial(_done, step))
                    if done is not None and done.report is not None:
                        restores[key] = restored(done.report)
    return restores


def _done(step: StepFolder) -> Done | None:
    """How a restore ended; None where the step is no restore, or did not end."""
    job = step.job()
    if job is None or job.restore is None:
        return None
    return next((event for event in step.events() if isinstance(event, Done)), None)


def restored(report: Mapping[str, object]) -> Restored:
    """A restore's own words; older ones lack the time of the dump."""
    lacks, dumped = report.get("lacks"), report.get("dumped")
    return Restored(
        lacks=tuple(map(str, lacks)) if isinstance(lacks, list) else (),
        dumped=dumped if isinstance(dumped, str) else None,
    )


def warnings(restores: Restores, applications: Iterable[str]) -> Iterator[str]:
    """What data lack that are no application's, whose basis says it."""
    said = set(applications)
    lines = (
        f"{lacks} ({arm})"
        for (workload, arm), each in restores.items()
        if workload not in said
        for lacks in each.lacks
    )
    return iter(dict.fromkeys(lines))
