"""Two steps of one arm side by side: before and after the writes, few clients and many.

Which steps belong together is in their names, which are those of the published studies: the twin of
`random-points.pre_range=10` is `random-points_range=10`, and `point-query@clients=4` is a step of
a sweep (docs/workload.md).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbdyno.findings.plan_finding import JudgedResult, PlanFinding
from dbdyno.findings.step_pairs.facts import Kind, StepPair, StepPairFacts
from dbdyno.judge.pairing import ratio
from dbdyno.model import StepComparison
from dbdyno.model.metric import less_is_better

PRE = re.compile(r"\.pre(?![^_@])")
"""The mark of a step before the writes; `scan.warmpre` is none."""
SWEPT = re.compile(r"(?<=[@,])clients=(\d+)(?:,|$)")


@dataclass(frozen=True, kw_only=True)
class SweptStep:
    """A step of a sweep over clients."""

    clients: int
    step: StepComparison


def of_plan(compared: JudgedResult) -> StepPairFacts:
    """The pairs among the steps of a result."""
    return derived(compared.steps)


FINDING = PlanFinding(facts=StepPairFacts, of_plan=of_plan)


def derived(steps: Iterable[StepComparison]) -> StepPairFacts:
    """Arm by arm, those before and after the writes first."""
    # Of times no pair is made.
    measured = [
        step
        for step in steps
        if step.measured and step.headline is not None and not less_is_better(step.headline)
    ]
    return StepPairFacts(across=(*_post_by_pre(measured), *_scale_up(measured)))


def _post_by_pre(steps: Sequence[StepComparison]) -> Iterable[StepPair]:
    by_name = {(step.workload, step.step): step for step in steps}
    for step in steps:
        twin = by_name.get((step.workload, PRE.sub("", step.step, count=1)))
        if twin is not None and twin is not step and twin.headline == step.headline:
            yield from _pairs("post by pre", step, twin)


def _scale_up(steps: Sequence[StepComparison]) -> Iterable[StepPair]:
    """Each step of a sweep by the one with the fewest clients that is otherwise the same."""
    sweeps: dict[tuple[str, str], list[SweptStep]] = {}
    for step in steps:
        match = SWEPT.search(step.step)
        if match is not None:
            same = step.step[: match.start()] + step.step[match.end() :]
            point = SweptStep(clients=int(match[1]), step=step)
            sweeps.setdefault((step.workload, same), []).append(point)
    for points in sweeps.values():
        first, *others = sorted(points, key=lambda point: point.clients)
        for other in others:
            if other.step.headline == first.step.headline:
                clients = (first.clients, other.clients)
                yield from _pairs("scale-up", first.step, other.step, *clients)


def _pairs(
    kind: Kind, first: StepComparison, second: StepComparison, *clients: int
) -> Iterable[StepPair]:
    """The two steps of each arm."""
    assert first.headline is not None
    for cell, other in zip(first.cells, second.cells, strict=True):
        quotient = ratio(cell.runs, other.runs, first.headline)
        yield StepPair(
            kind=kind,
            workload=first.workload,
            arm=cell.arm,
            first_step=first.step,
            second_step=second.step,
            first_clients=clients[0] if clients else None,
            second_clients=clients[1] if clients else None,
            ratio=quotient,
            blocks=0 if quotient is None else quotient.blocks,
        )
