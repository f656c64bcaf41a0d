"""Which nodes of a lab are unlike the others: another mean, or more scatter of their blocks.

Each node is held against the median of the others (of an even number the nearer of the two in the
middle), so that one that is out of line makes no other look so; with two nodes each is the other's
measure. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dbdyno.stats.interval import ROUNDING_MAX, mean_and_sd

MEDIAN_BY_MEAN = math.pi / 2
"""The variance of a median by that of a mean of as many; of few it is less, so tests stay sound."""
BLOCKS_MIN = 2
"""Blocks of a node whose scatter is seen."""
DRAWN = 3_999
"""Permutations; with twenty nodes and three tests of each the least p still counts."""
SEED = 22

Numbers = npt.NDArray[np.float64]


def by_mean(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """p that a node's mean is the median of the others' means, by node; none of too few blocks.

    A t test with the variance of blocks estimated within all nodes, or that of the node's own
    where it is larger. `values`: a figure of each block by node.
    """
    from scipy.special import stdtr

    freedom = sum(map(len, values.values())) - len(values)
    if len(values) < 2 or freedom < 1:
        return {}
    means = {node: mean_and_sd(ratios)[0] for node, ratios in values.items()}
    own = {node: (mean_and_sd(ratios)[1] or 0.0) ** 2 for node, ratios in values.items()}
    pooled = math.fsum((len(ratios) - 1) * own[node] for node, ratios in values.items()) / freedom
    ps = {}
    for node, ratios in values.items():
        others = [other for other in values if other != node]
        far = _beyond(means[node], [means[other] for other in others])
        errors = [pooled / len(values[other]) for other in others]
        by_others = math.fsum(errors) / len(others) ** 2
        by_others *= MEDIAN_BY_MEAN if len(others) > 1 else 1.0
        error = math.sqrt(max(pooled, own[node]) / len(ratios) + by_others)
        if far <= ROUNDING_MAX or not error:
            ps[node] = 0.0 if far > ROUNDING_MAX else 1.0
        else:
            ps[node] = float(2 * stdtr(freedom, -far / error))
    return ps


def _beyond(value: float, others: Sequence[float]) -> float:
    """How far a value lies from the median of others; 0 between the two in the middle."""
    ordered = sorted(others)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return max(low - value, value - high, 0.0)


def by_scatter(values: Mapping[str, Sequence[Sequence[float]]]) -> dict[str, float]:
    """p that a node's blocks scatter no more than the median of the others', by node.

    A permutation test: residuals from the nodes' means, enlarged by √(n / (n - 1)), change their
    nodes, and take new means there (after Boos & Brownie, Technometrics 31, 1989). So it holds for
    few blocks and heavy tails. Their scatter: ln of the standard deviation, all figures of a block
    together, each by its own scale. One-sided, as a quieter node harms nothing. `values`: the same
    figures of each block by node. Nodes with fewer than two blocks have no p, nor has any where
    fewer than two nodes are left.
    """
    blocks = {node: np.asarray(ratios, dtype=float) for node, ratios in values.items()}
    blocks = {node: ratios for node, ratios in blocks.items() if len(ratios) >= BLOCKS_MIN}
    if len(blocks) < 2:
        return {}
    residuals = np.concatenate(
        [
            (block - block.mean(axis=0)) * math.sqrt(len(block) / (len(block) - 1))
            for block in blocks.values()
        ]
    )
    scale = np.sqrt((residuals**2).mean(axis=0))
    products = _products(residuals[:, scale > ROUNDING_MAX] / scale[scale > ROUNDING_MAX])
    places = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks.values()])
    rng = np.random.default_rng(SEED)
    drawn = np.vstack([places, *(rng.permutation(places) for _ in range(DRAWN))])
    scatter = np.column_stack(
        [_log_scatter(drawn == place, products) for place in range(len(blocks))]
    )
    far = np.column_stack([_above_others(scatter, place) for place in range(len(blocks))])
    at_least = far >= far[0] - ROUNDING_MAX
    return {node: float(at_least[:, place].mean()) for place, node in enumerate(blocks)}


def _products(residuals: Numbers) -> Numbers:
    """The products of each two blocks' residuals, all that a scatter needs of them."""
    products: Numbers = residuals @ residuals.T
    return products


def _log_scatter(chosen: npt.NDArray[np.bool_], products: Numbers) -> Numbers:
    """ln of the standard deviation of the blocks that a row chooses, about their own mean."""
    rows = chosen.astype(float)
    count = rows[0].sum()
    squares = rows @ np.diag(products) - ((rows @ products) * rows).sum(axis=1) / count
    least = np.finfo(float).tiny  # of blocks that are equal
    logs: Numbers = 0.5 * np.log(np.maximum(squares, least) / (count - 1))
    return logs


def _above_others(scatter: Numbers, place: int) -> Numbers:
    """How far a node lies above the median of the others, in each row; 0 below it."""
    others = np.sort(np.delete(scatter, place, axis=1), axis=1)
    excess: Numbers = np.maximum(scatter[:, place] - others[:, others.shape[1] // 2], 0.0)
    return excess
