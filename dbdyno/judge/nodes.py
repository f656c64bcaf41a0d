"""The node as a factor: what each node found of an arm, and whether they disagree.

Nothing here changes a verdict, which is one over all blocks and so of these very nodes. Whether
they disagree says how far it reaches.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from dbdyno.judge.arm_vs_base import ArmInStep, StepKey
from dbdyno.model import Cell
from dbdyno.model.doubt import Doubt, DoubtSubject
from dbdyno.model.metric.primary import called, is_second
from dbdyno.model.nodes import UNNAMED, Agreement, NodeComparison, NodeRatio
from dbdyno.model.verdict import Aims
from dbdyno.parts import number
from dbdyno.stats import interval, nodes, significance
from dbdyno.store import BlockFolder

Value = TypeVar("Value")
Nodes = Mapping[int, str]
"""The node of each block; empty where blocks name none."""


def of_blocks(blocks: Iterable[BlockFolder]) -> Nodes:
    """The nodes of these blocks; none where no block names its host."""
    hosts = {block.number: block.host for block in blocks}
    if not any(hosts.values()):
        return {}
    return {number: host or UNNAMED for number, host in hosts.items()}


def in_order(names: Iterable[str]) -> list[str]:
    """Names of nodes in the order in which people count them: n2 before n10."""
    return sorted(dict.fromkeys(names), key=_counted)


def _counted(name: str) -> tuple[tuple[str, int], ...]:
    parts = re.findall(r"([^0-9]*)([0-9]*)", name)
    return tuple((text, int(digits or -1)) for text, digits in parts)


def by_node(values: Mapping[int, Value], where: Nodes) -> dict[str, list[Value]]:
    """Values of blocks by node, each node's in the order of its blocks."""
    node_values: dict[str, list[Value]] = {
        node: [] for node in in_order(where[block] for block in values)
    }
    for block in sorted(values):
        node_values[where[block]].append(values[block])
    return node_values


def of_arm(
    contests: Sequence[ArmInStep], where: Nodes, aims: Aims, sides: tuple[str, str]
) -> dict[StepKey, tuple[NodeComparison, ...]]:
    """By step, what nodes found of an arm's primary metrics; nothing of fewer than two nodes.

    `sides`: the base and the arm.

    Their tests are a family: with all blocks so far, and no part of the verdicts' level. A step in
    which an arm did something else than to be compared has none.
    """
    if len(set(where.values())) < nodes.NODES_MIN:
        return {}
    tests = [
        (contest.where, _of_metric(contest.where, sides, name, logs))
        for contest in contests
        if contest.outcome.word is None
        for name in contest.primary
        if len(logs := by_node(contest.logs(name), where)) >= nodes.NODES_MIN
    ]
    qs = iter(significance.adjusted([test.p for _, test in tests if test.p is not None]))
    by_step: dict[StepKey, tuple[NodeComparison, ...]] = {}
    for place, test in tests:
        judged = test if test.p is None else _judged(test, next(qs), aims)
        by_step[place] = (*by_step.get(place, ()), judged)
    return by_step


def _judged(test: NodeComparison, q: float, aims: Aims) -> NodeComparison:
    agreement: Agreement = "no difference seen"
    if q <= aims.level:
        within = test.highest.ratio <= test.lowest.ratio * (1 + aims.margin)
        agreement = "disagree, within the margin" if within else "disagree"
    return replace(test, q=q, agreement=agreement)


def _of_metric(
    where: StepKey, sides: tuple[str, str], name: str, logs: Mapping[str, Sequence[float]]
) -> NodeComparison:
    """A metric on these nodes, before it is known how many tests there are."""
    estimate = nodes.across(logs)
    between, machines = estimate.between, estimate.machines
    assert machines.low is not None and machines.high is not None
    freedom = len(logs) - 1
    base, arm = sides
    return NodeComparison(
        workload=where.workload,
        ordinal=where.ordinal,
        step=where.step,
        base=base,
        arm=arm,
        metric=name,
        nodes=tuple(
            NodeRatio(node=node, blocks=mean.blocks, ratio=mean.value, low=mean.low, high=mean.high)
            for node, mean in estimate.means.items()
        ),
        agreement="open",
        p=estimate.p,
        q=None,
        spread=None if between is None else nodes.as_share(between.value),
        spread_low=None if between is None else nodes.as_share(between.low),
        spread_high=None if between is None else nodes.as_share(between.high),
        machines_ratio=machines.value,
        machines_low=machines.low,
        machines_high=machines.high,
        freedom=freedom,
        reach=interval.t_quantile(0.975, freedom),
    )


def doubts(cells: Iterable[Cell]) -> Iterable[Doubt]:
    """Where nodes disagree by more than the margin: a verdict over them says too much."""
    for cell in cells:
        for figures in cell.nodes:
            if figures.agreement == "disagree":
                what = f"{called(figures.metric)} " if is_second(figures.metric) else ""
                low, high = (
                    f"{number.change(end.ratio)} on {end.node}"
                    for end in (figures.lowest, figures.highest)
                )
                yield DoubtSubject.NODES_DISAGREE.doubt(
                    f"{what}{low} to {high}; the verdict is of these nodes' mean", arm=cell.arm
                )
