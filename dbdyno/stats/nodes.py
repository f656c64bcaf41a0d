"""Nodes as a factor: what each found, whether they disagree, and what such machines would show.

Every log ratio is of a block, and a block of one node. With d = u + e, u a node's own ratio and e
the scatter of its blocks, alike on all nodes, this is the one-way random effects model. Pure.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.model.ratio import Ratio
from dbdyno.stats import variance_components
from dbdyno.stats.interval import around, mean_and_sd, t_quantile
from dbdyno.stats.variance_components import Variance

NODES_MIN = 2
"""With one node nothing is said beyond it."""

Logs = Mapping[str, Sequence[float]]
"""Log ratios of blocks by node; none of them empty."""


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """What nodes found of one metric."""

    means: Mapping[str, Ratio]  # of each node, by the scatter within all of them
    p: float | None  # that all nodes have one ratio; None where no node has two blocks
    between: Variance | None  # of log ratios, between nodes; None likewise
    machines: Ratio  # of such machines; its count is that of the nodes


def across(logs: Logs, confidence: float = 0.95) -> Nodes:
    """What nodes found, each and together. ValueError of fewer than two, or of one without blocks.

    Whether they differ: the F test of a one-way analysis of variance, which is Cochran's Q with the
    variance of blocks estimated over all nodes (Cochran, Biometrics 10, 1954). How far: the
    variance between nodes by moments, as DerSimonian & Laird (Controlled Clinical Trials 7, 1986)
    have it, with Williams' interval (`variance_components.one_way`).
    """
    if len(logs) < NODES_MIN or min(map(len, logs.values())) == 0:
        raise ValueError(
            f"{len(logs)} nodes of which each has blocks are needed, {NODES_MIN} least"
        )
    within, between = variance_components.one_way(list(logs.values()))
    scatter = None if within is None else max(within.value, 0.0)
    return Nodes(
        means=_means(logs, within, confidence),
        p=None if within is None else _p(logs, within),
        between=between,
        machines=_machines(logs, scatter, between, confidence),
    )


def as_share(variance: float | None) -> float | None:
    """A variance of log ratios as a standard deviation, a share; one below 0 was not seen."""
    return None if variance is None else math.expm1(math.sqrt(max(variance, 0.0)))


def _means(logs: Logs, within: Variance | None, confidence: float) -> dict[str, Ratio]:
    """Each node's mean ratio; the scatter of all nodes' blocks stands for each one's own."""
    intervals = {}
    for node, ratios in logs.items():
        mean, _ = mean_and_sd(ratios)
        low, high = None, None
        if within is not None:
            quantile = t_quantile((1 + confidence) / 2, within.freedom)
            low, high = around((mean,), quantile * math.sqrt(within.value / len(ratios)))
        intervals[node] = Ratio(
            value=around((mean,), 0.0)[0], low=low, high=high, blocks=len(ratios)
        )
    return intervals


def _p(logs: Logs, within: Variance) -> float:
    """p of the F test; without any scatter 0 where means differ, else 1."""
    from scipy.special import fdtrc

    means = {node: mean_and_sd(ratios)[0] for node, ratios in logs.items()}
    whole = mean_and_sd([log for ratios in logs.values() for log in ratios])[0]
    _, apart = mean_and_sd(tuple(means.values()))
    if not apart:
        return 1.0
    if not within.value:
        return 0.0
    freedom = len(logs) - 1
    square = math.fsum(len(ratios) * (means[node] - whole) ** 2 for node, ratios in logs.items())
    return float(fdtrc(freedom, within.freedom, square / freedom / within.value))


def _machines(
    logs: Logs, scatter: float | None, between: Variance | None, confidence: float
) -> Ratio:
    """The mean ratio of the machines of which these nodes are a sample.

    Hartung & Knapp's interval (Statistics in Medicine 20, 2001): a node weighs by the inverse of
    its variance, and t has a degree of freedom less than there are nodes. As nodes that agree by
    luck would make it narrower than what their own blocks know, their squared distances count as
    what those lead to expect at least (Knapp & Hartung, Statistics in Medicine 22, 2003; Röver,
    Knapp & Friede, BMC Medical Research Methodology 15, 2015).
    """
    means = [mean_and_sd(log)[0] for log in logs.values()]
    apart = 0.0 if between is None else max(between.value, 0.0)
    variances = [apart + (scatter or 0.0) / len(log) for log in logs.values()]
    if scatter is None or not all(variances):  # what a node's own blocks scatter is not known, or 0
        variances = [1.0] * len(means)
    weights = [1 / variance for variance in variances]
    total = math.fsum(weights)
    mean = (
        math.fsum(weight * node_mean for weight, node_mean in zip(weights, means, strict=True))
        / total
    )
    freedom = len(means) - 1
    distance = math.fsum(
        weight * (node_mean - mean) ** 2 for weight, node_mean in zip(weights, means, strict=True)
    )
    least = 1.0 if scatter else 0.0
    error = math.sqrt(max(distance / freedom, least) / total)
    low, high = around((mean,), t_quantile((1 + confidence) / 2, freedom) * error)
    return Ratio(value=around((mean,), 0.0)[0], low=low, high=high, blocks=len(means))
