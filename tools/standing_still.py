"""Comparisons of two arms that are the same, and do nothing at all in some of their runs.

Judged by runs, as a result folder has them: what does nothing has a throughput of 0 and no CPU.
"""

from dataclasses import dataclass

import numpy as np

from dbdyno.judge import looks as sights
from dbdyno.judge.arm_vs_base import ArmInStep, StepKey, contest
from dbdyno.judge.pairing import facing
from dbdyno.judge.verdicts import judge
from dbdyno.model import Ending, StepFacts, StepRun
from dbdyno.model.verdict import CHANGED, Aims
from simulation import Flags, Model, Numbers, Random, Share, draw


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Two arms that are the same, and do nothing at all in some of their runs."""

    steps: int
    often: float  # the share of the runs of a step, of either arm, in which nothing is done


def stood_alarms(standing: Standing, blocks: int, trials: int, random: Random, aims: Aims) -> Share:
    """In how many comparisons the first look calls a step, or the whole of several, changed."""
    drawn, _ = draw(Model(steps=standing.steps), trials, blocks, random)
    alarms = 0
    for logs in drawn:
        still = random.random((2, standing.steps, blocks)) < standing.often
        contests = [
            _contest(number, logs[number], still[:, number]) for number in range(standing.steps)
        ]
        judged = judge("other", contests, aims, sights.once(range(blocks)))
        words = [verdict.word for verdict in judged.verdicts.values()]
        words += [one.judgement.word for one in judged.overall]
        alarms += not CHANGED.isdisjoint(words)
    return Share(count=alarms, total=trials)


def _contest(step: int, logs: Numbers, still: Flags) -> ArmInStep:
    """A step; `logs`: metrics by blocks, `still`: whether the base and the other did nothing."""
    ones = np.ones_like(logs[0])
    base, other = (
        [
            _run(arm, step, block, rate, None if none else cpu)
            for block, (none, rate, cpu) in enumerate(
                zip(nothing.tolist(), np.where(nothing, 0.0, rates).tolist(), cpus, strict=True)
            )
        ]
        for arm, nothing, rates, cpus in (
            ("base", still[0], ones, ones.tolist()),
            ("other", still[1], np.exp(logs[0]), np.exp(logs[1]).tolist()),
        )
    )
    found = contest(StepKey("w", step, f"s{step}"), facing(other, base))
    assert found is not None
    return found


def _run(arm: str, step: int, block: int, rate: float, cpu: float | None) -> StepRun:
    return StepRun(
        facts=StepFacts(workload="w", ordinal=step, step=f"s{step}", measured=True, headline="qps"),
        arm=arm,
        block=block,
        ending=Ending(status="ok"),
        metrics={"qps": rate, "server_cpu_per_op": cpu},
    )
