"""Whether a timed step's rate was steady: its shape, and what arms did not have alike in it.

A step bound by work has no shape: what it does changes as it goes on, and all of it counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from dbdyno.analysis.step.evidence import Evidence
from dbdyno.analysis.step.pace import full_seconds
from dbdyno.model import StepRun
from dbdyno.stats import rate_shape


def shape_of(evidence: Evidence) -> rate_shape.Shape | None:
    """The shape of what the headline counts in the seconds of a timed step.

    None where a step is bound by work, too short, or is not told of by the second.
    """
    timed = (evidence.job.get("stop") or {}).get("seconds")
    if not timed or not evidence.counts_in_seconds:
        return None
    ticks = full_seconds(evidence, evidence.step["headline"]["role"])
    counts = [(evidence.counted(tick), tick.seconds) for tick in ticks]
    return rate_shape.shape([count / seconds for count, seconds in counts if count is not None])


def unlike(blocks: Sequence[Mapping[str, StepRun]]) -> str | None:
    """`shapes of runs differ: flat in 3 of 3 blocks (pg17), slowed in 2 of 3 (pg18)`.

    `blocks`: the runs of each by arm. Told where the shapes differ that arms have in more than half
    of their blocks: about one flat run in twelve has another by chance (docs/method.md).
    """
    shapes: dict[str, list[str]] = {}
    for runs in blocks:
        for arm, run in runs.items():
            if run.shape is not None:
                shapes.setdefault(arm, []).append(run.shape)
    usual = {
        arm: (name, times, len(its))
        for arm, its in shapes.items()
        for name, times in Counter(its).most_common(1)
        if 2 * times > len(its)
    }
    if len({name for name, _, _ in usual.values()}) < 2:
        return None
    told = [
        f"{name} in {times} of {total} block{'s' if total > 1 else ''} ({arm})"
        for arm, (name, times, total) in usual.items()
    ]
    return f"shapes of runs differ: {', '.join(told)}"
