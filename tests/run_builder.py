"""Steps with planted rates and costs, without files: what is concluded of them is known.

    judged = concluded(
        [*series("base", [100, 101, 99]), *series("other", [105, 106, 104])], arms=("base", "other")
    )

A log ratio is planted exactly: `series("other", lifted(BASE, LOGS))`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Literal

from dbdyno.findings.owners.facts import OwnerFacts
from dbdyno.findings.steps import FINDINGS
from dbdyno.judge import arms_and_blocks, conclusions, looks, step_cells
from dbdyno.judge.arms_and_blocks import Arms
from dbdyno.judge.conclusions import Conclusions
from dbdyno.model import (
    Cell,
    Ending,
    Json,
    OwnerCost,
    ResponseFacts,
    ResponseTimes,
    ServerSide,
    StepFacts,
    StepRun,
    Target,
    Window,
)
from dbdyno.model.metric import state
from dbdyno.model.metric.state import StateFacts, StateValue
from dbdyno.model.plan_record import ArmRecord, PlanRecord, WorkloadRecord
from dbdyno.model.query_change import PlanChange
from dbdyno.model.verdict import Aims

NOISE = (0.004, -0.007, 0.001, 0.006, -0.002, -0.005)
"""Log ratios of six blocks that come to -0.0005 on average, with a deviation of 0.5 %."""


PARTS: dict[str, Any] = {
    "facts": StepFacts,
    "ending": Ending,
    "window": Window,
    "server": ServerSide,
}
RENAMED = {"servers": "statistics"}
MOMENTS: tuple[Literal["before", "after"], ...] = ("before", "after")


def run(arm: str, block: int, rate: float | None, **changes: Any) -> StepRun:
    """A run of a step whose headline is `qps`, at this rate; `cpu`: µs of CPU per operation."""
    cpu, metrics = changes.pop("cpu", None), changes.pop("metrics", {})
    values = {"qps": rate, "cpu_per_op": cpu, **metrics}
    known = {name: value for name, value in values.items() if value is not None}
    planted = {"headline": "qps", "metrics": known}
    return step_run(arm=arm, block=block, **{**planted, **changes})


def step_run(**values: Any) -> StepRun:
    """A run with these fields of it and of its parts, as `changed` takes them; it ended well."""
    facts = StepFacts(workload="w", ordinal=1, step="one", measured=True)
    return changed(StepRun(facts=facts, arm="base", block=1, ending=Ending(status="ok")), **values)


def changed(its: StepRun, **values: Any) -> StepRun:
    """The run with these fields, whichever of its parts they belong to.

    `sla_met` and `sla_achieved` plant a target; `state_before` and `state_after` the database's
    state by name.
    """
    values = {RENAMED.get(name, name): value for name, value in values.items()}
    if {"sla_met", "sla_achieved"} & values.keys():
        met, achieved = values.pop("sla_met", None), values.pop("sla_achieved", None) or 0.0
        asked = values.get("sla_target", its.facts.sla_target) or 0.0
        values.setdefault("targets", () if met is None else (_target(asked, achieved, met=met),))
    for moment in MOMENTS:
        if (planted := values.pop(f"state_{moment}", None)) is not None:
            known = values.get("states", its.of(StateFacts).states)
            others = (value for value in known if value.moment != moment)
            values["states"] = (*others, *states(moment, planted))
    for finding in FINDINGS:
        facts = finding.facts
        own = {one.name: values.pop(one.name) for one in fields(facts) if one.name in values}
        if own:
            known = values.get("findings", its.findings)
            values["findings"] = known | {facts.__name__: replace(its.of(facts), **own)}
    for part, kind in PARTS.items():
        own = {one.name: values.pop(one.name) for one in fields(kind) if one.name in values}
        if own:
            values[part] = replace(getattr(its, part), **own)
    return replace(its, **values)


def operation(its: StepRun, name: str) -> ResponseTimes:
    """The response times of an operation."""
    (times,) = (
        each
        for each in its.of(ResponseFacts).response
        if (each.of, each.name) == ("operation", name)
    )
    return times


def states(
    moment: Literal["before", "after"], values: Mapping[str, float | None]
) -> Iterator[StateValue]:
    """The state of a database at a moment, by name."""
    for name, value in values.items():
        if value is not None:
            yield StateValue(moment=moment, name=name, unit=state.by_name(name).unit, value=value)


def served(its: StepRun) -> dict[str, ResponseTimes]:
    """The service times of kinds of work, by name."""
    return {times.name: times for times in its.of(ResponseFacts).service if times.of == "kind"}


def _target(asked: float, achieved: float, *, met: bool) -> Target:
    return Target(
        role="insert", kind="insert", target_per_s=asked, achieved_per_s=achieved, met=met,
        seconds=0, seconds_missed=0,
    )  # fmt: skip


def owners(its: StepRun) -> dict[str, OwnerCost]:
    """The costs of a run by their owners."""
    return {cost.owner: cost for cost in its.of(OwnerFacts).costs}


def series(arm: str, rates: Sequence[float], **changes: Any) -> list[StepRun]:
    """A run in each block, from 1."""
    return [run(arm, block, rate, **changes) for block, rate in enumerate(rates, start=1)]


def lifted(change: float, noise: Sequence[float] = NOISE, rate: float = 1_000.0) -> list[float]:
    """Rates beside a base of constant `rate`: changed by so much, a share, and the noise."""
    return [rate * (1 + change) * math.exp(log) for log in noise]


def failed(its: StepRun, status: str = "failed", reason: str = "planted") -> StepRun:
    """The same run, which did not end well."""
    return changed(its, status=status, reason=reason, metrics={}, sla_met=None)


def plan_of(arms: Sequence[str], **changed: Json) -> PlanRecord:
    """plan.json as far as judging reads it; `changed`: by arm, what else stands of it."""
    return PlanRecord(
        name="planted",
        base=arms[0],
        blocks=1,
        arms=tuple(ArmRecord(name=arm, **changed.get(arm, {})) for arm in arms),
        workloads=(WorkloadRecord(name="w"),),
    )


def concluded(
    runs: Sequence[StepRun],
    plan: PlanRecord,
    *,
    aims: Aims | None = None,
    minutes: float | None = None,
    blocks_each: int | None = None,
    nodes: Mapping[int, str] | None = None,
    plans: Sequence[PlanChange] = (),
) -> Conclusions:
    """What is concluded of these runs, at one look; `nodes`: which measured each block."""
    arms = arms_and_blocks.arms(plan, None)
    in_order = sorted(runs, key=lambda its: its.block)
    rules = replace(
        rules_of(runs, arms),
        minutes=minutes,
        blocks_each=blocks_each,
        nodes=nodes or {},
        plans=plans,
    )
    if aims is not None:
        rules = replace(rules, aims=aims)
    return conclusions.conclude(step_cells.rows(plan, arms, in_order), arms, rules)


def rules_of(runs: Sequence[StepRun], arms: Arms) -> conclusions.Rules:
    """One look at all blocks, and nothing known of their time."""
    sights = {
        arm: looks.once(sorted({its.block for its in runs if its.arm == arm})) for arm in arms.shown
    }
    return conclusions.Rules(aims=Aims(), sights=sights, minutes=None, blocks_each=None)


def cell(found: Conclusions, arm: str, step: str = "one") -> Cell:
    """One arm in one step."""
    (its,) = [one for one in found.steps if one.step == step]
    return next(one for one in its.cells if one.arm == arm)
