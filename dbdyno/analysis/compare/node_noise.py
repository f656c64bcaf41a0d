"""The nodes of a calibration beside each other: how fast, how noisy, and how fair each is.

Between the base and its A/A arm nothing differs, on any node. Pairs are within nodes, so that one
that is slower harms no comparison; one that is noisier or not fair does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from dbdyno.analysis.compare.arm_vs_base import BETTER_BY, Contest
from dbdyno.analysis.compare.nodes import Nodes, by_node
from dbdyno.model.nodes import UNLIKENESSES, NodeNoise, Unlikeness
from dbdyno.model.verdict import Aims
from dbdyno.stats import interval, significance, unlike_nodes
from dbdyno.stats.nodes import NODES_MIN


@dataclass(frozen=True, kw_only=True)
class _Figures:
    """What is known of all nodes."""

    speeds: Mapping[str, Sequence[float]]  # by node, of each of its blocks
    biases: Mapping[str, Sequence[float]]
    scatter: Mapping[str, float | None]
    qs: Mapping[tuple[Unlikeness, str], float]

    def q(self, what: Unlikeness, node: str) -> float | None:
        """That a node is like the others in this; None: not tested."""
        return self.qs.get((what, node))


def noises(contests: Sequence[Contest], where: Nodes, aims: Aims) -> tuple[NodeNoise, ...]:
    """Each node, and in what it is unlike the others; nothing of fewer than two nodes.

    `contests`: of the base's A/A arm.
    """
    blocks = by_node({block: block for block in where}, where)
    if len(blocks) < NODES_MIN:
        return ()
    speeds = by_node(_speeds(contests, where), where)
    biases = by_node(_biases(contests), where)
    figures = _Figures(
        speeds=speeds,
        biases=biases,
        scatter={node: _scatter(contests, numbers) for node, numbers in blocks.items()},
        qs=_qs(
            {
                "level": unlike_nodes.by_mean(speeds),
                "noise": unlike_nodes.by_scatter(_vectors(contests, where)),
                "bias": unlike_nodes.by_mean(biases),
            }
        ),
    )
    return tuple(_of_node(node, len(numbers), figures, aims) for node, numbers in blocks.items())


def _qs(
    ps: Mapping[Unlikeness, Mapping[str, float]],
) -> dict[tuple[Unlikeness, str], float]:
    """The q of each of these tests, which are one family."""
    tests = [(what, node) for what, node_ps in ps.items() for node in node_ps]
    qs = significance.adjusted([ps[what][node] for what, node in tests])
    return dict(zip(tests, qs, strict=True))


def _of_node(node: str, blocks: int, figures: _Figures, aims: Aims) -> NodeNoise:
    speed = _change(figures.speeds.get(node, ()))
    bias = _change(figures.biases.get(node, ()))
    sd = figures.scatter[node]
    freedom = len(figures.biases.get(node, ())) - 1
    sd_low, sd_high = (None, None) if sd is None else interval.sd_interval(sd, freedom)
    qs = {what: figures.q(what, node) for what in UNLIKENESSES}
    within = speed.value is None or abs(math.log1p(speed.value)) <= math.log1p(aims.margin)
    return NodeNoise(
        node=node,
        blocks=blocks,
        level=speed.value,
        level_low=speed.low,
        level_high=speed.high,
        sd=sd,
        sd_low=sd_low,
        sd_high=sd_high,
        bias=bias.value,
        bias_low=bias.low,
        bias_high=bias.high,
        level_q=qs["level"],
        sd_q=qs["noise"],
        bias_q=qs["bias"],
        unlike=tuple(
            what
            for what, q in qs.items()
            if q is not None and q <= aims.level and not (what == "level" and within)
        ),
    )


class _Change(NamedTuple):
    """A mean of log ratios as a change, a share, with its t interval."""

    value: float | None
    low: float | None
    high: float | None


def _change(logs: Sequence[float]) -> _Change:
    if not logs:
        return _Change(None, None, None)
    estimate = interval.log_interval(logs)
    low, high = (None if end is None else end - 1 for end in (estimate.low, estimate.high))
    return _Change(estimate.value - 1, low, high)


# --- Figures by block ------------------------------------------------------------------------


def _speeds(contests: Iterable[Contest], where: Nodes) -> dict[int, float]:
    """How fast the base was in each block by the median node, on the scale of logs.

    Of each step by the median of the nodes' medians, then the median of the block's steps.
    """
    by_block: dict[int, list[float]] = {}
    for contest in contests:
        speeds = {
            run.block: (BETTER_BY[contest.headline] or 1) * math.log(value)
            for run in contest.faced.base_runs
            if run.block in where and (value := run.metrics.get(contest.headline))
        }
        if not speeds:
            continue
        usual = median(median(values) for values in by_node(speeds, where).values())
        for block, speed in speeds.items():
            by_block.setdefault(block, []).append(speed - usual)
    return {block: median(values) for block, values in by_block.items()}


def _biases(contests: Iterable[Contest]) -> dict[int, float]:
    """How much faster the A/A arm was than the base in each block: the mean log of its steps."""
    by_block: dict[int, list[float]] = {}
    for contest in contests:
        sign = BETTER_BY[contest.headline] or 1
        for block, log in contest.logs(contest.headline).items():
            by_block.setdefault(block, []).append(sign * log)
    return {block: math.fsum(values) / len(values) for block, values in by_block.items()}


def _vectors(contests: Iterable[Contest], where: Nodes) -> dict[str, list[list[float]]]:
    """By node each block's log ratios, of the tests that all blocks have; none where none has."""
    tests = [contest.logs(name) for contest in contests for name in contest.primary]
    whole = [logs for logs in tests if where.keys() <= logs.keys()]
    vectors: dict[str, list[list[float]]] = {}
    for block in sorted(where) if whole else ():
        vectors.setdefault(where[block], []).append([logs[block] for logs in whole])
    return vectors


def _scatter(contests: Iterable[Contest], blocks: Sequence[int]) -> float | None:
    """The standard deviation of throughput's log ratios on a node: of its steps the mean square."""
    variances = []
    for contest in contests:
        logs = contest.logs(contest.headline)
        known = [logs[block] for block in blocks if block in logs]
        sd = interval.mean_and_sd(known)[1] if known else None
        if sd is not None:
            variances.append(sd**2)
    return math.sqrt(math.fsum(variances) / len(variances)) if variances else None
