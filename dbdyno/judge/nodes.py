"""The node as a factor: what each node found of an arm, and whether they disagree.

Nothing here changes a verdict, which is one over all blocks and so of these very nodes. Whether
they disagree says how far it reaches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from dbdyno.judge.arm_vs_base import Contest, Where
from dbdyno.model import StepComparison
from dbdyno.model.comparison import PLACES_MAX
from dbdyno.model.metric.primary import called, is_cpu
from dbdyno.model.nodes import UNNAMED, Agreement, ByNode, NodeRatio
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
    contests: Sequence[Contest], where: Nodes, aims: Aims
) -> dict[Where, tuple[ByNode, ...]]:
    """By step, what nodes found of an arm's primary metrics; nothing of fewer than two nodes.

    Their tests are a family: with all blocks so far, and no part of the verdicts' level. A step in
    which an arm did something else than to be compared has none.
    """
    if len(set(where.values())) < nodes.NODES_MIN:
        return {}
    tests = [
        (contest.where, _of_metric(name, logs, aims))
        for contest in contests
        if contest.outcome.word is None
        for name in contest.primary
        if len(logs := by_node(contest.logs(name), where)) >= nodes.NODES_MIN
    ]
    qs = iter(significance.adjusted([test.p for _, test in tests if test.p is not None]))
    by_step: dict[Where, tuple[ByNode, ...]] = {}
    for place, test in tests:
        judged = test if test.p is None else _judged(test, next(qs), aims)
        by_step[place] = (*by_step.get(place, ()), judged)
    return by_step


def _of_metric(name: str, logs: Mapping[str, Sequence[float]], aims: Aims) -> ByNode:
    """A metric on these nodes, before it is known how many tests there are."""
    estimate = nodes.across(logs)
    between, machines = estimate.between, estimate.machines
    assert machines.low is not None and machines.high is not None
    freedom = len(logs) - 1
    return ByNode(
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
        ratio=machines.value,
        low=machines.low,
        high=machines.high,
        freedom=freedom,
        reach=interval.t_quantile(0.975, freedom),
    )


def _judged(figures: ByNode, q: float, aims: Aims) -> ByNode:
    agreement: Agreement = "no difference seen"
    if q <= aims.level:
        within = figures.highest.ratio <= figures.lowest.ratio * (1 + aims.margin)
        agreement = "disagree, within the margin" if within else "disagree"
    return replace(figures, q=q, agreement=agreement)


def warnings(steps: Iterable[StepComparison]) -> Iterable[str]:
    """A line where nodes disagree by more than the margin: a verdict over them says too much."""
    lines = [
        _disagreement(step, cell.arm, node)
        for step in steps
        for cell in step.cells
        for node in cell.nodes
        if node.agreement == "disagree"
    ]
    if lines:
        more = f"; and {len(lines) - PLACES_MAX} more" if len(lines) > PLACES_MAX else ""
        yield (
            f"nodes disagree: {'; '.join(lines[:PLACES_MAX])}{more}; such a verdict is of these "
            "nodes' mean, and says little of another node"
        )


def _disagreement(step: StepComparison, arm: str, figures: ByNode) -> str:
    low, high = figures.lowest, figures.highest
    what = f" {called(figures.metric)}" if is_cpu(figures.metric) else ""
    ends = (f"{number.change(end.ratio)} on {end.node}" for end in (low, high))
    return f"{step.step} {arm}{what} {' to '.join(ends)}"
