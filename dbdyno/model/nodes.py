"""What nodes, the hosts on which whole blocks were measured, found and how they differ. Types only.

A block is measured on one node, so every ratio is within one; nodes then differ in their ratios
beyond the scatter of their blocks, or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

UNNAMED = "unnamed"
"""The node of blocks that name no host, in a result in which others do."""

Agreement = Literal["disagree", "disagree, within the margin", "no difference seen", "open"]
"""Whether nodes find the same ratio. `open`: no node has a second block of it."""


@dataclass(frozen=True, kw_only=True)
class NodeRatio:
    """The mean ratio of one node's blocks."""

    node: str
    blocks: int
    ratio: float
    low: float | None  # 95 % t interval by the scatter within all nodes; None where there is none
    high: float | None


@dataclass(frozen=True, kw_only=True)
class ByNode:
    """A metric of an arm in a step, on two nodes or more (docs/method.md)."""

    metric: str
    nodes: tuple[NodeRatio, ...]
    agreement: Agreement
    p: float | None  # of an F test that all nodes have one ratio; None: no node has two blocks
    q: float | None  # after Benjamini-Hochberg over the arm's steps and primary metrics
    spread: float | None  # between nodes: a standard deviation, as a share; None: not estimated
    spread_low: float | None  # its 95 % interval
    spread_high: float | None
    ratio: float  # of such machines, of which these nodes are a sample
    low: float  # its 95 % interval, by how nodes differ
    high: float
    freedom: int  # its degrees of freedom: nodes less one
    reach: float  # so many standard errors that interval reaches to each side, for so few nodes

    @property
    def lowest(self) -> NodeRatio:
        """The node with the least ratio."""
        return min(self.nodes, key=lambda node: node.ratio)

    @property
    def highest(self) -> NodeRatio:
        """The node with the greatest ratio."""
        return max(self.nodes, key=lambda node: node.ratio)
