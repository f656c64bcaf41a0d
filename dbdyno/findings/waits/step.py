"""Derives what sessions did in a window from its samples."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.raw_files import NS_PER_S
from dbdyno.findings.finding import StepFinding
from dbdyno.findings.waits.facts import IDLE, SERIES, Sampling, SessionLoad, WaitFacts
from dbdyno.model import Series
from dbdyno.model.wait_samples import WaitLook

LAB_WAITS = "lab:waits"
BLOCKS = ("blocks.read", "blocks.hit")
"""The series of pages, in the order of a line's `blocks`."""


def of_step(evidence: Evidence) -> WaitFacts:
    """The samples of the window; nothing where there are none."""
    samples = evidence.samples
    if evidence.waits is None or not samples:
        return WaitFacts()
    count = len(samples)
    gaps_s = [after - before for (before, _), (after, _) in pairwise(samples)]
    asked_s = evidence.waits.begin.asked_ns / NS_PER_S
    cost = evidence.owners.get(LAB_WAITS)
    sampling = Sampling(
        samples=count,
        asked_s=asked_s,
        interval_s=math.fsum(gaps_s) / len(gaps_s) if gaps_s else asked_s,
        interval_s_max=max(gaps_s, default=asked_s),
        sample_us=math.fsum(look.took_us for _, look in samples) / count,
        lab_cpu_us=evidence.waits.end.cpu_us,
        server_cpu_us=None if cost is None else cost.cpu_us,
        hidden=sum(look.hidden for _, look in samples) / count,
        loads=tuple(loads([look for _, look in samples])),
    )
    return WaitFacts(waits=(sampling,))


FINDING = StepFinding(facts=WaitFacts, of_step=of_step)


def series(evidence: Evidence) -> dict[str, Series]:
    """`blocks.read`, `blocks.hit`, and `waits.KIND`, by what sessions do."""
    return _blocks(evidence) | _active_sessions(evidence)


def _blocks(evidence: Evidence) -> dict[str, Series]:
    """Pages a second that the server read from outside of its cache, and that it found there.

    By the samples that read the counters; x is the later one's moment. Counters that were set back
    in between leave a gap.
    """
    counters = [(at_s, look.blocks) for at_s, look in evidence.samples if look.blocks]
    curves: dict[str, Series] = {}
    for place, name in enumerate(BLOCKS):
        points = [
            (after_s, (after[place] - before[place]) / (after_s - before_s))
            for (before_s, before), (after_s, after) in pairwise(counters)
            if after_s > before_s
            and all(now >= then for now, then in zip(after, before, strict=True))
        ]
        if points:
            curves[name] = Series(x_s=tuple(x for x, _ in points), y=tuple(y for _, y in points))
    return curves


def loads(looks: Sequence[WaitLook]) -> Iterable[SessionLoad]:
    """Mean sessions by all that is known of them, the most first; then the idle, by owner."""
    seen: defaultdict[tuple[str, str, str, str], float] = defaultdict(float)
    idle: Counter[str] = Counter()
    for look in looks:
        idle.update(look.idle)
        for doing in look.sessions:
            seen[doing.owner, doing.activity, doing.event, doing.statement] += doing.count
    for (owner, kind, event, statement), total in sorted(
        seen.items(), key=lambda item: (-item[1], item[0])
    ):
        yield SessionLoad(
            owner=owner,
            kind=kind,
            event=event or None,
            statement=statement or None,
            sessions=total / len(looks),
        )
    for owner, total in sorted(idle.items()):
        yield SessionLoad(owner=owner, kind=IDLE, sessions=total / len(looks))


def _active_sessions(evidence: Evidence) -> dict[str, Series]:
    """Active sessions by kind, the mean of each second's samples; x is the second's end.

    A second without a sample has no value.
    """
    counts: Counter[int] = Counter()
    by_activity: defaultdict[str, defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
    for at_s, look in evidence.samples:
        second = int(at_s)
        counts[second] += 1
        for doing in look.sessions:
            by_activity[doing.activity][second] += doing.count
    places = sorted(counts)
    x_s = tuple(min(second + 1.0, evidence.load.seconds or 0.0) for second in places)
    return {
        f"{SERIES}{activity}": Series(
            x_s=x_s, y=tuple(seen[second] / counts[second] for second in places)
        )
        for activity, seen in by_activity.items()
    }
